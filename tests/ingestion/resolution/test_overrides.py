from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.models import MentionPlacement, MentionPosition, ResolutionDecision
from ingestion.resolution.keys import pair_of
from ingestion.resolution.overrides import PLAIN, Meaning, NameResolution, resolve_names

START = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = uuid.uuid4()


def ruling(
    one: str, other: str, verdict: str = "same", *, by: str = "model", at: int = 0
) -> ResolutionDecision:
    left, right = pair_of(one, other)
    when = START + timedelta(minutes=at)
    return ResolutionDecision(
        left_key=left, right_key=right, verdict=verdict, by=by, created_at=when
    )


def sense(key: str, number: int, *, by: str = "model", at: int = 0) -> ResolutionDecision:
    when = START + timedelta(minutes=at)
    return ResolutionDecision(
        left_key=key,
        document_id=DOCUMENT,
        sense=number,
        verdict="different",
        by=by,
        created_at=when,
    )


def test_the_right_name_is_read_as_the_left_one():
    reading = resolve_names([ruling("marley", "jacob marley")])

    assert reading.names == {"marley": "jacob marley"}
    assert reading.meaning("marley", MentionPosition(DOCUMENT)).entity == ("jacob marley", 0)
    assert reading.meaning("scrooge", MentionPosition(DOCUMENT)).entity == ("scrooge", 0)


def test_where_nothing_was_decided_names_are_read_as_written():
    assert PLAIN.meaning("marley", MentionPosition(DOCUMENT)).entity == ("marley", 0)
    assert resolve_names([]) == PLAIN


@pytest.mark.parametrize("verdict", ["different", "unsure"])
def test_other_verdicts_join_nothing(verdict: str):
    assert resolve_names([ruling("a", "b", verdict)]).names == {}


def test_a_model_joins_three_names_only_where_all_pairs_were_judged():
    chain = [ruling("a", "b", at=1), ruling("b", "c", at=2)]

    assert resolve_names(chain).names == {"b": "a"}
    assert resolve_names(chain).unchecked == (("a", "c"),)
    assert resolve_names([*chain, ruling("a", "c", at=3)]).names == {"b": "a", "c": "a"}
    assert resolve_names([*chain, ruling("a", "c", "unsure", at=3)]).names == {"b": "a"}


def test_a_person_may_join_a_chain_unasked():
    chain = [ruling("a", "b", by="person", at=1), ruling("b", "c", by="person", at=2)]

    assert resolve_names(chain).names == {"b": "a", "c": "a"}


def test_a_link_that_contradicts_is_left_out_and_listed():
    people = [
        ruling("a", "b", by="person", at=1),
        ruling("b", "c", by="person", at=2),
        ruling("a", "c", "different", by="person", at=3),
    ]

    reading = resolve_names(people)

    assert reading.names == {"b": "a"}
    assert reading.conflicting == (("b", "c"),)


def test_a_person_stands_against_a_later_model():
    rulings = [ruling("a", "b", "different", by="person", at=1), ruling("a", "b", at=9)]

    assert resolve_names(rulings).names == {}


def test_a_persons_latest_word_counts():
    rulings = [
        ruling("a", "b", "different", by="person", at=1),
        ruling("a", "b", by="person", at=2),
    ]

    assert resolve_names(rulings).names == {"b": "a"}


def test_a_document_has_its_own_sense_of_a_name():
    reading = resolve_names([sense("mercury", 2)])

    assert reading.meaning("mercury", MentionPosition(DOCUMENT)).entity == ("mercury", 2)
    assert reading.meaning("mercury", MentionPosition(uuid.uuid4())).entity == ("mercury", 0)


def test_a_name_with_its_own_sense_is_not_read_as_another():
    reading = resolve_names([sense("mercury", 1), ruling("hermes", "mercury")])

    assert reading.meaning("mercury", MentionPosition(DOCUMENT)).entity == ("mercury", 1)
    assert reading.meaning("mercury", MentionPosition(uuid.uuid4())).entity == ("hermes", 0)


def test_another_spelling_follows_the_documents_sense():
    reading = resolve_names([sense("hermes", 1), ruling("hermes", "hermez")])

    assert reading.meaning("hermez", MentionPosition(DOCUMENT)).entity == ("hermes", 1)


