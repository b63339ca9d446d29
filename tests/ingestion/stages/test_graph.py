from __future__ import annotations

from datetime import timedelta
from math import log

import pytest
from django.utils import timezone

from ingestion.knowledge.projection import compare
from ingestion.models import (
    Community,
    CommunityMember,
    Entity,
    GraphTombstone,
    HistoryEvent,
    IngestionJob,
    JobKind,
    Relationship,
    RunState,
    StageRun,
)
from ingestion.stage import NO_PROGRESS, StageOutcome
from ingestion.stages import graph
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import GraphCounts, GraphNode, GraphStore
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import Ports
from tests.memory_graph import MemoryGraphStore
from tests.rows import as_owner, make_entity, make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


def ports_with(store: GraphStore) -> Ports:
    return Ports(embedder=FakeEmbedder(), graph=store)


def run(workspace: Workspace, store: GraphStore) -> StageOutcome:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    return graph.run(job, ports_with(store), NO_PROGRESS)


def relate(source: Entity, target: Entity, weight: float = 1.0) -> Relationship:
    with access.in_workspace(source.workspace_id):
        return Relationship.objects.create(
            workspace_id=source.workspace_id, source=source, target=target, weight=weight
        )


def reread(entity: Entity) -> Entity:
    with access.in_workspace(entity.workspace_id):
        return Entity.objects.in_workspace(entity.workspace_id).get(pk=entity.pk)


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def store() -> MemoryGraphStore:
    return MemoryGraphStore()


@pytest.mark.parametrize("others", [0, 120])
def test_degree_counts_different_neighbours_in_both_directions(
    workspace: Workspace, store: MemoryGraphStore, others: int
):
    for number in range(others):  # many are counted together
        make_entity(workspace, f"Village {number}")
    a, b, c, alone = (make_entity(workspace, name) for name in ("Ada", "Bea", "Cid", "Dan"))
    relate(a, b)
    relate(b, a)
    relate(c, a)

    run(workspace, store)

    assert [reread(one).degree for one in (a, b, c, alone)] == [2, 1, 1, 0]


def test_rank_grows_with_passages_and_neighbours(workspace: Workspace, store: MemoryGraphStore):
    a, b = make_entity(workspace, "Ada"), make_entity(workspace, "Bea")
    relate(a, b)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(pk=a.pk).update(chunk_count=5)

    run(workspace, store)

    assert reread(a).rank == pytest.approx(log(6) + log(2))
    assert reread(b).rank == pytest.approx(log(2))


def test_the_projection_holds_what_the_tables_hold(workspace: Workspace):
    store = AgeGraphStore()
    a, b = make_entity(workspace, "Ada"), make_entity(workspace, "Bea")
    relate(a, b, 2.5)

    outcome = run(workspace, store)

    assert outcome == StageOutcome(written=3)
    assert compare(workspace.pk, store).is_empty
    with access.in_workspace(workspace.pk):
        (neighbour,) = store.neighbours(workspace.pk, a.pk)
    assert neighbour.node == GraphNode(b.pk, "Bea", "PERSON", 1)
    assert neighbour.edge.weight == 2.5


def test_a_second_run_writes_nothing(workspace: Workspace, store: MemoryGraphStore):
    relate(make_entity(workspace, "Ada"), make_entity(workspace, "Bea"))
    run(workspace, store)

    assert run(workspace, store) == StageOutcome(written=0)


def test_only_what_changed_is_written_again(workspace: Workspace, store: MemoryGraphStore):
    a, b, c = (make_entity(workspace, name) for name in ("Ada", "Bea", "Cid"))
    relate(a, b)
    run(workspace, store)

    relate(b, c)

    # Two entities have one neighbour more, and one relationship is new.
    assert run(workspace, store) == StageOutcome(written=3)
    assert store.counts(workspace.pk) == GraphCounts(nodes=3, edges=2)


def test_what_is_gone_leaves_the_projection(workspace: Workspace, store: MemoryGraphStore):
    a, b, c = (make_entity(workspace, name) for name in ("Ada", "Bea", "Cid"))
    relate(a, b)
    bc = relate(b, c)
    run(workspace, store)
    with access.in_workspace(workspace.pk):
        Relationship.objects.in_workspace(workspace).filter(pk=bc.pk).delete()
        Entity.objects.in_workspace(workspace).filter(pk=c.pk).delete()
        for gone in (bc.pk, c.pk):
            GraphTombstone.objects.create(id=gone, workspace=workspace)
        Entity.objects.in_workspace(workspace).filter(pk=b.pk).update(is_changed=True)

    run(workspace, store)

    assert compare(workspace.pk, store).is_empty
    assert compare(workspace.pk, store).waiting == frozenset()
    assert reread(b).degree == 1


