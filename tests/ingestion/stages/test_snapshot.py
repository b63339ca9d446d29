from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.models import Chunk, IngestionJob, JobKind, WalkSnapshot
from ingestion.stage import NO_PROGRESS
from ingestion.stages import snapshot
from kb_project.graph.walk_index import WalkIndex
from kb_project.ports import build_ports
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

TEXT = "Ada Lind keeps the light.\n\nBo Strand sells oil to Ada Lind."


@pytest.fixture
def workspace() -> Workspace:
    workspace = rows.make_workspace()
    rows.make_document(
        workspace, "Keepers", TEXT, names={"Ada Lind": "person", "Bo Strand": "person"}
    )
    return workspace


def run(workspace: Workspace) -> int:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    return snapshot.run(job, build_ports(), NO_PROGRESS).written


def stored(workspace: Workspace) -> list[WalkSnapshot]:
    with access.in_workspace(workspace.pk):
        return list(WalkSnapshot.objects.in_workspace(workspace))


def chunks(workspace: Workspace) -> list[Chunk]:
    with access.in_workspace(workspace.pk):
        return list(Chunk.objects.in_workspace(workspace).order_by("pk"))


def age(workspace: Workspace, **past: float) -> None:
    with access.in_workspace(workspace.pk):
        WalkSnapshot.objects.in_workspace(workspace).update(
            built_at=timezone.now() - timedelta(**past)
        )


def test_what_is_known_is_packed(workspace: Workspace):
    assert run(workspace) == 2

    [kept] = stored(workspace)
    index = WalkIndex.from_bytes(bytes(kept.payload))
    assert (kept.number, kept.chunks) == (1, len(index.chunk_ids))
    assert kept.entities == len(index.entity_ids) >= 2
    assert [row.pk for row in chunks(workspace)] == sorted(index.chunk_ids)


def test_the_next_one_takes_the_place_of_the_last(workspace: Workspace):
    run(workspace)
    run(workspace)

    assert [kept.number for kept in stored(workspace)] == [2]


def test_an_empty_workspace_has_an_empty_snapshot():
    workspace = rows.make_workspace("Empty")

    assert run(workspace) == 0
    assert [(kept.chunks, kept.entities) for kept in stored(workspace)] == [(0, 0)]


def test_another_workspace_is_not_in_it(workspace: Workspace):
    other = rows.make_workspace("Other")
    rows.make_document(other, "Secret", "Cora Vik.", names={"Cora Vik": "person"})

    run(workspace)

    [kept] = stored(workspace)
    index = WalkIndex.from_bytes(bytes(kept.payload))
    assert not {row.pk for row in chunks(other)} & set(index.chunk_ids)
    assert stored(other) == []


def test_the_first_one_is_due_at_once(workspace: Workspace):
    assert snapshot.is_due(workspace.pk)


def test_a_fresh_one_is_fresh_for_some_seconds(workspace: Workspace):
    run(workspace)
    fresh = snapshot.is_due(workspace.pk)
    age(workspace, seconds=6)

    assert (fresh, snapshot.is_due(workspace.pk)) == (False, True)


def test_one_that_took_long_is_renewed_less_often(workspace: Workspace):
    run(workspace)
    with access.in_workspace(workspace.pk):
        WalkSnapshot.objects.in_workspace(workspace).update(seconds=3)
    age(workspace, seconds=30)
    early = snapshot.is_due(workspace.pk)
    age(workspace, seconds=61)

    assert (early, snapshot.is_due(workspace.pk)) == (False, True)
