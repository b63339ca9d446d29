from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from django_q.models import OrmQ

from ingestion.documents import outcomes, rereading
from ingestion.documents.outcomes import (
    REASONS,
    passages_with_problems,
    rejection_sentence,
    rejections_of,
)
from ingestion.models import Document, DocumentState, IngestionJob, RunState, StageRun
from ingestion.pipeline import runner
from kb_project.errors import ConflictError
from kb_project.llm.ports import ModelOptions
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import document_of, fresh, refreshes, states
from tests.ingestion.scripted import ScriptedChat, named, passage_of
from tests.ingestion.unread import PROBLEM, TEXT, half_read, read_chunks, warnings_of
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


def retry(workspace: Workspace, document: Document, *ordinals: int) -> IngestionJob:
    chunks = rows.chunks_of(document)
    ids = [chunks[ordinal].pk for ordinal in ordinals] if ordinals else None
    with access.in_workspace(workspace.pk):
        return rereading.passages_retry(workspace=workspace, document=document, chunk_ids=ids)


def set_stage(job: IngestionJob, stage: str, state: RunState) -> None:
    with access.in_workspace(job.workspace_id):
        runs = StageRun.objects.in_workspace(job.workspace_id).filter(job=job, stage=stage)
        runs.update(state=state)


def job_of(document: Document) -> IngestionJob:
    with access.in_workspace(document.workspace_id):
        return IngestionJob.objects.in_workspace(document.workspace_id).get(document=document)


# --- what is shown --------------------------------------------------------------------------------
def test_unread_passages_come_in_order_with_their_reason(workspace: Workspace):
    document = half_read(workspace)

    with access.in_workspace(workspace.pk):
        first, second = passages_with_problems(workspace=workspace, document=document)

    assert (first.number, second.number) == (2, 3)
    assert (first.text, first.problem) == ("Bo Strand sells oil.", PROBLEM)
    assert TEXT[second.start : second.end] == "The stairs are wet."


def test_a_long_passage_is_shown_by_its_beginning(workspace: Workspace, monkeypatch):
    document = half_read(workspace, unread=[0])
    monkeypatch.setattr(outcomes, "EXCERPT", 9)

    with access.in_workspace(workspace.pk):
        [unread] = passages_with_problems(workspace=workspace, document=document)

    assert unread.text == "Ada Lind…"


def test_another_document_has_nothing_to_do_with_it(workspace: Workspace):
    half_read(workspace)
    other = rows.make_document(workspace, "Other", "Nothing.")

    with access.in_workspace(workspace.pk):
        assert passages_with_problems(workspace=workspace, document=other) == []
        assert rejections_of(workspace=workspace, document=other) == {}


def test_what_was_kept_out_is_summed_by_reason(workspace: Workspace):
    document = half_read(workspace, unread=[0], rejected={"self_loop": 1, "quote_not_found": 3})

    with access.in_workspace(workspace.pk):
        found = rejections_of(workspace=workspace, document=document)

    assert list(found.items()) == [("quote_not_found", 6), ("self_loop", 2)]


@pytest.mark.parametrize("reason", [*REASONS, "something_new"])
def test_every_reason_is_a_sentence_for_one_and_for_many(reason: str):
    one, many = rejection_sentence(reason, 1), rejection_sentence(reason, 7)

    assert one.startswith("1 ")
    assert many.startswith("7 ")
    assert one.endswith(".")
    assert one[2:] != many[2:]


# --- retrying -------------------------------------------------------------------------------------
def test_all_unread_passages_are_read_again_and_nothing_else(workspace: Workspace):
    document = half_read(workspace)

    job = retry(workspace, document)

    assert read_chunks(document) == [0]
    after = states(job)
    assert {name for name, state in after.items() if state == "pending"} == {"extract", "resolve"}
    assert {state for name, state in after.items() if name not in rereading.AGAIN} == {"done"}
    assert fresh(job).state == RunState.PENDING
    assert document_of(job).state == DocumentState.QUEUED
    assert [row.key for row in OrmQ.objects.all()] == ["main"]


def test_one_passage_is_read_again_alone(workspace: Workspace):
    document = half_read(workspace)

    retry(workspace, document, 2)

    assert read_chunks(document) == [0, 1]


def test_the_warning_about_unread_passages_goes_and_others_stay(workspace: Workspace):
    document = half_read(workspace)

    retry(workspace, document)

    assert warnings_of(document) == ["A page was blank."]


@pytest.mark.parametrize("ordinals", [(0,), ()])
def test_where_nothing_failed_there_is_nothing_to_retry(workspace: Workspace, ordinals):
    document = half_read(workspace, unread=[1] if ordinals else [])

    with pytest.raises(ConflictError) as refused:
        retry(workspace, document, *ordinals)

    assert refused.value.code == "nothing_to_retry"
    assert read_chunks(document) == [0, 1, 2]


def test_a_passage_of_nobody_is_not_retried(workspace: Workspace):
    document = half_read(workspace)

    with access.in_workspace(workspace.pk), pytest.raises(ConflictError):
        rereading.passages_retry(workspace=workspace, document=document, chunk_ids=[uuid4()])


def test_a_document_without_a_job_has_nothing_to_retry(workspace: Workspace):
    document = rows.make_document(workspace, "Alone", "Nothing.")

    with pytest.raises(ConflictError):
        retry(workspace, document)


@pytest.mark.parametrize("state", [RunState.PENDING, RunState.RUNNING])
def test_a_document_that_is_being_read_is_left_alone(workspace: Workspace, state: RunState):
    document = half_read(workspace)
    set_stage(job_of(document), "extract", state)

    with pytest.raises(ConflictError) as refused:
        retry(workspace, document)

    assert refused.value.code == "already_under_way"
    assert read_chunks(document) == [0, 1, 2]


def test_vectors_that_are_being_made_are_not_disturbed(workspace: Workspace):
    document = half_read(workspace)
    set_stage(job_of(document), "embed", RunState.RUNNING)

    job = retry(workspace, document)

    assert states(job)["embed"] == "running"


def test_a_retry_asks_anew_ends_ready_and_has_the_topics_renewed(workspace: Workspace):
    document = half_read(workspace)
    job = retry(workspace, document)
    chat = ScriptedChat(lambda request: named(" ".join(passage_of(request).split()[:2])))
    ports = replace(build_ports(), chat=chat, options=ModelOptions(gleanings=0))
    whole = rereading.AGAIN

    # The other passage was read by another method: it would be asked about too.
    with access.in_workspace(workspace.pk):
        assert runner.run_lane(fresh(job), runner.MAIN, ports)

    asked = [passage_of(request) for request in chat.asked if request.about.stage in whole]
    assert "Bo Strand sells oil." in asked
    assert fresh(job).state == RunState.DONE
    assert document_of(job).state == DocumentState.READY
    assert len(refreshes(workspace)) == 1
    with access.in_workspace(workspace.pk):
        assert passages_with_problems(workspace=workspace, document=document) == []