def test_a_tombstone_of_something_that_came_back_removes_nothing(
    workspace: Workspace, store: MemoryGraphStore
):
    a = make_entity(workspace, "Ada")
    run(workspace, store)
    with access.in_workspace(workspace.pk):
        GraphTombstone.objects.create(id=a.pk, workspace=workspace)

    run(workspace, store)

    assert store.everything(workspace.pk).ids.nodes == {a.pk}


def test_communities_of_changed_entities_are_marked(workspace: Workspace, store: MemoryGraphStore):
    a, b = make_entity(workspace, "Ada"), make_entity(workspace, "Bea")
    run(workspace, store)
    with access.in_workspace(workspace.pk):
        groups = [
            Community.objects.create(workspace=workspace, level=0, size=1, is_changed=False)
            for _ in range(2)
        ]
        for group, entity in zip(groups, (a, b), strict=True):
            CommunityMember.objects.create(workspace=workspace, community=group, entity=entity)
        Entity.objects.in_workspace(workspace).filter(pk=a.pk).update(is_changed=True)

    run(workspace, store)

    with access.in_workspace(workspace.pk):
        marked = Community.objects.in_workspace(workspace).filter(is_changed=True)
        assert [one.pk for one in marked] == [groups[0].pk]


def test_another_workspace_is_left_alone(workspace: Workspace, store: MemoryGraphStore):
    other = make_workspace("Elsewhere")
    theirs = make_entity(other, "Ada")
    make_entity(workspace, "Ada")

    run(workspace, store)

    assert reread(theirs).is_changed
    assert store.counts(other.pk) == GraphCounts()


def test_when_the_projection_fails_the_marks_stay(workspace: Workspace):
    class BrokenStore(MemoryGraphStore):
        def upsert(self, *_args: object) -> None:
            raise ConnectionError

    a = make_entity(workspace, "Ada")

    with pytest.raises(ConnectionError):
        run(workspace, BrokenStore())

    assert reread(a).is_changed


@pytest.mark.parametrize(
    ("resolved", "kept"), [("before", False), ("running", True), ("after", True)]
)
def test_marks_stay_while_documents_are_resolved(
    workspace: Workspace, store: MemoryGraphStore, resolved: str, *, kept: bool
):
    a, now = make_entity(workspace, "Ada"), timezone.now()
    with access.in_workspace(workspace.pk):
        refresh, document = (
            IngestionJob.objects.create(workspace=workspace, kind=kind)
            for kind in (JobKind.WORKSPACE, JobKind.DOCUMENT)
        )
        StageRun.objects.create(
            workspace=workspace, job=refresh, stage="describe", ordinal=0, started_at=now
        )
        finished = {"before": now - timedelta(seconds=1), "after": now + timedelta(seconds=1)}
        StageRun.objects.create(
            workspace=workspace,
            job=document,
            stage="resolve",
            ordinal=5,
            state=RunState.DONE if resolved in finished else RunState.RUNNING,
            finished_at=finished.get(resolved),
        )

    graph.run(refresh, ports_with(store), NO_PROGRESS)

    assert reread(a).is_changed is kept
    assert store.counts(workspace.pk).nodes == 1


@pytest.mark.parametrize(
    ("kind", "seconds", "kept"),
    [("document_trashed", -1, False), ("document_trashed", 1, True), ("document_added", 1, False)],
)
def test_marks_stay_where_somebody_changed_something_meanwhile(
    workspace: Workspace, store: MemoryGraphStore, kind: str, seconds: int, *, kept: bool
):
    a, now = make_entity(workspace, "Ada"), timezone.now()
    with access.in_workspace(workspace.pk):
        refresh = IngestionJob.objects.create(workspace=workspace, kind=JobKind.WORKSPACE)
        StageRun.objects.create(
            workspace=workspace, job=refresh, stage="describe", ordinal=0, started_at=now
        )
        HistoryEvent.objects.create(workspace=workspace, sequence=1, kind=kind)
        done_at = now + timedelta(seconds=seconds)
        with as_owner():
            HistoryEvent.objects.in_workspace(workspace).update(created_at=done_at)

    graph.run(refresh, ports_with(store), NO_PROGRESS)

    assert reread(a).is_changed is kept
