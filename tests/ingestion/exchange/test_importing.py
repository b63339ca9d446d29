"""What an import makes of a file, and that one undo takes it away."""

from __future__ import annotations

import pytest

from ingestion.curation import entities, relationships, undoing
from ingestion.exchange.plans import Choices, Conflicts
from ingestion.history.queries import event_views
from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, Relationship
from kb_project.errors import ConflictError, InputError
from tests import rows
from tests.ingestion.exchange.files import ENTITIES, FACTS, contents, exported, imported
from tests.ingestion.stages.resolve.said import Said, paper, run
from tests.ingestion.suggestions import papers
from workspaces import access

pytestmark = pytest.mark.django_db


def undo(cast: rows.Cast, event) -> None:
    undoing.event_undo(change=ChangeContext(cast.workspace, cast.alice), event=event)


def test_entities_and_facts_of_tables_are_created_as_made_by_a_person():
    cast = rows.make_cast()

    imported(cast, ENTITIES)
    _, plan = imported(cast, FACTS)

    found, facts = contents(cast.workspace)
    assert found == [
        ("Ada Lind", "person", ("Keeper Lind",), "Keeps the light."),
        ("Bo Strand", "person", (), ""),
        ("Skarrow", "place", (), "A lighthouse."),
    ]
    assert facts == [
        ("Ada Lind", "Skarrow", ("keeps",), "Ada Lind keeps Skarrow."),
        ("Bo Strand", "Ada Lind", ("sells to",), ""),
    ]
    assert plan.counts["facts"] == 2
    with access.in_workspace(cast.workspace.pk):
        assert all(one.is_made for one in Entity.objects.in_workspace(cast.workspace))
        assert all(one.is_made for one in Relationship.objects.in_workspace(cast.workspace))


@pytest.mark.parametrize("format", ["graphml", "json", "csv"])
def test_an_export_imported_elsewhere_is_the_same_and_undo_leaves_it_empty(format: str):
    first = papers.make_cast()
    before = contents(first.workspace)
    second = rows.Cast(
        rows.make_workspace("Other", owner=first.alice), first.alice, *[first.bob] * 2
    )

    event, _ = imported(second, exported(first.workspace, format))

    assert contents(second.workspace) == before
    assert before[0]
    assert before[1]
    third = rows.Cast(
        rows.make_workspace("Third", owner=first.alice), first.alice, *[first.bob] * 2
    )
    imported(third, exported(second.workspace, format))
    assert contents(third.workspace) == before
    undo(second, event)
    assert contents(second.workspace) == ([], [])


def test_a_second_import_of_a_file_finds_nothing_new():
    cast = rows.make_cast()
    imported(cast, ENTITIES)

    with pytest.raises(InputError, match="contains nothing new"):
        imported(cast, ENTITIES)


def test_an_import_is_one_event_that_says_what_came_from_where():
    cast = rows.make_cast()
    event, _ = imported(cast, ENTITIES, name="light.csv")

    with access.in_workspace(cast.workspace.pk):
        [view] = event_views(workspace=cast.workspace, rows=[event])
    assert view.sentence == "Alice imported 3 entities and 0 facts from 'light.csv'."
    assert view.can_undo


def test_an_undone_import_can_be_redone():
    cast = rows.make_cast()
    event, _ = imported(cast, ENTITIES)
    before = contents(cast.workspace)
    change = ChangeContext(cast.workspace, cast.alice)

    undone = undoing.event_undo(change=change, event=event)
    undoing.event_undo(change=change, event=undone)

    assert contents(cast.workspace) == before


def test_a_later_edit_of_what_was_imported_is_undone_first():
    cast = rows.make_cast()
    event, _ = imported(cast, ENTITIES)
    with access.in_workspace(cast.workspace.pk):
        entity = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
    change = ChangeContext(cast.workspace, cast.alice)
    entities.entity_edit(change=change, entity=entity, description="Retired.")

    with pytest.raises(ConflictError, match="Ada Lind"):
        undo(cast, event)


def test_entities_that_documents_name_are_matched_by_name_and_alias_and_stay_as_they_are():
    cast = papers.make_cast()
    before = contents(cast.workspace)
    table = (
        "name,type,aliases\nACME Instruments,organization,\n"
        "The Unit,organization,Harbour Boat Unit\nNew Firm,organization,\n"
    )

    event, plan = imported(cast, table)

    assert [one.outcome for one in plan.entities] == ["matched", "matched", "new"]
    names = [row[0] for row in contents(cast.workspace)[0]]
    assert len(names) == len(before[0]) + 1
    undo(cast, event)
    assert contents(cast.workspace) == before


