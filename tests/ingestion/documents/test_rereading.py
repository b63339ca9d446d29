from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django_q.models import OrmQ

from ingestion.documents import rereading
from ingestion.extractors import METHOD
from ingestion.models import (
    ChunkExtraction,
    Community,
    Document,
    DocumentState,
    DocumentVersion,
    IngestionJob,
    RunState,
    SentenceVector,
    StageRun,
)
from ingestion.models.communities import SMALLEST_WRITTEN
from ingestion.pipeline import batching, runner
from ingestion.stages.extract import NOTHING_FOUND
from kb_project.errors import RefusedError
from tests import rows
from tests.ingestion.jobs import TEXT, add, document_of, fresh, states
from tests.ingestion.unread import half_read, warnings_of
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelSettings, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

READ_AGAIN = {"extract": "pending", "resolve": "pending"}
SITUATED_AGAIN = {"situate": "pending", "embed": "pending"}
PAGE = f"{TEXT}\n\nThe lamp of Skarrow burns oil by night. " + "It is lit at dusk. " * 12
ALL_DONE = dict.fromkeys(runner.DOCUMENT_STAGES, "done")


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_cast().workspace


def job_of(document: Document) -> IngestionJob:
    with access.in_workspace(document.workspace_id):
        return IngestionJob.objects.in_workspace(document.workspace_id).get(document=document)


def read(job: IngestionJob) -> None:
    for lane in (runner.MAIN, runner.EMBEDDING):
        runner.run_lane(fresh(job), lane)


def change(model: type[Any], document: Document, **values: object) -> None:
    with access.in_workspace(document.workspace_id):
        model.objects.in_workspace(document.workspace_id).filter(document=document).update(**values)


def change_stage(document: Document, stage: str, state: RunState) -> None:
    with access.in_workspace(document.workspace_id):
        runs = StageRun.objects.in_workspace(document.workspace_id)
        runs.filter(job=job_of(document), stage=stage).update(state=state)


def use_model(workspace: Workspace, **more: Any) -> None:
    choice = ModelChoice(endpoint="http://127.0.0.1:9/v1", model="tiny", **more)
    language_model_services.model_settings_save(workspace=workspace, choice=choice)


def counted(workspace: Workspace) -> int:
    return len(rereading.outdated_ids(workspace=workspace))


def again(workspace: Workspace, *documents: Document) -> int:
    named = [document.pk for document in documents] or None
    return rereading.documents_read_again(workspace=workspace, documents=named)


def test_what_another_method_read_is_counted(workspace: Workspace):
    assert counted(workspace) == 0
    document = half_read(workspace)
    assert counted(workspace) == 1
    assert rereading.outdated_ids(workspace=workspace) == [document.pk]

    with access.in_workspace(workspace.pk):
        ChunkExtraction.objects.in_workspace(workspace).update(method=METHOD)

    assert counted(workspace) == 0


def test_one_passage_read_otherwise_is_enough(workspace: Workspace):
    half_read(workspace)
    with access.in_workspace(workspace.pk):
        first = ChunkExtraction.objects.in_workspace(workspace).first()
        assert first
        others = ChunkExtraction.objects.in_workspace(workspace).exclude(chunk_id=first.chunk_id)
        others.update(method=METHOD)

    assert counted(workspace) == 1


def test_reading_again_repeats_what_finds_facts_and_nothing_else(workspace: Workspace):
    document = half_read(workspace)

    assert again(workspace) == 1

    assert states(job_of(document)) == ALL_DONE | READ_AGAIN
    assert job_of(document).state == RunState.PENDING
    with access.in_workspace(workspace.pk):
        assert Document.objects.in_workspace(workspace).get().state == DocumentState.QUEUED
        assert ChunkExtraction.objects.in_workspace(workspace).count() == 3


def test_contexts_and_vectors_are_made_anew_where_a_model_made_them(workspace: Workspace):
    document = half_read(workspace)
    change(DocumentVersion, document, situated_by="tiny")

    again(workspace)

    assert states(job_of(document)) == ALL_DONE | READ_AGAIN | SITUATED_AGAIN


def test_contexts_that_a_model_made_stay_where_another_one_reads(workspace: Workspace):
    document = half_read(workspace)
    change(DocumentVersion, document, situated_by="another")
    use_model(workspace)

    again(workspace)

    assert states(job_of(document)) == ALL_DONE | READ_AGAIN


def test_a_model_situates_what_none_has(workspace: Workspace):
    document = half_read(workspace)
    use_model(workspace)

    again(workspace)

    assert states(job_of(document)) == ALL_DONE | READ_AGAIN | SITUATED_AGAIN


def test_a_second_press_finds_nothing(workspace: Workspace):
    half_read(workspace)
    assert again(workspace) == 1
    woken = OrmQ.objects.count()

    assert again(workspace) == 0
    assert OrmQ.objects.count() == woken


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.PAUSED, RunState.CANCELLED])
def test_what_has_stopped_is_left_to_its_retry(workspace: Workspace, state: RunState):
    change(IngestionJob, half_read(workspace), state=state)

    assert counted(workspace) == 0
    assert again(workspace) == 0


