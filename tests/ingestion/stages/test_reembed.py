from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ingestion.models import Chunk, ChunkEmbedding, IngestionJob, JobKind, RunState
from ingestion.pipeline import workspace_jobs
from ingestion.stage import NO_PROGRESS, Progress
from ingestion.stages import embed, reembed
from ingestion.vectors import chunks
from kb_project.errors import EndpointError
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Vectors
from kb_project.ports import Ports, build_ports
from retrieval.search import dense
from retrieval.search.query import Query, QuestionVector
from tests import rows
from workspaces import access
from workspaces.models import EmbeddingIndex, IndexState, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

PARAGRAPHS = [f"Keeper number {number} trims the wick of lamp {number}." for number in range(40)]


class Other(FakeEmbedder):
    """Another model: other fingerprint, other dimension. Does ``meanwhile`` before each batch."""

    def __init__(self) -> None:
        super().__init__(48)
        self.meanwhile = lambda: None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.meanwhile()
        return super().embed_passages(texts)


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Forty chunks with the vectors of the model that settings name."""
    monkeypatch.setattr(reembed, "SECONDS_FOR_SEARCHES", 0.0)
    made = rows.make_workspace()
    rows.make_document(made, "Keepers", "\n\n".join(PARAGRAPHS), embedder=build_ports().embedder)
    return made


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Other:
    """The model that indexes with its fingerprint name."""
    model = Other()

    def ports_for(workspace_id: uuid.UUID) -> Ports:
        found = states(workspace_id)
        base = build_ports()
        is_active = found.get(model.fingerprint) == IndexState.ACTIVE
        is_building = found.get(model.fingerprint) == IndexState.BUILDING
        return replace(
            base,
            embedder=model if is_active else base.embedder,
            next_embedder=model if is_building else None,
        )

    monkeypatch.setattr(reembed, "ports_for", ports_for)
    monkeypatch.setattr(embed, "ports_for", ports_for)
    return model


def states(workspace_id: uuid.UUID) -> dict[str, str]:
    with access.in_workspace(workspace_id):
        indexes = EmbeddingIndex.objects.in_workspace(workspace_id)
        return dict(indexes.order_by("created_at").values_list("fingerprint", "state"))


def choose(workspace: Workspace, model: Other) -> IngestionJob:
    """As the page does: an index that is being made, and the task."""
    with access.in_workspace(workspace.pk):
        EmbeddingIndex.objects.create(
            workspace=workspace,
            model="other",
            dimension=model.dimension,
            fingerprint=model.fingerprint,
            state=IndexState.BUILDING,
        )
    return workspace_jobs.vectors_renew(workspace_id=workspace.pk)


def give_up(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        building = EmbeddingIndex.objects.in_workspace(workspace).filter(state=IndexState.BUILDING)
        building.update(state=IndexState.RETIRED)


def run(job: IngestionJob, progress: Progress = NO_PROGRESS) -> int:
    return reembed.run(job, reembed.ports_for(job.workspace_id), progress).written


def counts(workspace: Workspace) -> dict[str, int]:
    with access.in_workspace(workspace.pk):
        found = ChunkEmbedding.objects.in_workspace(workspace).values_list("fingerprint", flat=True)
        return {name: list(found).count(name) for name in set(found)}


def nearest(workspace: Workspace, other: Other) -> list[object]:
    """What a search by meaning finds at this moment."""
    is_new = states(workspace.pk).get(other.fingerprint) == IndexState.ACTIVE
    vector = QuestionVector(other if is_new else build_ports().embedder, PARAGRAPHS[7])
    with access.in_workspace(workspace.pk):
        return [found for found, _ in dense.nearest(Query(workspace.pk, "x", 40, vector), 40)]


def test_the_new_model_takes_over_and_nothing_of_the_old_is_left(workspace, other: Other):
    made = run(choose(workspace, other))

    assert made == 40
    assert counts(workspace) == {other.fingerprint: 40}
    assert states(workspace.pk) == {other.fingerprint: IndexState.ACTIVE}


def test_a_search_finds_everything_at_every_moment_of_the_change(workspace, other: Other):
    found: list[int] = []
    other.meanwhile = lambda: found.append(len(nearest(workspace, other)))
    progress = Progress(lambda _done, _total: found.append(len(nearest(workspace, other))))

    run(choose(workspace, other), progress)

    assert len(found) > 5
    assert set(found) == {40}
    assert len(nearest(workspace, other)) == 40


def test_a_document_that_arrives_meanwhile_is_not_missed(workspace, other: Other):
    def arrive() -> None:
        other.meanwhile = lambda: None
        rows.make_document(
            workspace, "Late", "Cy Moe rows to Skarrow.", embedder=build_ports().embedder
        )

    other.meanwhile = arrive

    run(choose(workspace, other))

    assert counts(workspace) == {other.fingerprint: 41}


def test_the_swap_waits_for_a_passage_it_would_lose(workspace, other: Other):
    choose(workspace, other)

    assert not reembed.swap(workspace.pk, other.fingerprint)
    assert states(workspace.pk) == {other.fingerprint: IndexState.BUILDING}


def test_a_passage_nobody_can_find_yet_does_not_hold_the_swap_up(workspace, other: Other):
    """Its document is still on its way; it gets the vector of the model that is in use then."""
    job = choose(workspace, other)
    late = rows.make_document(workspace, "Late", "Cy Moe rows to Skarrow.")
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(document=late).update(terms=None)

    run(job)

    assert counts(workspace) == {other.fingerprint: 40}


def test_a_document_embedded_with_what_was_in_use_before_gets_the_new_vectors_too(
    workspace, other: Other
):
    before = reembed.ports_for(workspace.pk)
    run(choose(workspace, other))
    late = rows.make_document(workspace, "Late", "Cy Moe rows to Skarrow.")
    [chunk] = rows.chunks_of(late)
    job = IngestionJob(workspace=workspace, document=late, version_id=chunk.version_id)

    embed.run([job], before, NO_PROGRESS)

    assert counts(workspace)[other.fingerprint] == 41


def test_a_document_that_comes_in_during_the_change_gets_both_vectors(workspace, other: Other):
    choose(workspace, other)
    late = rows.make_document(workspace, "Late", "Cy Moe rows to Skarrow.")
    [chunk] = rows.chunks_of(late)
    job = IngestionJob(workspace=workspace, document=late, version_id=chunk.version_id)

    embed.run([job], reembed.ports_for(workspace.pk), NO_PROGRESS)

    assert counts(workspace) == {build_ports().embedder.fingerprint: 41, other.fingerprint: 1}


def test_a_run_that_stopped_goes_on_where_it_was(workspace, other: Other):
    job = choose(workspace, other)

    def stop() -> None:
        raise EndpointError("It does not answer.")

    with pytest.raises(EndpointError):
        run(job, Progress(lambda _done, _total: stop()))
    assert counts(workspace)[other.fingerprint] == reembed.BATCH

    assert run(job) == 40 - reembed.BATCH
    assert counts(workspace) == {other.fingerprint: 40}


def test_a_change_that_is_given_up_ends_and_leaves_nothing(workspace, other: Other, monkeypatch):
    monkeypatch.setattr(reembed, "PAGE", reembed.BATCH)
    job = choose(workspace, other)
    other.meanwhile = lambda: give_up(workspace)

    run(job)

    assert counts(workspace) == {build_ports().embedder.fingerprint: 40}
    assert states(workspace.pk) == {other.fingerprint: IndexState.RETIRED}


def test_progress_counts_all_passages(workspace, other: Other):
    reports: list[tuple[int, int]] = []

    run(choose(workspace, other), Progress(lambda done, total: reports.append((done, total))))

    assert reports[:3] == [(16, 40), (32, 40), (40, 40)]


def test_a_workspace_without_passages_changes_at_once(other: Other, monkeypatch):
    monkeypatch.setattr(reembed, "SECONDS_FOR_SEARCHES", 0.0)
    empty = rows.make_workspace("Empty")

    assert run(choose(empty, other)) == 0
    assert states(empty.pk) == {other.fingerprint: IndexState.ACTIVE}


def test_other_settings_make_all_vectors_anew(workspace, settings):
    old = counts(workspace)
    ports = replace(build_ports(), embedder=Other())
    job = workspace_jobs.vectors_renew(workspace_id=workspace.pk)

    reembed.run(job, ports, NO_PROGRESS)

    assert old != counts(workspace) == {Other().fingerprint: 40}


# --- asking for it --------------------------------------------------------------------------------
def test_there_is_one_job_whoever_asks(workspace):
    first = workspace_jobs.vectors_renew(workspace_id=workspace.pk)
    second = workspace_jobs.vectors_renew(workspace_id=workspace.pk)

    assert first == second
    assert first.kind == JobKind.REEMBED


def test_a_job_that_was_stopped_is_taken_up_again(workspace):
    job = workspace_jobs.vectors_renew(workspace_id=workspace.pk)
    with access.in_workspace(workspace.pk):
        IngestionJob.objects.in_workspace(workspace).update(state=RunState.PAUSED)

    assert workspace_jobs.vectors_renew(workspace_id=workspace.pk) == job
    with access.in_workspace(workspace.pk):
        job.refresh_from_db()
    assert job.state == RunState.PENDING


def test_a_finished_job_is_followed_by_another(workspace):
    job = workspace_jobs.vectors_renew(workspace_id=workspace.pk)
    with access.in_workspace(workspace.pk):
        IngestionJob.objects.in_workspace(workspace).update(state=RunState.DONE)

    assert workspace_jobs.vectors_renew(workspace_id=workspace.pk) != job


def test_a_worker_that_starts_with_other_settings_renews_what_is_foreign(workspace, monkeypatch):
    assert workspace_jobs.renew_foreign_vectors() == 0
    monkeypatch.setattr(
        workspace_jobs, "build_ports", lambda: replace(build_ports(), embedder=Other())
    )

    assert workspace_jobs.renew_foreign_vectors() == 1


def test_vectors_of_a_context_that_has_changed_are_not_kept(workspace):
    document = rows.make_document(workspace, "Late", "Cy Moe rows to Skarrow.")
    [chunk] = rows.chunks_of(document)
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(pk=chunk.pk).update(context="Changed")

    chunks.make(workspace.pk, [chunk], build_ports().embedder)

    with access.in_workspace(workspace.pk):
        found = ChunkEmbedding.objects.in_workspace(workspace).filter(chunk=chunk)
        assert not found.exists()