def test_an_alias_of_an_imported_entity_is_read_as_it_in_documents():
    cast = rows.make_cast()
    imported(cast, ENTITIES)
    run(paper(cast.workspace, "log", Said([("Keeper Lind", "person"), ("Hestay", "place")])))
    papers.search(cast)

    assert [row[0] for row in contents(cast.workspace)[0]].count("Keeper Lind") == 0


@pytest.mark.parametrize(
    ("conflicts", "count", "reason"),
    [("leave_out", 0, "of the type"), ("match", 0, "of the type"), ("separate", 1, "of the type")],
)
def test_a_name_of_another_type_is_a_conflict_that_the_person_settles(
    conflicts: str, count: int, reason: str
):
    cast = papers.make_cast()
    table = "name,type\nAcme Instruments,ship\nNew Firm,organization\n"

    event, plan = imported(cast, table, Choices(Conflicts(conflicts)))

    assert plan.entities[0].outcome == "conflict"
    assert reason in plan.entities[0].reason
    with access.in_workspace(cast.workspace.pk):
        ships = Entity.objects.in_workspace(cast.workspace).filter(type="ship")
        assert ships.count() == count
    undo(cast, event)


def test_homonyms_come_back_as_separate_entities():
    cast = rows.make_cast()
    table = "id,name,type\n1,Mercury,planet\n2,Mercury,element\n"

    imported(cast, table, Choices(Conflicts.SEPARATE))

    assert [row[:2] for row in contents(cast.workspace)[0]] == [
        ("Mercury", "element"),
        ("Mercury", "planet"),
    ]


def test_facts_with_a_missing_end_are_left_out_or_make_it():
    cast = rows.make_cast()
    imported(cast, ENTITIES)
    table = "source,target,predicate\nAda Lind,Nowhere,visits\nBo Strand,Skarrow,visits\n"

    event, plan = imported(cast, table)
    assert [one.outcome for one in plan.facts] == ["left_out", "new"]
    assert plan.facts[0].reason == "There is no entity 'Nowhere' in the file or here."
    undo(cast, event)

    imported(cast, table, Choices(makes_missing=True))
    assert ("Ada Lind", "Nowhere", ("visits",), "") in contents(cast.workspace)[1]


def test_facts_between_the_same_two_entities_become_one():
    cast = rows.make_cast()
    imported(cast, ENTITIES)
    table = "source,target,predicate,description\n" + "".join(
        f"Ada Lind,Skarrow,{word},{word} it.\n" for word in ("keeps", "lights")
    )

    _, plan = imported(cast, table + "Ada Lind,Ada Lind,is,\n")

    assert plan.joined == 1
    assert contents(cast.workspace)[1] == [
        ("Ada Lind", "Skarrow", ("keeps", "lights"), "keeps it.\nlights it.")
    ]
    assert plan.facts[-1].reason == "It would link an entity to itself."


def test_names_that_cannot_be_kept_are_left_out_with_a_reason():
    cast = rows.make_cast()
    table = f"name,type\n{'x' * 400},person\n???,person\nAda Lind,person\nBo,{'t' * 50}\n"

    _, plan = imported(cast, table)

    assert [one.reason for one in plan.entities] == [
        "The name has 400 characters.",
        "The name '???' has neither a letter nor a digit.",
        "",
        "The type has 50 characters.",
    ]


def test_two_entities_with_one_alias_share_nothing_but_the_first_has_it():
    cast = rows.make_cast()
    table = "name,type,aliases\nAda Lind,person,AL\nAnna Lund,person,AL\nAL,person,\n"

    _, plan = imported(cast, table)

    assert plan.aliases_left == 2
    assert len(contents(cast.workspace)[0]) == 3


def test_facts_imported_alone_are_undone_too():
    cast = rows.make_cast()
    imported(cast, ENTITIES)
    before = contents(cast.workspace)

    event, _ = imported(cast, FACTS)
    assert contents(cast.workspace) != before
    undo(cast, event)

    assert contents(cast.workspace) == before


def test_a_deleted_fact_that_an_import_brings_back_is_gone_again_after_its_undo():
    cast = papers.make_cast()
    change = ChangeContext(cast.workspace, cast.alice)
    with access.in_workspace(cast.workspace.pk):
        link = Relationship.objects.in_workspace(cast.workspace).get(
            source__key=papers.ACME, target__key="ada lind"
        )
    relationships.relationship_delete(change=change, relationship=link)
    deleted = contents(cast.workspace)

    event, _ = imported(cast, "source,target,predicate\nAcme Instruments,Ada Lind,employs\n")
    assert len(contents(cast.workspace)[1]) == len(deleted[1]) + 1
    undo(cast, event)

    assert contents(cast.workspace) == deleted
