"""The real worker process with a real server of models: killed, stopped, cut off, and gone on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connection

from kb_project.env import child_environment
from kb_project.jobs import notify
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerState
from tests import rows
from tests.api import address, client
from tests.patience import PATIENCE, wait_until
from tests.provider import Provider
from tests.retrieval.answering.asked import KEEPERS, events_of, fresh, kinds_of, queue
from tests.rows import Cast
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelCall

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


class Worker:
    """One process of ``manage.py worker --lane answering`` over the test's own database."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        said = self.log.read_text() if self.log.exists() else ""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "worker", "--lane", "answering"],
                cwd=settings.BASE_DIR,
                env=child_environment(
                    DATABASE_URL=database_url(),
                    EMBEDDER="fake",
                    MODEL_HOSTS_ALLOWED="127.0.0.1",
                ),
                stdout=out,
                stderr=out,
            )
        wait_until(lambda: "Waiting for questions" in self.log.read_text()[len(said) :])

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(PATIENCE)
        self._process = None
        return code

    def close(self) -> None:
        if self._process is not None:
            self.end(signal.SIGKILL)


def database_url() -> str:
    """Where this test's connection leads."""
    place = connection.get_connection_params()
    options = urlencode({"host": place["host"], "passfile": place["passfile"]})
    return f"postgres://{place['user']}@/{place['dbname']}?{options}"


def wait_for(answer: Answer, *states: AnswerState) -> Answer:
    wait_until(lambda: fresh(answer).state in states)
    return fresh(answer)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def cast(provider: Provider, fake_embedder: None) -> Cast:
    made = rows.make_cast()
    rows.make_document(made.workspace, "Keepers", KEEPERS, embedder=build_ports().embedder)
    choice = ModelChoice(endpoint=provider.url, key=provider.key, model=provider.model)
    language_model_services.model_settings_save(workspace=made.workspace, choice=choice)
    return made


@pytest.fixture(scope="module")
def only_worker(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    made = Worker(tmp_path_factory.mktemp("worker") / "worker.log")
    yield made
    made.close()


@pytest.fixture
def worker(only_worker: Worker) -> Worker:
    """A process that waits for questions: that of the test before, where it left one."""
    if not only_worker.is_running:
        only_worker.start()
    return only_worker


def hanging(provider: Provider, cast: Cast, fault: str = "hang") -> Answer:
    """An answer whose model says nothing, its passages shown."""
    provider.script.next(fault, times=20)
    answer = queue(cast, mode="hybrid")
    wait_until(lambda: "passages" in kinds_of(answer) and provider.count() > 0)
    return answer


def test_a_worker_killed_in_the_middle_leaves_a_clear_state_and_a_way_on(cast, provider, worker):
    answer = hanging(provider, cast)

    assert worker.end(signal.SIGKILL) == -signal.SIGKILL
    assert fresh(answer).state == AnswerState.RUNNING
    worker.start()

    failed = wait_for(answer, AnswerState.FAILED)
    assert failed.problem is not None
    assert failed.problem["code"] == "interrupted"
    kinds = kinds_of(answer)
    assert "passages" in kinds
    assert kinds[-1] == "failed"
    shown = client(cast.bob).get(address(cast.workspace, f"answers/{answer.pk}/")).json()
    assert (shown["state"], shown["problem"]) == ("failed", failed.problem)

    provider.script.forget()
    again = asking.answer_again(
        workspace=cast.workspace, user=cast.bob, question_id=answer.question_id
    )
    assert wait_for(again, AnswerState.DONE).question_id == answer.question_id


def test_stopping_hangs_up_on_a_model_that_says_nothing(cast, provider, worker):
    answer = hanging(provider, cast)
    assert not provider.deserted

    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=answer.pk)

    wait_until(lambda: provider.deserted)  # the call alone would go on for longer
    stopped = wait_for(answer, AnswerState.STOPPED)
    assert "passages" in kinds_of(stopped)
    assert kinds_of(stopped)[-1] == "stopped"


def test_what_was_written_until_it_was_stopped_is_kept_and_in_the_ledger(cast, provider, worker):
    text = "Ada Lind keeps the Skarrow light [1]. " + "She came by boat from Orran. " * 8
    provider.script.on("Skarrow", text)
    provider.script.next("stall", times=20)
    answer = queue(cast)
    wait_until(lambda: "text" in kinds_of(answer))

    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=answer.pk)

    stopped = wait_for(answer, AnswerState.STOPPED)
    assert stopped.sentences[0]["text"].startswith("Ada Lind keeps the Skarrow light")
    wait_until(lambda: [one for one in calls_of(cast) if one.code == "stopped"])
    [call] = [one for one in calls_of(cast) if one.code == "stopped"]
    assert call.completion_tokens > 0


def calls_of(cast: Cast) -> list[ModelCall]:
    with access.in_workspace(cast.workspace.pk):
        return list(ModelCall.objects.in_workspace(cast.workspace))


def test_a_worker_that_is_told_to_end_says_so_of_what_it_was_at(cast, provider, worker):
    answer = hanging(provider, cast)

    assert worker.end(signal.SIGTERM) == 0

    ended = fresh(answer)
    assert ended.state == AnswerState.FAILED
    assert (ended.problem or {})["code"] == "interrupted"
    wait_until(lambda: provider.deserted)


def test_a_question_asked_while_nobody_is_there_is_answered_by_who_comes(cast, only_worker):
    only_worker.close()
    answer = queue(cast, mode="lexical")

    only_worker.start()

    wait_for(answer, AnswerState.DONE)


def test_a_worker_that_is_cut_off_from_the_database_listens_again(cast, worker):
    run_sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND usename = current_user"
    )

    answers = [queue(cast, f"Who keeps the light number {number}?") for number in range(3)]

    for answer in answers:
        assert wait_for(answer, AnswerState.DONE).state == AnswerState.DONE


def test_a_worker_cut_off_in_the_middle_ends_what_it_was_at(cast, provider, worker):
    answer = hanging(provider, cast)
    run_sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )

    provider.closing.set()

    ended = wait_for(answer, AnswerState.FAILED, AnswerState.DONE)
    assert events_of(ended)[-1].kind in ("failed", "done")


def test_a_call_that_was_lost_is_made_up_for(cast, worker, monkeypatch):
    before = len(worker.log.read_text())

    with monkeypatch.context() as patched:
        patched.setattr(notify, "call_to", lambda *_: "")
        answer = queue(cast, mode="lexical")

    wait_for(answer, AnswerState.DONE)
    assert "Traceback" not in worker.log.read_text()[before:]
