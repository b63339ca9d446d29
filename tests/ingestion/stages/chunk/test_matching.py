from __future__ import annotations

import uuid
from collections.abc import Sequence

from hypothesis import given, strategies as st

from ingestion.models import Chunk
from ingestion.stages.chunk.cutting import chunk_id
from ingestion.stages.chunk.publish import counts_of, match

ONE, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


def chunks(version: uuid.UUID, texts: Sequence[str], headings: Sequence[str] = ()) -> list[Chunk]:
    made, start = [], 0
    for ordinal, text in enumerate(texts):
        end = start + len(text)
        path = [headings[ordinal]] if headings else []
        made.append(
            Chunk(
                pk=chunk_id(version, start, end),
                ordinal=ordinal,
                start=start,
                end=end,
                text=text,
                heading_path=path,
            )
        )
        start = end + 1
    return made


def kept(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int]]:
    matching = match(chunks(ONE, before), chunks(OTHER, after))
    return [(old.text, old.ordinal, new.ordinal) for old, new in matching.kept]


# --- what is the same -----------------------------------------------------------------------------
def test_equal_texts_are_the_same_passage():
    assert kept("abc", "xbc") == [("b", 1, 1), ("c", 2, 2)]


def test_a_passage_that_was_moved_is_the_passage_it_was():
    assert kept("abc", "cab") == [("c", 2, 0), ("a", 0, 1), ("b", 1, 2)]


def test_of_equal_passages_the_first_is_the_first():
    assert kept("aba", "aca") == [("a", 0, 0), ("a", 2, 2)]


def test_one_under_the_same_heading_comes_before_one_under_another():
    before = chunks(ONE, ["a", "a"], ["Light", "Oil"])
    after = chunks(OTHER, ["a"], ["Oil"])

    [(old, _)] = match(before, after).kept

    assert old.heading_path == ["Oil"]


def test_what_stands_where_its_id_says_stays_there():
    before = chunks(ONE, ["a", "b", "a"])
    moved = [before[2], before[1]]  # an earlier version left the last two, in another order

    matching = match(moved, chunks(ONE, ["a", "b", "a"]))

    ids = [old.pk for old, _ in matching.kept] + [one.pk for one in matching.new]
    assert sorted(ids) == sorted(one.pk for one in before)


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_every_passage_is_kept_new_or_gone_and_no_id_is_there_twice(
    before: list[str], after: list[str]
):
    there, cut = chunks(ONE, before), chunks(OTHER, after)

    matching = match(there, cut)

    assert len(matching.kept) + len(matching.gone) == len(there)
    assert len(matching.kept) + len(matching.new) == len(cut)
    assert all(old.text == new.text for old, new in matching.kept)
    ids = [old.pk for old, _ in matching.kept] + [one.pk for one in matching.new]
    assert len(set(ids)) == len(ids)


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_there_and_back_are_the_ids_there_were(first: list[str], second: list[str]):
    before = chunks(ONE, first)
    there = match(before, chunks(OTHER, second))
    living = sorted(
        [(new.ordinal, old) for old, new in there.kept] + [(one.ordinal, one) for one in there.new],
        key=lambda pair: pair[0],
    )

    back = match([one for _, one in living], chunks(ONE, first))

    ids = {new.ordinal: old.pk for old, new in back.kept} | {
        one.ordinal: one.pk for one in back.new
    }
    assert len(set(ids.values())) == len(ids)
    gone = {one.pk for one in there.gone}
    assert gone <= set(ids.values()) or not gone


# --- counting -------------------------------------------------------------------------------------
def test_what_is_new_where_something_went_is_a_change():
    found = counts_of(match(chunks(ONE, "abcd"), chunks(OTHER, "axcyz")))

    assert (found.kept, found.changed, found.new, found.gone) == (2, 2, 1, 0)


def test_nothing_before_is_all_new():
    found = counts_of(match([], chunks(OTHER, "ab")))

    assert (found.kept, found.changed, found.new, found.gone) == (0, 0, 2, 0)
