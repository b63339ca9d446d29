from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from kb_project.ports import build_ports
from retrieval.answering.citations.labels import Numbering, number
from retrieval.search import services
from retrieval.search.results import Hit, ModeResult, Point, Record, RecordKind
from retrieval.search.scope import Scope
from tests import rows


def hit(number, text):
    return Hit(UUID(int=number), UUID(int=9), "Log", (), None, 0, len(text), 1.0, text, ())


def record(*sources, kind="entity"):
    return Record(
        RecordKind(kind), uuid4(), "Ada", "A keeper.", tuple(UUID(int=n) for n in sources)
    )


LAMP, ADA, ROAD = hit(1, "The lamp burns oil."), hit(2, "Ada keeps it."), hit(3, "The road closes.")


def test_passages_shown_have_the_numbers_they_are_shown_with():
    numbering = Numbering([LAMP, ADA], given=frozenset({"1", "2"}))

    assert numbering.numbers("2", "Ada keeps it") == (2,)
    assert numbering.number_of(LAMP.chunk_id) == 1
    assert numbering.passage(2) is ADA


def test_what_the_model_was_not_given_is_nothing():
    numbering = Numbering([LAMP, ADA], {"E1": record(1)}, given=frozenset({"1"}))

    assert numbering.numbers("2", "") == ()
    assert numbering.numbers("E1", "") == ()
    assert numbering.kinds == {""}


def test_a_record_leads_to_the_passage_that_says_most_of_the_sentence():
    numbering = Numbering([LAMP, ADA], {"E1": record(1, 2)}, given=frozenset({"E1"}))

    assert numbering.numbers("E1", "It is old [1]. Ada keeps the light") == (2,)
    assert numbering.numbers("E1", "The lamp burns oil") == (1,)
    assert numbering.numbers("E1", "Nothing alike") == (1,)


def test_a_passage_behind_a_record_gets_the_next_number_once():
    records = {"E1": record(3), "T1": record(3, 1, kind="report")}
    numbering = Numbering([LAMP], records, {ROAD.chunk_id: ROAD}, given=frozenset(records))

    assert numbering.numbers("E1", "The road closes") == (2,)
    assert numbering.numbers("T1", "The road closes") == (2,)
    assert numbering.passage(2) is ROAD
    assert numbering.in_use == [1, 2]


def test_general_knowledge_is_a_label_only_where_it_is_allowed():
    assert Numbering([], allows_general=True).kinds == {"G"}
    assert Numbering([]).kinds == frozenset()
    assert Numbering([], allows_general=True).numbers("G", "") == (0,)


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_passages_behind_records_are_read_inside_the_scope_alone():
    workspace = rows.make_workspace()
    embedder = build_ports().embedder
    inside = rows.make_document(workspace, "In", "Ada keeps the light.", embedder=embedder)
    outside = rows.make_document(workspace, "Out", "Ada left the light.", embedder=embedder)
    [one], [other] = rows.chunks_of(inside), rows.chunks_of(outside)
    seen = Record(RecordKind.ENTITY, uuid4(), "Ada", "x", (other.pk, one.pk))
    unseen = Record(RecordKind.ENTITY, uuid4(), "Bob", "x", (other.pk,))
    result = services.search(
        workspace=workspace,
        question="light?",
        mode="lexical",
        top_k=3,
        scope=Scope(documents=(inside.pk,)),
    )
    found = ModeResult([], (seen, unseen), (Point("p", 1, chunks=(other.pk,)),))

    numbering = number(result.query, found, [])

    assert set(numbering.sources) == {one.pk}
    assert list(numbering.records) == ["E1"]
    assert numbering.number_of(other.pk) == 0
