from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors.extraction import Extraction, FoundMention, FoundRelation
from ingestion.models import (
    Alias,
    Chunk,
    ChunkExtraction,
    Entity,
    Evidence,
    IngestionJob,
    Mention,
    MergeSuggestion,
    Relationship,
)
from ingestion.resolution.keys import NAME_LENGTH, entity_id, relationship_id
from ingestion.stage import NO_PROGRESS, StageOutcome
from ingestion.stages import resolve
from ingestion.stages.resolve.names import likeness, stand_ins, suggestions
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.jobs import add
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.usefixtures("fake_embedder")

PERSON, PLACE = "person", "place"
# (surface, type) of each mention, and (source, target, predicate) of each relation.
Said = tuple[Sequence[tuple[str, str]], Sequence[tuple[int, int, str]]]


def extraction(said: Said, *, offset: int = 0) -> Extraction:
    """Mentions one after the other, ten characters apart."""
    mentions, relations = said
    return Extraction(
        tuple(
            FoundMention(offset + 10 * place, offset + 10 * place + 5, surface, kind, "ner")
            for place, (surface, kind) in enumerate(mentions)
        ),
        tuple(
            FoundRelation(source, target, predicate, offset, offset + 60, "stated", 1.0)
            for source, target, predicate in relations
        ),
    )


def read(workspace: Workspace, name: str, *said: Said) -> IngestionJob:
    """A document of one chunk for each thing said in it, as extraction leaves it."""
    text = f"{name} " + "x" * 100 * len(said)
    job = add(workspace, f"{name}.txt", text)
    with access.in_workspace(workspace.pk):
        for ordinal, one in enumerate(said):
            chunk = Chunk.objects.create(
                workspace=workspace,
                document=job.document,
                version=job.version,
                ordinal=ordinal,
                start=100 * ordinal,
                end=100 * ordinal + 100,
                text="x" * 100,
                tokens=1,
            )
            payload = extraction(one, offset=100 * ordinal).as_json()
            ChunkExtraction.objects.create(
                workspace=workspace, chunk=chunk, method="m", payload=payload
            )
    return job


def run(job: IngestionJob) -> StageOutcome:
    [outcome] = resolve.run([job], build_ports(), NO_PROGRESS)
    return outcome


def all_of(workspace: Workspace, model: Any, *fields: str) -> list[Any]:
    with access.in_workspace(workspace.pk):
        found = model.objects.in_workspace(workspace)
        flat = len(fields) == 1
        return sorted(found.values_list(*fields, flat=flat))


@pytest.fixture
def workspace(media: Path) -> Workspace:
    return rows.make_workspace()


# --- rows -----------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_mentions_of_one_name_are_one_entity(workspace: Workspace):
    outcome = run(
        read(
            workspace,
            "a",
            ([("Ada Lind", PERSON), ("ADA LIND", PERSON), ("Ada Lind's", PERSON)], []),
        )
    )

    assert all_of(workspace, Entity, "key") == ["ada lind"]
    assert all_of(workspace, Mention, "surface") == ["ADA LIND", "Ada Lind", "Ada Lind's"]
    assert outcome.written == 3


@pytest.mark.django_db
def test_every_spelling_is_an_alias(workspace: Workspace):
    run(read(workspace, "a", ([("Ada Lind", PERSON), ("ADA LIND", PERSON)], [])))

    assert all_of(workspace, Alias, "name") == ["ADA LIND", "Ada Lind"]


@pytest.mark.django_db
def test_two_documents_speak_of_the_same_entity(workspace: Workspace):
    run(read(workspace, "a", ([("Ada Lind", PERSON)], [])))
    run(read(workspace, "b", ([("ada lind", PERSON)], [])))

    assert len(all_of(workspace, Entity, "id")) == 1
    assert len(all_of(workspace, Mention, "id")) == 2


@pytest.mark.django_db
def test_a_mention_knows_its_place(workspace: Workspace):
    run(read(workspace, "a", ([("Oslo", PLACE)], []), ([("Ada Lind", PERSON), ("Bo", PERSON)], [])))

    assert all_of(workspace, Mention, "surface", "start", "end", "source") == [
        ("Ada Lind", 100, 105, "ner"),
        ("Bo", 110, 115, "ner"),
        ("Oslo", 0, 5, "ner"),
    ]


@pytest.mark.django_db
def test_a_relation_becomes_a_relationship_with_its_evidence(workspace: Workspace):
    run(
        read(
            workspace,
            "a",
            ([("Ada Lind", PERSON), ("Skarrow", PLACE)], [(0, 1, "keeps the light of")]),
        )
    )

    [(source, target)] = all_of(workspace, Relationship, "source__key", "target__key")
    [evidence] = all_of(workspace, Evidence, "predicate", "start", "end", "kind")
    assert (source, target) == ("ada lind", "skarrow")
    assert evidence == ("keeps the light of", 0, 60, "stated")


