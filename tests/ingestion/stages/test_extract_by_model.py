"""Extraction with a chat model: every chunk is accounted for, and nothing is paid for twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingestion.extractors import METHOD, Extraction
from ingestion.models import Alias, Chunk, ChunkExtraction, DocumentVersion, IngestionJob
from ingestion.stage import NO_PROGRESS, Progress, StageOutcome
from ingestion.stages import chunk, extract, resolve
from kb_project.errors import BudgetError, ReplyError
from kb_project.llm.ports import ChatRequest, ModelOptions
from kb_project.ports import Ports, build_ports
from tests import rows
from tests.ingestion.jobs import add
from tests.ingestion.scripted import NOTHING, ScriptedChat, named, passage_of
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = (
    "Ada Lind keeps the light of Skarrow.\n\nIn 1974 Bo Strand sold oil to Ada Lind.\n\n"
    "The stairs are wet in winter."
)


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def chunked(workspace: Workspace, text: str = TEXT, name: str = "log.txt") -> IngestionJob:
    job = add(workspace, name=name, text=text)
    parts = [(text.index(part), text.index(part) + len(part)) for part in text.split("\n\n")]
    with access.in_workspace(job.workspace_id):
        DocumentVersion.objects.in_workspace(job.workspace_id).filter(pk=job.version_id).update(
            text=text, language="en", chunking={"strategy": "given", "spans": parts}
        )
    chunk.run([job], build_ports(), NO_PROGRESS)
    return job


def ports(chat: ScriptedChat, **options: Any) -> Ports:
    return replace(build_ports(), chat=chat, options=ModelOptions(**options))


def run(
    *jobs: IngestionJob, chat: ScriptedChat, progress: Progress = NO_PROGRESS, **options: Any
) -> list[StageOutcome]:
    return extract.run(jobs, ports(chat, **options), progress)


def read(job: IngestionJob) -> list[ChunkExtraction]:
    with access.in_workspace(job.workspace_id):
        chunks = Chunk.objects.in_workspace(job.workspace_id).filter(version=job.version_id)
        kept = ChunkExtraction.objects.in_workspace(job.workspace_id).filter(chunk__in=chunks)
        return list(kept.order_by("chunk__ordinal"))


def as_licence(job: IngestionJob, ordinal: int) -> None:
    """Mark one of the document's passages as text of a licence."""
    with access.in_workspace(job.workspace_id):
        chunks = Chunk.objects.in_workspace(job.workspace_id).filter(version=job.version_id)
        one = chunks.get(ordinal=ordinal)
        chunks.filter(pk=one.pk).update(regions=[["legal", 0, len(one.text)]])


def people(request: ChatRequest[Any]) -> dict[str, Any]:
    """Names whoever of the two is in the passage."""
    return named(*(name for name in ("Ada Lind", "Bo Strand") if name in passage_of(request)))


def unreadable(request: ChatRequest[Any]) -> Any:
    """The same, but for the passage about the oil."""
    if "oil" in passage_of(request):
        return ReplyError("The answer was cut off.", code="reply_truncated")
    return people(request)


def test_a_passage_of_a_licence_is_read_without_asking_the_model(workspace: Workspace):
    job = chunked(workspace)
    as_licence(job, 1)

    [outcome] = run(job, chat=(chat := ScriptedChat(people)))

    assert "oil" not in "".join(passage_of(request) for request in chat.asked)
    assert [len(Extraction.from_json(row.payload).mentions) for row in read(job)] == [1, 0, 0]
    assert (outcome.written, outcome.warnings) == (1, ())


def test_what_the_model_said_is_kept_with_the_documents_own_offsets(workspace: Workspace):
    job = chunked(workspace)

    [outcome] = run(job, chat=ScriptedChat(people))

    assert (outcome.written, outcome.warnings) == (3, ())
    for row in read(job):
        found = Extraction.from_json(row.payload)
        assert row.method.startswith("model-3/scripted-extract/")
        for mention in found.mentions:
            assert TEXT[mention.start : mention.end] == mention.surface
        for fragment in found.fragments:
            assert TEXT[fragment.start : fragment.end] in ("Ada Lind", "Bo Strand")


