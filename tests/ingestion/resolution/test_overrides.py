from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from ingestion.resolution.overrides import PLAIN, Ruling, pair_of, reading_of
from ingestion.resolution.reassignments import Place

START = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = uuid.uuid4()


def ruling(
    one: str, other: str, verdict: str = "same", *, by: str = "model", at: int = 0
) -> Ruling:
    left, right = pair_of(one, other)
    when = START + timedelta(minutes=at)
    return Ruling(left, right, None, 0, verdict, by, when, uuid.uuid4())


def sense(key: str, number: int, *, by: str = "model", at: int = 0) -> Ruling:
    when = START + timedelta(minutes=at)
    return Ruling(key, "", DOCUMENT, number, "different", by, when, uuid.uuid4())


def test_the_right_name_is_read_as_the_left_one():
    reading = reading_of([ruling("marley", "jacob marley")])

    assert reading.names == {"marley": "jacob marley"}
    assert reading.named("marley", Place(DOCUMENT)).read == ("jacob marley", 0)
    assert reading.named("scrooge", Place(DOCUMENT)).read == ("scrooge", 0)


def test_where_nothing_was_decided_names_are_read_as_written():
    assert PLAIN.named("marley", Place(DOCUMENT)).read == ("marley", 0)
    assert reading_of([]) == PLAIN


@pytest.mark.parametrize("verdict", ["different", "unsure"])
def test_other_verdicts_join_nothing(verdict: str):
    assert reading_of([ruling("a", "b", verdict)]).names == {}


def test_a_model_joins_three_names_only_where_all_pairs_were_judged():
    chain = [ruling("a", "b", at=1), ruling("b", "c", at=2)]

    assert reading_of(chain).names == {"b": "a"}
    assert reading_of(chain).unchecked == (("a", "c"),)
    assert reading_of([*chain, ruling("a", "c", at=3)]).names == {"b": "a", "c": "a"}
    assert reading_of([*chain, ruling("a", "c", "unsure", at=3)]).names == {"b": "a"}


def test_a_person_may_join_a_chain_unasked():
    chain = [ruling("a", "b", by="person", at=1), ruling("b", "c", by="person", at=2)]

    assert reading_of(chain).names == {"b": "a", "c": "a"}


def test_a_link_that_contradicts_is_left_out_and_listed():
    people = [
        ruling("a", "b", by="person", at=1),
        ruling("b", "c", by="person", at=2),
        ruling("a", "c", "different", by="person", at=3),
    ]

    reading = reading_of(people)

    assert reading.names == {"b": "a"}
    assert reading.conflicting == (("b", "c"),)


def test_a_person_stands_against_a_later_model():
    rulings = [ruling("a", "b", "different", by="person", at=1), ruling("a", "b", at=9)]

    assert reading_of(rulings).names == {}


def test_a_persons_latest_word_counts():
    rulings = [
        ruling("a", "b", "different", by="person", at=1),
        ruling("a", "b", by="person", at=2),
    ]

    assert reading_of(rulings).names == {"b": "a"}


def test_a_document_has_its_own_sense_of_a_name():
    reading = reading_of([sense("mercury", 2)])

    assert reading.named("mercury", Place(DOCUMENT)).read == ("mercury", 2)
    assert reading.named("mercury", Place(uuid.uuid4())).read == ("mercury", 0)


def test_a_name_with_its_own_sense_is_not_read_as_another():
    reading = reading_of([sense("mercury", 1), ruling("hermes", "mercury")])

    assert reading.named("mercury", Place(DOCUMENT)).read == ("mercury", 1)
    assert reading.named("mercury", Place(uuid.uuid4())).read == ("hermes", 0)


def test_another_spelling_follows_the_documents_sense():
    reading = reading_of([sense("hermes", 1), ruling("hermes", "hermez")])

    assert reading.named("hermez", Place(DOCUMENT)).read == ("hermes", 1)


def test_a_person_takes_a_sense_back():
    reading = reading_of([sense("mercury", 1, at=5), sense("mercury", 0, by="person")])

    assert reading.named("mercury", Place(DOCUMENT)).read == ("mercury", 0)


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
def test_the_order_of_the_rulings_does_not_matter(rulings: list[Ruling], dice: random.Random):
    shuffled = rulings[:]
    dice.shuffle(shuffled)

    assert reading_of(shuffled) == reading_of(rulings)


@given(RULINGS)
def test_names_decided_to_differ_are_never_read_as_one(rulings: list[Ruling]):
    reading = reading_of(rulings)
    last: dict[tuple[str, str], Ruling] = {}
    for one in sorted(rulings, key=lambda one: (one.is_by_person, one.created_at, one.id)):
        last[one.left, one.right] = one

    for (left, right), one in last.items():
        if one.verdict == "different":
            assert reading.names.get(left, left) != reading.names.get(right, right)


@given(RULINGS)
def test_a_reading_leads_nowhere_further(rulings: list[Ruling]):
    names = reading_of(rulings).names

    assert not set(names) & set(names.values())
    assert all(read < name for name, read in names.items())