@pytest.mark.django_db
def test_two_documents_are_evidence_of_one_relationship(workspace: Workspace):
    said: Said = ([("Ada Lind", PERSON), ("Skarrow", PLACE)], [(0, 1, "keeps")])

    run(read(workspace, "a", said))
    run(read(workspace, "b", said))

    assert len(all_of(workspace, Relationship, "id")) == 1
    assert len(all_of(workspace, Evidence, "id")) == 2


@pytest.mark.django_db
def test_an_entity_is_not_related_to_itself(workspace: Workspace):
    run(read(workspace, "a", ([("Ada Lind", PERSON), ("Ada Lind", PERSON)], [(0, 1, "is")])))

    assert all_of(workspace, Relationship, "id") == []


@pytest.mark.django_db
def test_a_name_without_letters_is_no_entity(workspace: Workspace):
    run(read(workspace, "a", ([("—", PERSON), ("Ada Lind", PERSON)], [(0, 1, "is")])))

    assert all_of(workspace, Entity, "key") == ["ada lind"]
    assert all_of(workspace, Relationship, "id") == []


@pytest.mark.django_db
def test_an_overlong_name_fits_its_column(workspace: Workspace):
    run(read(workspace, "a", ([("Ada " * 200, PERSON)], [])))

    [key] = all_of(workspace, Entity, "key")
    assert len(key) <= NAME_LENGTH


# --- repeating ------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_running_it_twice_is_running_it_once(workspace: Workspace):
    job = read(workspace, "a", ([("Ada Lind", PERSON), ("Skarrow", PLACE)], [(0, 1, "keeps")]))

    run(job)
    first = snapshot(workspace)
    run(job)

    assert snapshot(workspace) == first


def snapshot(workspace: Workspace) -> list[Any]:
    return [
        all_of(workspace, Entity, "id", "key", "type"),
        all_of(workspace, Mention, "surface", "start", "entity__key", "document__name"),
        all_of(workspace, Relationship, "id", "source__key", "target__key"),
        all_of(workspace, Evidence, "predicate", "start", "document__name"),
        all_of(workspace, Alias, "key", "name", "entity__key"),
    ]


@pytest.mark.django_db
def test_what_a_document_no_longer_says_is_marked_for_another_look(workspace: Workspace):
    job = read(workspace, "a", ([("Ada Lind", PERSON), ("Skarrow", PLACE)], [(0, 1, "keeps")]))
    run(job)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).update(is_changed=False)
        Relationship.objects.in_workspace(workspace).update(is_changed=False)
        ChunkExtraction.objects.in_workspace(workspace).update(payload=Extraction().as_json())

    run(job)

    assert all_of(workspace, Mention, "id") == all_of(workspace, Evidence, "id") == []
    assert all_of(workspace, Entity, "key", "is_changed") == [("ada lind", True), ("skarrow", True)]
    assert all_of(workspace, Relationship, "is_changed") == [True]


@pytest.mark.django_db
def test_other_documents_keep_what_they_say(workspace: Workspace):
    said: Said = ([("Ada Lind", PERSON)], [])
    first = read(workspace, "a", said)
    run(first)
    run(read(workspace, "b", said))

    run(first)

    assert all_of(workspace, Mention, "document__name") == ["a.txt", "b.txt"]


@pytest.mark.django_db
def test_the_order_of_arrival_does_not_matter(media: Path):
    papers: list[tuple[str, Said]] = [
        ("a", ([("Ebenezer Scrooge", PERSON), ("Scrooge", PERSON)], [])),
        ("b", ([("Scrooge", PERSON), ("London", PLACE)], [(0, 1, "lived in")])),
        ("c", ([("Jacob Marley", PERSON), ("Jakob Marley", PERSON)], [(0, 1, "is")])),
    ]
    seen = []
    for name, order in (("One", papers), ("Two", papers[::-1])):
        workspace = rows.make_workspace(name)
        for paper, said in order:
            run(read(workspace, paper, said))
        seen.append(
            [
                all_of(workspace, Entity, "key", "type"),
                all_of(workspace, Mention, "surface", "entity__key", "document__name"),
                sorted(map(sorted, all_of(workspace, MergeSuggestion, "left__key", "right__key"))),
            ]
        )

    assert seen[0] == seen[1]


# --- short for a full name ------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_single_name_stands_for_the_one_full_name_that_holds_it(workspace: Workspace):
    run(read(workspace, "a", ([("Ebenezer Scrooge", PERSON)], []), ([("Scrooge", PERSON)], [])))

    assert all_of(workspace, Entity, "key") == ["ebenezer scrooge"]
    assert all_of(workspace, Mention, "surface", "entity__key") == [
        ("Ebenezer Scrooge", "ebenezer scrooge"),
        ("Scrooge", "ebenezer scrooge"),
    ]


