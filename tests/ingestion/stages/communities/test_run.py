from __future__ import annotations

from itertools import combinations
from typing import LiteralString
from uuid import UUID

import pytest

from ingestion.models import (
    Community,
    CommunityMember,
    Entity,
    IngestionJob,
    JobKind,
    Relationship,
    StructureState,
)
from ingestion.models.communities import other_topics_id
from ingestion.stage import NO_PROGRESS, StageOutcome
from ingestion.stages import communities
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import Ports
from kb_project.sql import run_sql
from tests.memory_graph import MemoryGraphStore
from tests.rows import (
    chunks_of,
    make_document,
    make_entity,
    make_relationship,
    make_report,
    make_workspace,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


def run(workspace: Workspace) -> StageOutcome:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    ports = Ports(embedder=FakeEmbedder(), graph=MemoryGraphStore())
    return communities.run(job, ports, NO_PROGRESS)


def make_clique(workspace: Workspace, names: str, weight: float = 1.0) -> list[Entity]:
    members = [make_entity(workspace, name) for name in names.split()]
    with access.in_workspace(workspace.pk):
        Relationship.objects.bulk_create(
            Relationship(workspace=workspace, source=a, target=b, weight=weight)
            for a, b in combinations(members, 2)
        )
    return members


def rows(workspace: Workspace) -> dict[UUID, Community]:
    with access.in_workspace(workspace.pk):
        return {one.pk: one for one in Community.objects.in_workspace(workspace)}


def members(workspace: Workspace) -> dict[UUID, set[UUID]]:
    found: dict[UUID, set[UUID]] = {}
    with access.in_workspace(workspace.pk):
        pairs = CommunityMember.objects.in_workspace(workspace)
        for community, entity in pairs.values_list("community_id", "entity_id"):
            found.setdefault(community, set()).add(entity)
    return found


def mark_done(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        Community.objects.in_workspace(workspace).update(is_changed=False)


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def test_every_entity_has_one_community_at_the_root(workspace: Workspace):
    make_clique(workspace, "Ada Bea Cid Dan Eve")
    make_entity(workspace, "Zoe")

    run(workspace)

    found, groups = members(workspace), rows(workspace)
    at_root = [e for id_, group in groups.items() if group.level == 0 for e in found[id_]]
    with access.in_workspace(workspace.pk):
        everybody = Entity.objects.in_workspace(workspace).values_list("pk", flat=True)
        assert sorted(at_root) == sorted(everybody)
    assert all(len(found[id_]) == group.size for id_, group in groups.items())


def test_children_name_their_parent(workspace: Workspace):
    for names in ("A1 A2 A3 A4 A5 A6", "B1 B2 B3 B4 B5 B6", "C1 C2", "D1 D2"):
        make_clique(workspace, names)

    run(workspace)

    groups, found = rows(workspace), members(workspace)
    children = [group for group in groups.values() if group.parent_id]
    assert children
    for child in children:
        assert child.parent_id
        assert groups[child.parent_id].level == child.level - 1
        assert found[child.pk] < found[child.parent_id]


def test_the_same_graph_again_writes_nothing(workspace: Workspace):
    make_clique(workspace, "Ada Bea Cid Dan Eve")
    run(workspace)
    mark_done(workspace)

    assert run(workspace) == StageOutcome(written=0)
    assert not any(one.is_changed for one in rows(workspace).values())


def test_only_the_community_that_grew_is_marked(workspace: Workspace):
    make_clique(workspace, "Ada Bea Cid Dan Eve")
    others = make_clique(workspace, "Pam Quin Rob Sue Tom")
    run(workspace)
    mark_done(workspace)
    before = set(rows(workspace))

    with access.in_workspace(workspace.pk):
        new = Entity.objects.create(workspace=workspace, key="uma", name="Uma", type="PERSON")
        for other in others:
            Relationship.objects.create(workspace=workspace, source=new, target=other, weight=1)
    run(workspace)

    assert set(rows(workspace)) == before
    changed = [one for one in rows(workspace).values() if one.is_changed]
    assert [new.pk in members(workspace)[one.pk] for one in changed] == [True]


def test_what_changed_is_noted_for_who_comes_after_the_reports(workspace: Workspace):
    make_clique(workspace, "Ada Bea Cid Dan Eve")
    make_clique(workspace, "Pam Quin Rob Sue Tom")
    run(workspace)
    mark_done(workspace)
    with access.in_workspace(workspace.pk):
        StructureState.objects.create(workspace=workspace, digest="d", seconds=9.0)
        [first, *_] = changed = sorted(rows(workspace))[:2]
        Community.objects.in_workspace(workspace).filter(pk=first).update(is_changed=True)
    run(workspace)
    mark_done(workspace)
    with access.in_workspace(workspace.pk):
        Community.objects.in_workspace(workspace).filter(pk__in=changed).update(is_changed=True)
    run(workspace)

    with access.in_workspace(workspace.pk):
        [state] = StructureState.objects.in_workspace(workspace)
    assert sorted(state.topics) == changed


def test_a_community_that_is_gone_takes_its_report_along(workspace: Workspace):
    pair = make_clique(workspace, "Ada Bea")
    make_report(workspace, "Old topic", pair, [])
    run(workspace)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).all().delete()

    run(workspace)

    assert rows(workspace) == {}
    assert members(workspace) == {}


def test_a_deleted_member_marks_its_community(workspace: Workspace):
    group = make_clique(workspace, "Ada Bea Cid Dan Eve")
    run(workspace)
    mark_done(workspace)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(pk=group[0].pk).delete()

    run(workspace)

    (only,) = rows(workspace).values()
    assert (only.size, only.is_changed) == (4, True)


def test_what_one_sentence_names_together_is_no_topic_even_in_overlapping_chunks(
    workspace: Workspace,
):
    text = "Ada Bea Cid Dan went to sea. Eve stayed."
    document = make_document(workspace, "Sea", text, spans=[(0, 40), (0, 28)])
    people = [make_entity(workspace, name) for name in ("Ada", "Bea", "Cid", "Dan")]
    for chunk in chunks_of(document):
        for source, target in combinations(people, 2):
            make_relationship(source, target, chunk, "")
    make_entity(workspace, "Eve")

    run(workspace)

    (root,) = (one for one in rows(workspace).values() if one.level == 0)
    assert (root.pk, root.size) == (other_topics_id(workspace.pk), 5)


ROWS_KNOWN: LiteralString = """
SELECT relname, reltuples::int FROM pg_class
 WHERE relname IN ('ingestion_community', 'ingestion_communitymember')
"""


def test_the_planner_knows_of_new_topics_before_their_constraints_are_checked(workspace: Workspace):
    make_triangles(workspace, 300)

    run(workspace)

    pairs = sum(map(len, members(workspace).values()))
    assert dict(run_sql(ROWS_KNOWN)) == {
        "ingestion_community": len(rows(workspace)),
        "ingestion_communitymember": pairs,
    }


def make_triangles(workspace: Workspace, number: int) -> None:
    with access.in_workspace(workspace.pk):
        entities = Entity.objects.bulk_create(
            Entity(workspace=workspace, key=f"e{one}", name=f"E{one}", type="PERSON")
            for one in range(3 * number)
        )
        Relationship.objects.bulk_create(
            Relationship(workspace=workspace, source=a, target=b, weight=1)
            for place in range(0, 3 * number, 3)
            for a, b in combinations(entities[place : place + 3], 2)
        )


def test_another_workspace_is_neither_read_nor_written(workspace: Workspace):
    other = make_workspace("Elsewhere")
    make_clique(other, "Ada Bea Cid Dan")

    run(workspace)

    assert rows(workspace) == {}
    assert rows(other) == {}
