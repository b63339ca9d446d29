from __future__ import annotations

from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from ingestion.models import Document, Entity, Evidence, Fragment
from ingestion.stages.reports import evidence
from ingestion.stages.reports.context import Kind, Record
from ingestion.stages.reports.evidence import MOST_CANDIDATES, MOST_PLACES, EvidenceSpan, best
from kb_project.text.words import terms
from tests.ingestion.stages.reports.carol import TEXT, Carol
from tests.rows import make_document, make_entity
from workspaces import access

DOCUMENT = UUID(int=50)


def record(number: int, kind: Kind = Kind.ENTITY) -> Record:
    return Record.of(kind, UUID(int=number), "whoever")


def place(text: str, start: int, document: UUID = DOCUMENT) -> EvidenceSpan:
    return EvidenceSpan(UUID(int=9), start, start + len(text), document, frozenset(terms(text)))


# --- the best places ------------------------------------------------------------------------------
def test_the_place_that_says_most_of_it_comes_first():
    found = {
        UUID(int=1): [
            place("Ada walked home.", 0),
            place("Ada keeps the lighthouse of Skarrow.", 90),
        ]
    }

    chosen = best("Ada keeps the lighthouse.", [record(1)], found)

    assert [one.start for one in chosen] == [90]


def test_places_that_come_near_the_best_are_cited_too():
    texts = ["Ada keeps the lighthouse.", "The lighthouse Ada minds.", "Oil is dear."]
    found = {UUID(int=n): [place(text, 100 * n)] for n, text in enumerate(texts)}

    chosen = best("Ada keeps a lighthouse.", [record(n) for n in range(3)], found)

    assert [one.start for one in chosen] == [0, 100]


def test_where_nothing_shares_a_word_there_is_a_place_all_the_same():
    found = {UUID(int=1): [place("大将徐达去世。", 5)]}

    assert len(best("A general died.", [record(1)], found)) == 1
    assert best("A general died.", [record(2)], found) == []


def test_the_same_sentence_of_overlapping_chunks_is_cited_once():
    twice = [place("Ada keeps the light.", 10), place("Ada keeps the light.", 10)]
    within = place("keeps the light", 14)

    chosen = best("Ada keeps the light.", [record(1)], {UUID(int=1): [*twice, within]})

    assert len(chosen) == 1


@given(st.lists(st.tuples(st.integers(0, 300), st.text("abc ", max_size=20)), max_size=30))
def test_few_places_are_chosen_and_none_overlap(spans: list[tuple[int, str]]):
    found = {UUID(int=1): [place(f"x{text}", start) for start, text in spans]}

    chosen = best("a b c ab bc", [record(1)], found)

    assert len(chosen) <= MOST_PLACES
    assert bool(chosen) == bool(spans)
    ordered = sorted(chosen, key=lambda one: one.start)
    assert all(a.end <= b.start for a, b in pairwise(ordered))


# --- where records are found ----------------------------------------------------------------------
@pytest.fixture
def carol() -> Carol:
    return Carol()


def quotes(carol: Carol, *records: Record) -> dict[UUID, list[str]]:
    with access.in_workspace(carol.workspace.pk):
        found = evidence.load(carol.workspace.pk, records)
    return {id_: [TEXT[one.start : one.end] for one in places] for id_, places in found.items()}


def entity(row: Entity) -> Record:
    return Record.of(Kind.ENTITY, row.pk, row.name)


@pytest.mark.django_db
def test_an_entity_is_found_where_a_model_read_of_it_first(carol: Carol):
    chunk = carol.chunks[2]
    with access.in_workspace(carol.workspace.pk):
        Fragment.objects.create(
            workspace=carol.workspace,
            entity=carol.fred,
            chunk=chunk,
            document_id=chunk.document_id,
            start=chunk.start,
            end=chunk.start + 12,
            text="A cheerful nephew.",
        )

    assert quotes(carol, entity(carol.fred))[carol.fred.pk][0] == "Fred invited"


@pytest.mark.django_db
def test_an_entity_is_found_where_it_is_described_and_linked(carol: Carol):
    chunk = carol.chunks[3]
    source = {"chunk": str(chunk.pk), "start": chunk.start, "end": chunk.start + 8}
    with access.in_workspace(carol.workspace.pk):
        Entity.objects.in_workspace(carol.workspace).filter(pk=carol.tim.pk).update(
            description_sources=[source]
        )

    found = quotes(carol, entity(carol.tim))[carol.tim.pk]

    assert found == ["Tiny Tim", "Tiny Tim was the youngest son of Bob Cratchit."]


@pytest.mark.django_db
def test_an_entity_nothing_is_said_of_is_found_where_it_is_named(carol: Carol):
    make_document(carol.workspace, "Belle", "Belle left.", names={"Belle": "person"})
    belle = make_entity(carol.workspace, "Belle")

    with access.in_workspace(carol.workspace.pk):
        [found] = evidence.load(carol.workspace.pk, [entity(belle)]).values()

    assert [(one.start, one.end) for one in found] == [(0, 5)]


@pytest.mark.django_db
def test_a_relationship_is_found_where_it_is_stated_first(carol: Carol):
    with access.in_workspace(carol.workspace.pk):
        rows = Evidence.objects.in_workspace(carol.workspace).select_related("relationship")
        known = rows.get(relationship__source=carol.fred)
        other = carol.chunks[0]
        for number in range(2 * MOST_CANDIDATES):
            Evidence.objects.create(
                workspace=carol.workspace,
                relationship=known.relationship,
                chunk=other,
                document_id=other.document_id,
                start=other.start + number,
                end=other.start + number + 5,
                kind=Evidence.Kind.TOGETHER,
            )

    found = quotes(carol, Record.of(Kind.RELATIONSHIP, known.relationship_id, "x"))

    [texts] = found.values()
    assert texts[0] == "Fred invited Scrooge to Christmas dinner with his wife."
    assert len(texts) == MOST_CANDIDATES


@pytest.mark.django_db
def test_what_is_gone_or_elsewhere_is_found_nowhere(carol: Carol):
    other = Carol("Elsewhere")
    with access.in_workspace(carol.workspace.pk):
        Document.objects.in_workspace(carol.workspace).all().delete()

    unknown = Record.of(Kind.CLAIM, uuid4(), "x")
    assert quotes(carol, entity(carol.fred), entity(other.fred), unknown) == {}


@pytest.mark.django_db
def test_no_records_need_no_places(carol: Carol):
    assert quotes(carol) == {}
