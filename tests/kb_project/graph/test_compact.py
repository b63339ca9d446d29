"""Compact tables hold what dictionaries of the same rows would."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from kb_project.graph.compact import MANY, Filed, Ids

IDS = st.lists(st.binary(min_size=16, max_size=16).map(lambda raw: UUID(bytes=raw)), unique=True)
# Texts as people and files write them, and halves of surrogate pairs.
ROWS = st.lists(st.tuples(st.text(max_size=4), st.integers(0, 2**31 - 1)))


def filed(rows: list[tuple[str, int]]) -> Filed:
    return Filed.of([text for text, _ in rows], [number for _, number in rows])


@given(IDS, IDS)
def test_ids_are_found_where_they_are(ids: list[UUID], others: list[UUID]):
    kept = Ids.of(ids)
    places = {one: place for place, one in enumerate(ids)}

    assert list(kept) == [kept[place] for place in range(len(kept))] == ids
    assert kept.places(ids + others).tolist() == [places.get(one, -1) for one in ids + others]
    assert [kept.place(one) for one in others] == [places.get(one) for one in others]
    assert kept.mask(others).tolist() == [one in others for one in ids]


def test_ids_that_end_in_zeros_are_told_apart():
    ids = [UUID(bytes=b"a" + bytes(15)), UUID(bytes=b"a" + bytes(14) + b"\1"), UUID(int=0)]

    assert Ids.of(ids).places(ids).tolist() == [0, 1, 2]
    assert Ids.of(ids[:1]).place(ids[1]) is None


@given(IDS, IDS)
def test_many_ids_are_found_where_few_are(ids: list[UUID], others: list[UUID]):
    kept, wanted = Ids.of([*ids, *ids[:1]]), [*ids, *others, UUID(int=0)]

    many = kept.places((wanted * MANY)[: MANY + len(wanted)])

    assert many[: len(wanted)].tolist() == kept.places(wanted).tolist()


def test_ids_of_the_same_first_half_are_told_apart():
    ids = [UUID(int=number) for number in (3, 1, 2)]

    assert Ids.of(ids).places(ids * MANY)[:3].tolist() == [0, 1, 2]


@given(ROWS, st.text(max_size=4))
def test_numbers_are_found_under_their_text_in_the_order_of_filing(rows, other: str):
    expected = defaultdict(list)
    for text, number in rows:
        expected[text].append(number)

    kept = filed(rows)

    assert dict(kept) == {text: tuple(numbers) for text, numbers in expected.items()}
    assert len(kept) == len(expected)
    assert kept.get(other, ()) == tuple(expected.get(other, ()))


@given(ROWS)
def test_a_number_filed_once_is_not_repeated(rows):
    expected = defaultdict(set)
    for text, number in rows:
        expected[text].add(number)

    kept = Filed.of([text for text, _ in rows], [number for _, number in rows], once=True)

    assert dict(kept) == {text: tuple(sorted(numbers)) for text, numbers in expected.items()}


@given(ROWS)
def test_both_come_back_from_their_arrays_as_they_were(rows):
    kept = filed(rows)
    ids = Ids.of(UUID(int=number) for _, number in dict.fromkeys(rows))

    assert Filed.from_arrays(kept.arrays("names"), "names") == kept
    assert Ids.from_arrays(ids.arrays("ids"), "ids") == ids


@pytest.mark.parametrize("asked", ["\ud83d", "", "\0"])
def test_what_no_name_may_hold_is_looked_up_and_not_found(asked: str):
    assert filed([("ada lind", 1)]).get(asked) is None