def test_a_document_waiting_for_its_vectors_is_read_again_beside(workspace: Workspace):
    document = half_read(workspace)
    change(IngestionJob, document, state=RunState.RUNNING)
    change_stage(document, "embed", RunState.RUNNING)

    assert again(workspace) == 1

    assert states(job_of(document)) == ALL_DONE | READ_AGAIN | {"embed": "running"}


def test_new_contexts_wait_until_the_vectors_of_the_old_ones_are_made(workspace: Workspace):
    document = half_read(workspace)
    change(DocumentVersion, document, situated_by="tiny")
    change(IngestionJob, document, state=RunState.RUNNING)
    change_stage(document, "embed", RunState.RUNNING)

    assert again(workspace) == 0


def test_some_documents_alone_are_read_again(workspace: Workspace):
    first, second = half_read(workspace), half_read(workspace)

    assert again(workspace, second) == 1

    assert states(job_of(first)) == ALL_DONE
    assert counted(workspace) == 1


def test_another_workspaces_documents_are_no_ones_to_name(workspace: Workspace):
    other = rows.make_workspace("Island")
    document = half_read(other)

    assert again(workspace, document) == 0
    assert counted(other) == 1


def test_a_worker_is_called_once_for_a_group(workspace: Workspace):
    for _ in range(batching.MOST_JOBS + 1):
        half_read(workspace)

    assert again(workspace) == batching.MOST_JOBS + 1

    assert OrmQ.objects.count() == 2


def test_any_number_of_documents_takes_as_many_statements(
    workspace: Workspace, django_assert_max_num_queries: Any
):
    for _ in range(40):
        half_read(workspace)

    with django_assert_max_num_queries(30):
        again(workspace)


def test_what_was_said_of_the_last_reading_is_forgotten(workspace: Workspace):
    document = half_read(workspace)
    kept = "For 2 of 3 passages the model did not say where they stand in the document; so be it."
    asked = "The model gave no usable answer to 2 questions about names in this document."
    said = ["A page was blank.", NOTHING_FOUND, kept, asked, *warnings_of(document)]
    change(DocumentVersion, document, warnings=said)

    again(workspace)

    assert warnings_of(document) == ["A page was blank.", kept, "A page was blank."]


def test_what_was_said_of_contexts_is_forgotten_with_them(workspace: Workspace):
    document = half_read(workspace, unread=())
    said = "For 2 of 3 passages the model did not say where they stand in the document; so be it."
    change(DocumentVersion, document, warnings=[said], situated_by="tiny")

    again(workspace)

    assert warnings_of(document) == []


def test_reports_that_no_model_wrote_are_written_once_one_reads(workspace: Workspace):
    document = half_read(workspace)
    light = rows.make_entity(workspace, "Skarrow Light")
    rows.make_report(workspace, "The light", [light], rows.chunks_of(document))
    with access.in_workspace(workspace.pk):
        communities = Community.objects.in_workspace(workspace)
        communities.update(is_changed=False, size=SMALLEST_WRITTEN)
    use_model(workspace)

    again(workspace)

    with access.in_workspace(workspace.pk):
        assert Community.objects.in_workspace(workspace).get().is_changed


def test_the_local_tier_is_free(workspace: Workspace):
    half_read(workspace)

    estimate = rereading.reading_again_estimate(workspace=workspace)

    assert (estimate.documents, estimate.passages.low) == (1, 3)
    assert estimate.is_free


def test_a_model_is_paid_for(workspace: Workspace):
    half_read(workspace)
    use_model(workspace)

    estimate = rereading.reading_again_estimate(workspace=workspace)

    assert estimate.documents == 1
    # Three passages to read and to situate.
    assert estimate.calls.low >= 6


def test_a_key_that_cannot_be_read_is_no_zero(workspace: Workspace):
    half_read(workspace)
    use_model(workspace, key="sk-secret")
    with access.in_workspace(workspace.pk):
        ModelSettings.objects.in_workspace(workspace).update(sealed_key=b"spoiled")

    with pytest.raises(RefusedError):
        counted(workspace)


def test_a_file_read_before_prose_was_told_from_furniture_is_read_anew(workspace: Workspace):
    job = add(workspace, text=PAGE)
    read(job)
    document = document_of(job)
    assert counted(workspace) == 0
    passages = [chunk.pk for chunk in rows.chunks_of(document)]
    with access.in_workspace(workspace.pk):
        SentenceVector.objects.in_workspace(workspace).delete()
        DocumentVersion.objects.in_workspace(workspace).update(regions=[])

    assert again(workspace) == 1
    assert states(job_of(document))["parse"] == "pending"
    read(job)

    assert counted(workspace) == 0
    assert [chunk.pk for chunk in rows.chunks_of(document)] == passages
    with access.in_workspace(workspace.pk):
        assert SentenceVector.objects.in_workspace(workspace).exists()