@pytest.mark.django_db
def test_in_a_document_without_the_full_name_it_stays_by_itself(workspace: Workspace):
    run(read(workspace, "a", ([("Ebenezer Scrooge", PERSON)], [])))
    run(read(workspace, "b", ([("Scrooge", PERSON)], [])))

    assert all_of(workspace, Entity, "key") == ["ebenezer scrooge", "scrooge"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([("ada lind", PERSON), ("lind", PERSON)], {"lind": "ada lind"}),
        ([("ada lind", PERSON), ("ada", PERSON)], {"ada": "ada lind"}),
        ([("ada lind", PERSON), ("bo lind", PERSON), ("lind", PERSON)], {}),
        ([("ada lind", PLACE), ("lind", PERSON)], {}),
        ([("ada lind", PERSON), ("lind", PLACE)], {}),
        ([("ada maria lind", PERSON), ("maria", PERSON)], {}),
        ([("ada lind", PERSON), ("lind", "name")], {"lind": "ada lind"}),
        ([("ada lind", PERSON), ("ada", "name")], {}),
        ([("scrub account", PERSON), ("account", "name")], {}),
        ([("lind", PERSON)], {}),
        ([], {}),
    ],
)
def test_only_a_person_named_once_lends_a_name(
    names: list[tuple[str, str]], expected: dict[str, str]
):
    assert stand_ins(names) == expected


def test_what_a_name_is_called_most_often_decides():
    names = [("ada lind", PERSON), ("lind", PLACE), ("lind", PERSON), ("lind", PERSON)]

    assert stand_ins(names) == {"lind": "ada lind"}


# --- the grey zone --------------------------------------------------------------------------------
@pytest.mark.django_db
def test_names_that_look_alike_become_a_suggestion(workspace: Workspace):
    run(read(workspace, "a", ([("Jacob Marley", PERSON)], [])))
    run(read(workspace, "b", ([("Jacob Marlay", PERSON)], [])))

    [(left, right, state)] = all_of(workspace, MergeSuggestion, "left__key", "right__key", "state")
    assert {left, right} == {"jacob marley", "jacob marlay"}
    assert state == "open"
    assert len(all_of(workspace, Entity, "id")) == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "pair",
    [
        [("Lamp MB-21", "product"), ("Lamp MB-22", "product")],
        [("Jacob Marley", PERSON), ("Jacob Marlay", PLACE)],
        [("Oslo", PLACE), ("Osla", PLACE)],
        [("Jacob Marley", PERSON), ("Jacob Strand", PERSON)],
    ],
)
def test_what_differs_in_more_than_spelling_is_not_suggested(
    workspace: Workspace, pair: list[tuple[str, str]]
):
    run(read(workspace, "a", (pair, [])))

    assert all_of(workspace, MergeSuggestion, "id") == []


@pytest.mark.django_db
def test_a_suggestion_is_made_once(workspace: Workspace):
    job = read(workspace, "a", ([("Jacob Marley", PERSON), ("Jacob Marlay", PERSON)], []))

    run(job)
    run(job)

    assert len(all_of(workspace, MergeSuggestion, "id")) == 1


@pytest.mark.parametrize(
    ("left", "right"), [("asr 1603", "asr 1605"), ("mb 2", "mb"), ("covid 19", "covid 1")]
)
def test_names_that_differ_in_a_digit_are_never_alike(left: str, right: str):
    assert likeness(left, right) == 0


def test_a_suggestion_names_the_lower_id_first():
    workspace_id = uuid.uuid4()
    other = entity_id(workspace_id, "jacob marlay")

    both = [
        suggestions(workspace_id, [("jacob marley", "jacob marlay", other)]),
        suggestions(
            workspace_id,
            [("jacob marlay", "jacob marley", entity_id(workspace_id, "jacob marley"))],
        ),
    ]

    assert both[0] == both[1]
    [one] = both[0]
    assert one.left < one.right
    assert one.keys == ("jacob marlay", "jacob marley")
    assert 0.88 <= one.score < 1
    assert one.reason.endswith("% alike")


# --- ids ------------------------------------------------------------------------------------------
@given(st.uuids(), st.uuids(), st.text(min_size=1), st.text(min_size=1))
def test_ids_follow_from_workspace_and_name(one: uuid.UUID, other: uuid.UUID, a: str, b: str):
    assert entity_id(one, a) == entity_id(one, a)
    assert (entity_id(one, a) == entity_id(one, b)) == (a == b)
    assert (entity_id(one, a) == entity_id(other, a)) == (one == other)


def test_a_relationship_has_a_direction():
    workspace_id = uuid.uuid4()

    assert relationship_id(workspace_id, "a", "b") != relationship_id(workspace_id, "b", "a")
    assert relationship_id(workspace_id, "ab", "c") != relationship_id(workspace_id, "a", "bc")