def test_the_documents_of_a_group_are_asked_about_together(workspace: Workspace):
    jobs = [chunked(workspace, f"{TEXT} {n}", f"{n}.txt") for n in range(3)]
    chat = ScriptedChat(people)

    outcomes = run(*jobs, chat=chat, gleanings=0)

    assert [outcome.written for outcome in outcomes] == [3, 3, 3]
    assert chat.batches == [9]
    asked = {(r.about.document_id, r.about.chunk_id) for r in chat.asked}
    assert len(asked) == 9


def test_each_document_has_an_outcome_of_its_own_in_order(workspace: Workspace):
    jobs = [
        chunked(workspace, "The stairs are wet.", "a.txt"),
        chunked(workspace, "Ada Lind sleeps.\n\nAda Lind wakes.", "b.txt"),
        chunked(workspace, "Bo Strand sells oil.\n\nBo Strand sleeps.", "c.txt"),
    ]

    first, second, third = run(*jobs, chat=ScriptedChat(unreadable))

    assert (first.written, first.warnings) == (0, (extract.NOTHING_FOUND,))
    assert (second.written, second.warnings) == (2, ())
    assert third.written == 1
    assert third.warnings == (extract.unread_warning(1, 2),)


def test_a_passage_that_could_not_be_read_says_why_and_the_document_goes_on(workspace: Workspace):
    job = chunked(workspace)

    [outcome] = run(job, chat=ScriptedChat(unreadable))

    _, bad, _ = read(job)
    assert bad.payload == {"mentions": [], "relations": []}
    assert bad.problem == {
        "code": "reply_truncated",
        "happened": "The answer was cut off.",
        "kept": extract.KEPT,
        "next_step": extract.NEXT_STEP,
    }
    assert outcome.warnings == (
        "1 of 3 passages could not be read by the model; the document's page lists it for a retry.",
    )


def test_every_chunk_is_accounted_for(workspace: Workspace):
    text = "\n\n".join(f"Passage {n} of oil and Ada Lind." for n in range(100))
    job = chunked(workspace, text)

    def every_third(request: ChatRequest[Any]) -> Any:
        number = int(passage_of(request).split()[1])
        return ReplyError("Nonsense.") if number % 3 == 0 else named("Ada Lind")

    run(job, chat=ScriptedChat(every_third))

    found = read(job)
    assert len(found) == 100
    for number, row in enumerate(found):
        has_facts = bool(Extraction.from_json(row.payload).mentions)
        assert has_facts is (number % 3 != 0)
        assert (row.problem is None) is has_facts


def test_a_warning_counts_what_failed_in_earlier_runs_too(workspace: Workspace):
    job = chunked(workspace)
    run(job, chat=ScriptedChat(unreadable))

    [outcome] = run(job, chat=ScriptedChat(people))

    assert outcome.warnings == (extract.unread_warning(1, 3),)


def test_what_does_not_stand_in_the_passage_is_counted(workspace: Workspace):
    job = chunked(workspace, "Ada Lind keeps the light.")
    lie = named("Ada Lind", quote="She is the queen of the northern sea")

    [outcome] = run(job, chat=ScriptedChat(lambda request: lie))

    [row] = read(job)
    assert row.rejected == {"quote_not_found": 1}
    assert Extraction.from_json(row.payload) == Extraction()
    assert outcome.warnings == (extract.NOTHING_FOUND,)


def test_a_document_of_which_nothing_could_be_read_is_not_one_without_names(workspace: Workspace):
    job = chunked(workspace)

    [outcome] = run(job, chat=ScriptedChat(lambda request: ReplyError("No.")))

    assert outcome.warnings == (extract.unread_warning(3, 3),)


def test_a_second_run_asks_nothing(workspace: Workspace):
    job = chunked(workspace)
    run(job, chat=ScriptedChat(people))
    again = ScriptedChat(people)

    run(job, chat=again)

    assert again.batches == []


