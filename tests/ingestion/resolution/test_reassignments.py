from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.resolution.overrides import Curated, Meant, Reading, Ruling, reading_of
from ingestion.resolution.reassignments import Place, Placement, placed, placements_of

DOCUMENT, OTHER, CHUNK = (uuid.UUID(int=number) for number in (1, 2, 3))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Place(DOCUMENT, CHUNK, "scrooge", 40)


def row(target: str, *, sequence: int = 1, **where: Any) -> Placement:
    values: dict[str, Any] = {
        "own_key": "",
        "document_id": None,
        "chunk_id": None,
        "offset": None,
    } | where
    return Placement(key="ebenezer scrooge", target=(target, 0), sequence=sequence, **values)


def target_of(place: Place, *rows: Placement) -> str | None:
    found = placed(placements_of(rows), "ebenezer scrooge", place)
    return found[0] if found else None


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"document_id": DOCUMENT},
        {"chunk_id": CHUNK},
        {"chunk_id": CHUNK, "offset": 40},
        {"own_key": "scrooge"},
    ],
)
def test_a_mention_is_meant_when_all_that_is_set_agrees(where: dict[str, Any]):
    assert target_of(HERE, row("x", **where)) == "x"


@pytest.mark.parametrize(
    "where",
    [
        {"document_id": OTHER},
        {"chunk_id": OTHER},
        {"chunk_id": CHUNK, "offset": 41},
        {"own_key": "ebenezer"},
        {"own_key": "scrooge", "document_id": OTHER},
    ],
)
def test_and_not_where_anything_differs(where: dict[str, Any]):
    assert target_of(HERE, row("x", **where)) is None


def test_other_names_are_left_alone():
    assert placed(placements_of([row("x")]), "marley", HERE) is None


def test_the_closest_place_wins_then_the_later_word():
    rows = [
        row("anywhere", sequence=9),
        row("by name", own_key="scrooge", sequence=8),
        row("document", document_id=DOCUMENT, sequence=7),
        row("chunk", chunk_id=CHUNK, sequence=6),
        row("offset", chunk_id=CHUNK, offset=40, sequence=5),
    ]

    found = [target_of(HERE, *rows[:number]) for number in range(1, 6)]

    assert found == ["anywhere", "by name", "document", "chunk", "offset"]
    assert target_of(HERE, row("old", sequence=1), row("new", sequence=2)) == "new"


WHERE = st.fixed_dictionaries(
    {
        "own_key": st.sampled_from(["", "scrooge", "ebenezer"]),
        "document_id": st.sampled_from([None, DOCUMENT, OTHER]),
        "chunk_id": st.sampled_from([None, CHUNK]),
        "offset": st.sampled_from([None, 40, 7]),
    }
)


@given(st.lists(WHERE, max_size=8, unique_by=repr), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(where: list[dict[str, Any]], dice: random.Random):
    rows = [row(str(place), sequence=place, **one) for place, one in enumerate(where)]
    shuffled = rows[:]
    dice.shuffle(shuffled)

    found = target_of(HERE, *shuffled)

    assert found == target_of(HERE, *rows)
    assert (found is None) == (not any(one.holds(HERE) for one in rows))


def merge(kept: str, other: str) -> Ruling:
    left, right = sorted([kept, other])
    return Ruling(left, right, None, 0, "same", "person", NOW, uuid.uuid4(), 0, 0, kept == right)


def test_what_was_placed_is_read_under_the_merges():
    reading = reading_of([merge("x", "a")], Curated((row("a"),)))

    assert reading.meant("ebenezer scrooge", HERE) == Meant(("a", 0), ("x", 0))


def test_nothing_is_meant_by_what_was_deleted_or_read_as_deleted():
    gone = frozenset({("x", 0), ("b", 0)})
    reading = reading_of([merge("x", "a"), merge("c", "b")], Curated((row("a"),), gone))

    assert reading.meant("ebenezer scrooge", HERE) is None
    assert reading.meant("x", HERE) is None
    assert reading.meant("b", HERE) is None
    assert reading.meant("c", HERE) == Meant(("c", 0), ("c", 0))


def test_a_link_is_dropped_by_its_names_or_as_it_is_read():
    reading = Reading(dropped=frozenset({(("a", 0), ("b", 0))}))
    a, b, c = (Meant((key, 0), (key, 0)) for key in "abc")

    assert not reading.keeps(a, b)
    assert reading.keeps(b, a)
    assert reading.keeps(a, c)
    assert not reading.keeps(a, Meant(("b", 0), ("c", 0)))
    assert not reading.keeps(Meant(("z", 0), ("a", 0)), b)
    assert not reading.keeps(a, Meant(("z", 0), ("a", 0)))
