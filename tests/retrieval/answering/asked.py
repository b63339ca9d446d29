"""A workspace that can be asked, and its questions and answers, for tests of answers as jobs."""

from __future__ import annotations

from uuid import UUID

from ingestion.models import CorpusVersion
from kb_project.jobs.notify import Call
from kb_project.ports import build_ports
from retrieval.answering import jobs
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerEvent
from tests import rows
from tests.rows import Cast
from workspaces import access

KEEPERS = (
    "Ada Lind keeps the Skarrow light.\nShe came to Skarrow on 11 May 1987.\n\n"
    "The lamp burns oil, which the boat brings on Fridays."
)
QUESTION = "Who keeps the Skarrow light?"
WORKER = "test-host:1:1"


def make_asked_cast(*, version: int | None = None, name: str = "Harbour") -> Cast:
    """With ``version`` the workspace looks as if all its documents were through."""
    cast = rows.make_cast(name)
    rows.make_document(
        cast.workspace,
        "Keepers",
        KEEPERS,
        embedder=build_ports().embedder,
        names={"Ada Lind": "person"},
    )
    if version is not None:
        set_version(cast, version)
    return cast


def set_version(cast: Cast, number: int) -> None:
    with access.in_workspace(cast.workspace.pk):
        CorpusVersion.objects.update_or_create(
            workspace=cast.workspace, defaults={"number": number}
        )


def queue(cast: Cast, question: str = QUESTION, **how: object) -> Answer:
    wanted = {"workspace": cast.workspace, "user": cast.bob, "mode": "hybrid"} | how
    return asking.question_ask(question=question, **wanted)  # type: ignore[arg-type]  # a test's


def call_of(answer: Answer) -> Call:
    return Call(jobs.KIND, answer.workspace_id, answer.pk)


def run(answer: Answer, *, worker: str = WORKER) -> Answer:
    """What a worker does with it, in this process."""
    assert jobs.QUEUE.claim(call_of(answer), worker)
    jobs.run_answer(answer.workspace_id, answer.pk)
    return fresh(answer)


def fresh(answer: Answer) -> Answer:
    return answer_with(answer.workspace_id, answer.pk)


def answer_with(workspace_id: UUID, answer_id: UUID) -> Answer:
    with access.in_workspace(workspace_id):
        found = Answer.objects.in_workspace(workspace_id).select_related("question")
        return found.get(pk=answer_id)


def events_of(answer: Answer) -> list[AnswerEvent]:
    with access.in_workspace(answer.workspace_id):
        return list(AnswerEvent.objects.in_workspace(answer.workspace_id).filter(answer=answer))


def kinds_of(answer: Answer) -> list[str]:
    return [event.kind for event in events_of(answer)]
