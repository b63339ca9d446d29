"""A change of the embedding model as a person lives through it, with nothing pretended."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ingestion import tasks
from ingestion.documents import outcomes, services
from ingestion.models import ChunkEmbedding, IngestionJob, JobKind, RunState
from ingestion.pipeline import workspace_jobs
from ingestion.stages import reembed
from kb_project.ports import build_ports
from retrieval.search import services as retrieval
from tests import rows
from tests.provider import EMBEDDING_MODEL, MODEL, Provider
from workspaces import access, ports
from workspaces.language_models import (
    embedding,
    queries as language_model_queries,
    services as language_model_services,
)
from workspaces.language_models.choice import ModelChoice
from workspaces.models import EmbeddingIndex, IndexState, Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
    # The places in the queue of an endpoint are held as long as the thread that took one lives.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
    ),
]

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells the oil.\n\nCy Moe rows to Skarrow."


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setattr(reembed, "SECONDS_FOR_SEARCHES", 0.0)
    with Provider() as provider:
        yield provider
    ports._cache.kept.clear()
    gc.collect()


@pytest.fixture
def workspace(provider: Provider) -> Workspace:
    made = rows.make_workspace()
    rows.make_document(made, "Keepers", TEXT, embedder=build_ports().embedder)
    with access.in_workspace(made.pk):
        choice = ModelChoice(endpoint=provider.url, model=MODEL)
        language_model_services.model_settings_save(workspace=made, choice=choice)
    return made


def choose(workspace: Workspace) -> EmbeddingIndex:
    return embedding.embedding_change(
        workspace=workspace, provider="endpoint", model=EMBEDDING_MODEL
    )


def fingerprints(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        found = ChunkEmbedding.objects.in_workspace(workspace)
        return set(found.values_list("fingerprint", flat=True))


def job_of(workspace: Workspace) -> IngestionJob:
    with access.in_workspace(workspace.pk):
        return IngestionJob.objects.in_workspace(workspace).get(kind=JobKind.REEMBED)


def hits(workspace: Workspace) -> int:
    found = retrieval.search(
        workspace=workspace, question="Who sells the oil?", mode="dense", top_k=5
    )
    return len(found.hits)


def test_a_chosen_model_takes_over_through_the_queue(workspace: Workspace):
    index = choose(workspace)
    before = hits(workspace)

    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)

    assert before == hits(workspace) == 3
    assert job_of(workspace).state == RunState.DONE
    assert fingerprints(workspace) == {index.fingerprint}
    with access.in_workspace(workspace.pk):
        state = language_model_queries.embedding_state(workspace=workspace)
    assert (state.model, state.building) == (EMBEDDING_MODEL, None)


def test_a_model_that_goes_away_pauses_the_change_and_searches_go_on(
    workspace: Workspace, provider: Provider
):
    index = choose(workspace)
    provider.script.next("401", times=50, kind="embeddings")
    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)
    paused = job_of(workspace).state
    found = hits(workspace)
    provider.script.forget()

    services.process_workspace(workspace=workspace)

    assert (paused, found) == (RunState.PAUSED, 3)
    assert fingerprints(workspace) == {index.fingerprint}
    assert hits(workspace) == 3


def test_giving_up_leaves_the_old_model_in_use_and_nothing_of_the_new(
    workspace: Workspace, provider: Provider
):
    choose(workspace)
    provider.script.next("401", times=50, kind="embeddings")
    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)

    embedding.embedding_give_up(workspace=workspace)
    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)

    assert fingerprints(workspace) == {build_ports().embedder.fingerprint}
    assert hits(workspace) == 3
    assert not outcomes.has_unfinished_work(workspace=workspace)


def test_the_way_back_to_the_local_model_is_the_same(workspace: Workspace):
    choose(workspace)
    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)

    embedding.embedding_change(workspace=workspace, provider="local")
    tasks.reembed(str(workspace.pk))
    services.process_workspace(workspace=workspace)

    assert fingerprints(workspace) == {build_ports().embedder.fingerprint}
    assert hits(workspace) == 3


def test_a_workspace_with_a_model_of_its_own_does_not_care_for_settings(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.create(
            workspace=workspace, fingerprint="own/8", dimension=8, state=IndexState.ACTIVE
        )

    assert not workspace_jobs.vectors_are_foreign(workspace_id=workspace.pk)
