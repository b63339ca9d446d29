from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import assume, given, strategies as st

from ingestion.changes.text_changes import TextChange, paragraphs, text_changes

LINES = st.lists(st.sampled_from(["Ada rows.", "Bo sells oil.", "It blew.", ""]), max_size=8)


def kinds(changes: list[TextChange]) -> list[str]:
    return [one.kind if not one.skipped else f"skip {one.skipped}" for one in changes]


def test_a_word_that_changed_is_shown_within_its_paragraph():
    [change] = text_changes("Ada rows to the light.", "Ada sails to the light.")

    assert change.kind == "changed"
    assert [(one.kind, one.text) for one in change.pieces] == [
        ("same", "Ada "),
        ("gone", "rows"),
        ("new", "sails"),
        ("same", " to the light."),
    ]


def test_paragraphs_come_and_go():
    assert kinds(text_changes("a b\n\nc d", "a b\n\nc d\n\ne f")) == ["skip 1", "same", "new"]
    assert kinds(text_changes("a b\n\nc d", "c d")) == ["gone", "same"]


def test_what_has_nothing_in_common_took_the_others_place():
    assert kinds(text_changes("Ada rows.", "Nothing of it!")) == ["gone", "new"]


def test_what_stays_is_told_in_a_line_but_for_its_neighbours():
    before = "\n".join(f"Line {number}." for number in range(9))

    found = text_changes(before, f"{before}\nMore.")

    assert kinds(found) == ["skip 8", "same", "new"]


def test_places_are_those_of_the_text_that_has_it():
    before, after = "Ada.\nBo.", "It blew all day.\nBo."

    places = {one.kind: one.start for one in text_changes(before, after)}

    assert (places["gone"], places["new"]) == (0, 0)
    assert after[places["same"] :] == "Bo."


@given(LINES, LINES)
def test_both_texts_are_there_to_be_read(first: list[str], second: list[str]):
    before, after = "\n".join(first), "\n".join(second)

    assume(
        paragraphs(before)
        and [p.text for p in paragraphs(before)] != [p.text for p in paragraphs(after)]
    )

    found = text_changes(before, after, around=len(first) + len(second))

    def text_of(*kinds: str) -> list[str]:
        told = ["".join(p.text for p in one.pieces if p.kind in kinds) for one in found]
        return [line for line in told if line]

    assert text_of("same", "new") == [one.text for one in paragraphs(after)]
    assert text_of("same", "gone") == [one.text for one in paragraphs(before)]


def test_the_same_text_has_nothing_but_what_is_skipped():
    assert kinds(text_changes("a\nb\nc", "a\nb\nc")) == ["skip 3"]


def drawn(words: str, *, lines: int, length: int, seed: int) -> str:
    random, known = Random(seed), words.split()
    return "\n".join(" ".join(random.choices(known, k=length)) for _ in range(lines))


COSTLY = {
    "every paragraph is another one": (" ".join(f"w{n}" for n in range(300)), 2000, 100),
    "two words over and over": ("a b", 40, 370),
    "two lines over and over": ("a b", 4000, 1),
}


@pytest.mark.parametrize("case", COSTLY)
def test_no_two_texts_keep_whoever_asks_waiting_for_long(case: str):
    words, lines, length = COSTLY[case]
    before, after = (drawn(words, lines=lines, length=length, seed=seed) for seed in (1, 2))
    began = time.process_time()

    found = text_changes(before, after)

    assert time.process_time() - began < 15
    assert found


def test_long_paragraphs_with_a_word_changed_each_are_told_word_by_word():
    before = drawn(" ".join(f"w{n}" for n in range(400)), lines=40, length=300, seed=1)
    after = before.replace("w7 ", "other ")

    found = {one.kind for one in text_changes(before, after, around=0)}
    assert found == {"same", "changed"}