def test_a_changed_setting_reads_again_and_what_was_said_before_is_replaced(workspace: Workspace):
    job = chunked(workspace)
    run(job, chat=ScriptedChat(unreadable))

    run(
        job, chat=ScriptedChat(lambda request: named("Skarrow", "Bo Strand", "winter")), gleanings=0
    )

    found = read(job)
    assert len({row.method for row in found}) == 1
    assert [row.problem for row in found] == [None] * 3
    assert all(len(Extraction.from_json(row.payload).mentions) == 1 for row in found)


def test_a_workspace_that_gets_a_model_reads_again_with_it(workspace: Workspace):
    job = chunked(workspace)
    extract.run([job], build_ports(), NO_PROGRESS)
    before = {row.method for row in read(job)}

    run(job, chat=ScriptedChat(people))

    assert before == {METHOD}
    assert all(row.method != METHOD for row in read(job))


def test_work_that_must_wait_keeps_what_came_in(workspace: Workspace):
    job = chunked(workspace)

    def spent(request: ChatRequest[Any]) -> Any:
        return BudgetError("All is spent.") if "Skarrow" in passage_of(request) else NOTHING

    with pytest.raises(BudgetError):
        run(job, chat=ScriptedChat(spent))

    assert len(read(job)) == 2


def test_a_worker_that_died_makes_no_call_twice(workspace: Workspace, monkeypatch):
    job = chunked(workspace)
    kept: dict[str, str] = {}
    first, second = ScriptedChat(people, kept=kept), ScriptedChat(people, kept=kept)
    monkeypatch.setattr(extract, "BATCH", 2)

    def die(done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, chat=first, progress=Progress(die))
    half = len(read(job))
    run(job, chat=second)

    assert half == 2
    assert len(read(job)) == 3
    asked = [(request.prompt, request.turns) for request in first.asked + second.asked]
    assert len(asked) == len(set(asked)) == 3 + 2


def test_chunks_are_asked_about_once_and_once_a_gleaning(workspace: Workspace):
    job = chunked(workspace)
    chat = ScriptedChat(people)

    run(job, chat=chat, gleanings=1)

    assert len(chat.asked) <= 3 * 2


def test_progress_is_told_while_a_slow_model_answers(workspace: Workspace, monkeypatch):
    job = chunked(workspace)
    monkeypatch.setattr(extract, "SAVE_EVERY", -1.0)
    told: list[tuple[int, int]] = []

    run(
        job,
        chat=ScriptedChat(people),
        progress=Progress(lambda done, total: told.append((done, total))),
    )

    assert told[0] == (1, 3)
    assert told[-1] == (3, 3)
    assert told == sorted(told)
    assert len(told) >= 5


def test_the_model_is_told_where_a_passage_stands(workspace: Workspace):
    job = chunked(workspace, "Ada Lind sleeps.", "The log of Skarrow.txt")
    chat = ScriptedChat(people)

    run(job, chat=chat)

    assert "<place>\nThe log of Skarrow.txt" in chat.asked[0].prompt.user


def test_another_language_is_read_like_any_other(workspace: Workspace):
    job = chunked(workspace, "朱元璋在南京建立了明朝。")
    answer = named("朱元璋", "明朝", quote="朱元璋在南京建立了明朝")

    run(job, chat=ScriptedChat(lambda request: answer))

    [row] = read(job)
    mentions = Extraction.from_json(row.payload).mentions
    assert [mention.surface for mention in mentions] == ["朱元璋", "明朝"]


def test_words_that_only_mean_somebody_are_no_name_of_theirs(workspace: Workspace):
    job = chunked(workspace, "The keeper of the light sleeps. Ada Lint wakes.")
    ada = named("Ada Lind", quote="Ada Lint wakes")["entities"]
    king = named("Haakon", quote="The keeper of the light sleeps")["entities"]

    run(job, chat=ScriptedChat(lambda request: {"entities": [*ada, *king]}))
    resolve.run([job], build_ports(), NO_PROGRESS)

    with access.in_workspace(workspace.pk):
        names = set(Alias.objects.in_workspace(workspace).values_list("name", flat=True))
    assert names == {"Ada Lind", "Ada Lint", "Haakon"}