def test_a_person_takes_a_sense_back():
    reading = resolve_names([sense("mercury", 1, at=5), sense("mercury", 0, by="person")])

    assert reading.meaning("mercury", MentionPosition(DOCUMENT)).entity == ("mercury", 0)


RULINGS = st.lists(
    st.builds(
        ruling,
        st.sampled_from("abcd"),
        st.sampled_from("efgh"),
        st.sampled_from(["same", "different", "unsure"]),
        by=st.sampled_from(["model", "person"]),
        at=st.integers(0, 5),
    ),
    max_size=14,
)


@given(RULINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_rulings_does_not_matter(
    rulings: list[ResolutionDecision], dice: random.Random
):
    shuffled = rulings[:]
    dice.shuffle(shuffled)

    assert resolve_names(shuffled) == resolve_names(rulings)


@given(RULINGS)
def test_names_decided_to_differ_are_never_read_as_one(rulings: list[ResolutionDecision]):
    reading = resolve_names(rulings)
    last: dict[tuple[str, str], ResolutionDecision] = {}
    for one in sorted(rulings, key=lambda one: (one.is_by_person, one.created_at, one.id)):
        last[one.left_key, one.right_key] = one

    for (left, right), one in last.items():
        if one.verdict == "different":
            assert reading.names.get(left, left) != reading.names.get(right, right)


@given(RULINGS)
def test_a_reading_leads_nowhere_further(rulings: list[ResolutionDecision]):
    names = resolve_names(rulings).names

    assert not set(names) & set(names.values())
    assert all(read < name for name, read in names.items())


# --- reassigned mentions --------------------------------------------------------------------------
OTHER, CHUNK = uuid.uuid4(), uuid.uuid4()
HERE = MentionPosition(DOCUMENT, CHUNK, "scrooge", 40)


def row(target: str, *, sequence: int = 1, **where: Any) -> MentionPlacement:
    values: dict[str, Any] = {
        "own_key": "",
        "document_id": None,
        "chunk_id": None,
        "offset": None,
    } | where
    return MentionPlacement(key="ebenezer scrooge", target_key=target, sequence=sequence, **values)


def target_of(position: MentionPosition, *rows: MentionPlacement) -> str | None:
    key, _ = resolve_names([], rows).meaning("ebenezer scrooge", position).entity
    return None if key == "ebenezer scrooge" else key


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
    found = resolve_names([], [row("x")]).meaning("marley", HERE)

    assert found == Meaning(("marley", 0), ("marley", 0))


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
    assert (found is None) == (not any(one.covers(HERE) for one in rows))


def merge(kept: str, other: str) -> ResolutionDecision:
    left, right = sorted([kept, other])
    return ResolutionDecision(
        left_key=left, right_key=right, verdict="same", by="person", created_at=START,
        keeps_right=kept == right,
    )  # fmt: skip


def test_what_was_placed_is_read_under_the_merges():
    reading = resolve_names([merge("x", "a")], [row("a")])

    assert reading.meaning("ebenezer scrooge", HERE) == Meaning(("a", 0), ("x", 0))


def test_nothing_is_meant_by_what_was_deleted_or_read_as_deleted():
    gone = frozenset({("x", 0), ("b", 0)})
    reading = resolve_names([merge("x", "a"), merge("c", "b")], [row("a")], gone)

    assert reading.is_deleted(reading.meaning("ebenezer scrooge", HERE))
    assert reading.is_deleted(reading.meaning("x", HERE))
    assert reading.is_deleted(reading.meaning("b", HERE))
    assert reading.meaning("c", HERE) == Meaning(("c", 0), ("c", 0))


def test_a_link_is_dropped_by_its_names_or_as_it_is_read():
    reading = NameResolution(dropped=frozenset({(("a", 0), ("b", 0))}))
    a, b, c = (Meaning((key, 0), (key, 0)) for key in "abc")

    assert not reading.keeps(a, b)
    assert reading.keeps(b, a)
    assert reading.keeps(a, c)
    assert not reading.keeps(a, Meaning(("b", 0), ("c", 0)))
    assert not reading.keeps(Meaning(("z", 0), ("a", 0)), b)
    assert not reading.keeps(a, Meaning(("z", 0), ("a", 0)))
