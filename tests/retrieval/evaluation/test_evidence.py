from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.evaluation.evidence import (
    LONGEST_QUOTE,
    MOST_PIECES,
    EvidencePiece,
    FoundPassage,
    Names,
    checked,
    cover,
    lines_of,
    of_lines,
    places_of,
    written,
)

TIDES, OTHER_TIDES, OIL = uuid4(), uuid4(), uuid4()
NAMES = Names([(TIDES, "Tides"), (OTHER_TIDES, "Tides"), (OIL, "Oil | and lamps")])


def test_a_title_names_every_document_of_that_title_and_an_id_only_one():
    assert NAMES.find("Tides") == {TIDES, OTHER_TIDES}
    assert NAMES.find(str(TIDES)) == {TIDES}
    assert NAMES.find("Nothing") == frozenset()


def test_what_names_one_document_is_stored_by_its_id_and_stays_when_it_is_renamed():
    assert checked(["Oil | and lamps", "Tides"], NAMES) == [
        {"document": str(OIL), "chunk": None, "quote": ""},
        {"document": "Tides", "chunk": None, "quote": ""},
    ]


def test_stored_evidence_goes_back_into_the_form_of_a_file():
    stored = checked(["Tides", {"doc": str(OIL), "chunk": 2, "quote": "At noon."}], NAMES)

    given_again = written(stored, NAMES)

    assert given_again == ["Tides", {"doc": "Oil | and lamps", "chunk": 2, "quote": "At noon."}]
    assert checked(given_again, NAMES) == stored


def test_evidence_of_one_of_two_documents_with_a_title_keeps_its_id_in_the_file():
    stored = checked([str(TIDES)], NAMES)

    assert written(stored, NAMES) == [str(TIDES)]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("Oil | and lamps", {"chunk": None, "quote": ""}),
        ("Oil | and lamps | 3", {"chunk": 3, "quote": ""}),
        ("Oil | and lamps | 3 | At noon | sharp.", {"chunk": 3, "quote": "At noon | sharp."}),
        ("Oil | and lamps | At noon.", {"chunk": None, "quote": "At noon."}),
    ],
)
def test_people_write_a_piece_on_each_line(given, stored):
    [piece] = of_lines(f"\n  {given}\n", NAMES)

    assert piece == {"document": str(OIL), **stored}
    assert lines_of([piece], NAMES) == given


@pytest.mark.parametrize(
    ("pieces", "fault"),
    [
        (None, "no evidence"),
        ([], "no evidence"),
        ("Tides", "no evidence"),
        (["Nowhere"], "names no document"),
        ([{"doc": None}], "names no document"),
        ([["Tides"]], "names no document"),
        (["x" * 10_000], "names no document"),
        ([{"doc": "Tides", "chunk": "2"}], "not a number"),
        ([{"doc": "Tides", "chunk": True}], "not a number"),
        ([{"doc": "Tides", "chunk": -1}], "impossible passage number"),
        ([{"doc": "Tides", "chunk": 10**12}], "impossible passage number"),
        ([{"doc": "Tides", "quote": ["a"]}], "a quote is not text"),
        ([{"doc": "Tides", "quote": "x" * (LONGEST_QUOTE + 1)}], "a quote is not text"),
        (["Tides"] * (MOST_PIECES + 1), "more than"),
    ],
)
def test_evidence_that_cannot_be_used_is_refused_with_its_fault(pieces, fault):
    with pytest.raises(InputError, match=fault):
        checked(pieces, NAMES)


def test_a_quote_is_stored_without_what_the_database_cannot_hold():
    [piece] = checked([{"doc": "Tides", "quote": " At\x00 noon. "}], NAMES)

    assert piece["quote"] == "At noon."


def test_evidence_that_names_a_document_is_covered_by_any_of_its_passages():
    [place] = places_of(checked(["Tides"], NAMES), NAMES)

    assert place.is_in(FoundPassage(OTHER_TIDES, 7, "Anything."))
    assert not place.is_in(FoundPassage(OIL, 0, "Anything."))


def test_a_quote_is_found_where_the_document_was_cut_anew():
    place = EvidencePiece(frozenset({OIL}), 4, "burns whale\noil")

    assert place.is_in(FoundPassage(OIL, 0, "The lamp burns whale oil."))
    assert place.is_in(FoundPassage(OIL, 4, "Something else."))
    assert not place.is_in(FoundPassage(OIL, 1, "Something else."))


def test_a_quote_alone_needs_a_passage_that_has_it():
    place = EvidencePiece(frozenset({OIL}), None, "whale oil")

    assert not place.is_in(FoundPassage(OIL, 0, "Something else."))


def test_evidence_in_a_document_that_has_gone_is_covered_by_nothing():
    [place] = places_of([{"document": str(uuid4()), "chunk": None, "quote": ""}], NAMES)

    assert place.documents == frozenset()
    assert not place.is_in(FoundPassage(TIDES, 0, "Anything."))


def test_a_passage_covers_what_none_before_it_did():
    places = [EvidencePiece(frozenset({TIDES})), EvidencePiece(frozenset({OIL}), 1)]
    passages = [
        FoundPassage(OIL, 0, ""),
        FoundPassage(TIDES, 3, ""),
        FoundPassage(TIDES, 1, ""),
        FoundPassage(OIL, 1, ""),
    ]

    assert cover(places, passages) == [set(), {0}, set(), {1}]


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=5))
def test_each_piece_is_covered_at_most_once(found, wanted):
    places = [EvidencePiece(frozenset({OIL}), number) for number in wanted]

    covered = cover(places, [FoundPassage(OIL, number, "") for number in found])

    flat = [piece for new in covered for piece in new]
    assert len(flat) == len(set(flat))
    assert set(flat) == {n for n, number in enumerate(wanted) if number in found}
