"""Who stands out in topics, what joins topics, and what stands alone, in the database."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.models import (
    Community,
    CommunityMember,
    Entity,
    LoneDocument,
    Mention,
    Relationship,
    StructureState,
    TopicBridge,
    TopicStanding,
)
from ingestion.models.communities import other_topics_id
from ingestion.stage import LONG
from ingestion.stages import structure
from tests import rows
from tests.ingestion.structures import Structure, make_structure
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def made() -> Structure:
    found = make_structure(rows.make_workspace())
    structure.renew(found.workspace.pk)
    return found


def standings(made: Structure, kind: str) -> dict[str, list[tuple[str, int, int, int]]]:
    with access.in_workspace(made.workspace.pk):
        found = TopicStanding.objects.in_workspace(made.workspace).filter(kind=kind)
        by_topic = defaultdict(list)
        titles = {made.light.community_id: "light", made.oil.community_id: "oil"}
        for row in found.select_related("entity").order_by("place"):
            figures = (row.entity.name, row.facts, row.passages, row.documents)
            by_topic[titles[row.community_id]].append(figures)
    return dict(by_topic)


def bridges(workspace: Workspace) -> set[tuple[str, int, int]]:
    with access.in_workspace(workspace.pk):
        found = TopicBridge.objects.in_workspace(workspace).select_related("entity")
        return {(row.entity.name, row.facts, row.of_facts) for row in found}


def alone(workspace: Workspace) -> dict[str, int]:
    with access.in_workspace(workspace.pk):
        found = LoneDocument.objects.in_workspace(workspace).select_related("document")
        return {row.document.title: row.names for row in found}


def test_the_best_linked_members_of_a_topic_are_central_with_their_passages(made: Structure):
    assert standings(made, "central") == {
        "light": [("Ada Lind", 2, 3, 2), ("Bo Strand", 2, 3, 2), ("Skarrow", 2, 2, 1)],
        "oil": [("Cy Reef", 3, 2, 2), ("Di Fell", 3, 3, 2), ("Oil Works", 2, 2, 1)],
    }


def test_what_several_passages_state_within_a_topic_counts_for_people_of_other_topics_too(
    made: Structure,
):
    documented = standings(made, "documented")["oil"]

    people = [row for row in documented if row[0] != "Oil Works"]
    assert people == [("Di Fell", 3, 3, 2), ("Ada Lind", 3, 2, 2), ("Cy Reef", 3, 2, 2)]


def test_an_entity_that_facts_between_two_topics_go_through_joins_them(made: Structure):
    assert bridges(made.workspace) == {("Ada Lind", 3, 3)}


def test_a_document_that_shares_no_entity_stands_alone(made: Structure):
    assert alone(made.workspace) == {"Alone": 1}


def test_a_graph_that_did_not_change_is_not_looked_at_again(made: Structure):
    assert structure.renew(made.workspace.pk) == 0

    with access.in_workspace(made.workspace.pk):
        Mention.objects.create(
            workspace=made.workspace,
            entity=made.entities["Ada Lind"],
            document=made.documents["ALONE"],
            chunk=rows.chunks_of(made.documents["ALONE"])[0],
            start=0,
            end=3,
            surface="Yu",
            type="person",
            source="ner",
        )

    assert structure.renew(made.workspace.pk) > 0
    assert alone(made.workspace) == {}


@pytest.fixture
def large(made: Structure) -> Structure:
    """A workspace that took long, whose light has lost a fact since."""
    gone = made.entities["Bo Strand"], made.entities["Skarrow"]
    with access.in_workspace(made.workspace.pk):
        changed = {"seconds": LONG, "topics": [made.light.community_id]}
        StructureState.objects.in_workspace(made.workspace).update(**changed)
        links = Relationship.objects.in_workspace(made.workspace)
        assert links.filter(source__in=gone, target__in=gone).delete()[0]
        # Their reports have been written meanwhile.
        Community.objects.in_workspace(made.workspace).update(is_changed=False)
    return made


def test_topics_that_changed_in_a_large_workspace_are_as_if_all_were_looked_at(large: Structure):
    with access.in_workspace(large.workspace.pk):
        TopicBridge.objects.in_workspace(large.workspace).update(facts=9)
    structure.renew(large.workspace.pk)
    found = [standings(large, kind) for kind in ("central", "documented")]
    joining = bridges(large.workspace)

    with access.in_workspace(large.workspace.pk):
        StructureState.objects.in_workspace(large.workspace).delete()
    structure.renew(large.workspace.pk)

    assert found == [standings(large, kind) for kind in ("central", "documented")]
    assert found[0]["light"] == [("Ada Lind", 2, 3, 2)]
    assert joining == bridges(large.workspace) == {("Ada Lind", 3, 3)}


@pytest.mark.parametrize(("days", "is_oil_looked_at"), [(0, False), (2, True)])
def test_topics_that_did_not_change_in_a_large_workspace_are_looked_at_once_a_day(
    large: Structure, days: int, is_oil_looked_at: bool
):
    with access.in_workspace(large.workspace.pk):
        state = StructureState.objects.in_workspace(large.workspace)
        state.update(computed_at=timezone.now() - timedelta(days=days))
        rows_of_oil = TopicStanding.objects.in_workspace(large.workspace)
        rows_of_oil.filter(community=large.oil.community_id).delete()

    structure.renew(large.workspace.pk)

    assert "light" in standings(large, "central")
    assert ("oil" in standings(large, "central")) == is_oil_looked_at


def test_what_is_deleted_takes_its_place_along(made: Structure):
    with access.in_workspace(made.workspace.pk):
        Entity.objects.in_workspace(made.workspace).filter(name="Ada Lind").delete()

    assert bridges(made.workspace) == set()


def test_terms_nationalities_and_what_gathers_the_rest_stand_out_nowhere():
    made = make_structure(rows.make_workspace())
    with access.in_workspace(made.workspace.pk):
        every = Entity.objects.in_workspace(made.workspace)
        every.filter(name="Ada Lind").update(type="concept")
        every.filter(name="Bo Strand").update(type="group")
        Community.objects.create(
            workspace=made.workspace, id=other_topics_id(made.workspace.pk), level=0, size=1
        )
        CommunityMember.objects.in_workspace(made.workspace).filter(
            community=made.oil.community_id
        ).update(community_id=other_topics_id(made.workspace.pk))

    structure.renew(made.workspace.pk)

    assert [name for name, *_ in standings(made, "central")["light"]] == ["Skarrow"]
    assert bridges(made.workspace) == set()


def test_a_workspace_without_documents_has_nothing_that_stands_out():
    workspace = rows.make_workspace()

    assert structure.renew(workspace.pk) == 0
    assert alone(workspace) == {}


def test_other_workspaces_change_nothing(made: Structure):
    other = make_structure(rows.make_workspace("Elsewhere"))
    before = bridges(made.workspace), alone(made.workspace), standings(made, "central")

    structure.renew(other.workspace.pk)
    structure.renew(made.workspace.pk)

    assert (bridges(made.workspace), alone(made.workspace), standings(made, "central")) == before


@pytest.mark.parametrize("seed", range(4))
def test_bridges_are_those_that_a_plain_count_finds(seed: int):
    chance = random.Random(seed)
    workspace = rows.make_workspace()
    documents = [rows.make_document(workspace, name, f"{name}.") for name in ("One", "Two")]
    entities = [rows.make_entity(workspace, f"Name {number}") for number in range(18)]
    chunks = [rows.chunks_of(document)[0] for document in documents]
    home = {entity.pk: number % 3 for number, entity in enumerate(entities)}
    pairs = {(a, b) for a in range(18) for b in range(18) if a != b and chance.random() < 0.06}
    for topic in range(3):
        rows.make_report(
            workspace, f"Topic {topic}", [one for one in entities if home[one.pk] == topic], []
        )
    with access.in_workspace(workspace.pk):
        Mention.objects.bulk_create(
            Mention(
                workspace=workspace,
                entity=entity,
                chunk=chunk,
                document_id=chunk.document_id,
                start=number,
                end=number + 1,
                surface="N",
                type="person",
                source="ner",
            )
            for number, entity in enumerate(entities)
            for chunk in chunks
        )
        Relationship.objects.bulk_create(
            Relationship(workspace=workspace, source=entities[a], target=entities[b], weight=1)
            for a, b in pairs
        )

    structure.renew(workspace.pk)

    through: Counter[tuple[int, int]] = Counter()
    between: Counter[frozenset[int]] = Counter()
    for a, b in pairs:
        topics = home[entities[a].pk], home[entities[b].pk]
        if topics[0] != topics[1]:
            between[frozenset(topics)] += 1
            through[a, topics[1]] += 1
            through[b, topics[0]] += 1
    plain = {
        (frozenset((home[entities[one].pk], topic)), facts)
        for (one, topic), facts in through.items()
        if facts >= structure.LEAST
        and facts >= structure.LEAST_SHARE * between[frozenset((home[entities[one].pk], topic))]
    }
    best = {pair: max(facts for of, facts in plain if of == pair) for pair, _ in plain}
    with access.in_workspace(workspace.pk):
        found = list(TopicBridge.objects.in_workspace(workspace))
        homes = dict(
            CommunityMember.objects.in_workspace(workspace).values_list("community_id", "entity_id")
        )
    stored = {
        (frozenset((home[homes[row.community_id]], home[homes[row.other_id]])), row.facts)
        for row in found
    }
    assert stored <= plain
    assert {pair: max(f for of, f in stored if of == pair) for pair, _ in stored} == best
    assert all(
        row.of_facts
        == between[frozenset((home[homes[row.community_id]], home[homes[row.other_id]]))]
        for row in found
    )
