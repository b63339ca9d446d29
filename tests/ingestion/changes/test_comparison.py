from __future__ import annotations

import json
import time
from random import Random

import pytest
from hypothesis import assume, given, strategies as st

from ingestion.changes.comparison import (
    MOST_LISTED,
    FactChanges,
    NamedEntity,
    StatedFact,
    Statements,
    TextChange,
    compare,
    paragraphs,
    text_changes,
)
from tests.patience import PATIENCE

NOTHING = Statements()


def fact(source: str, predicate: str, target: str, *, kind: str = "relationship", text: str = ""):
    return StatedFact(kind, source, source, target, target, predicate, text, 0, 9, "A quote.")


def named(name: str) -> NamedEntity:
    return NamedEntity(name, name, 0, 3, name)


def difference(before: list[StatedFact], after: list[StatedFact], *, others=()) -> FactChanges:
    return compare(Statements(before), Statements(after), facts=others, named=())


KEEPS = fact("Ada", "keeps", "the light")


# --- facts ----------------------------------------------------------------------------------------
def test_what_is_stated_only_before_is_lost_and_only_now_is_gained():
    found = difference([KEEPS], [fact("Bo", "sells", "oil")])

    assert [one.source for one in found.lost] == ["Ada"]
    assert [one.source for one in found.gained] == ["Bo"]
    assert found.totals["altered"] == 0


def test_what_is_stated_in_both_is_neither():
    found = difference([KEEPS], [KEEPS, KEEPS])

    assert (found.lost, found.gained) == ((), ())


def test_what_a_passage_that_stayed_states_is_not_lost_and_not_gained():
    assert not difference([KEEPS], [], others=[KEEPS.key]).lost
    assert not difference([], [KEEPS], others=[KEEPS.key]).gained


def test_another_word_for_the_same_two_is_an_alteration():
    found = difference([KEEPS], [fact("Ada", "paints", "the light")])

    [(old, new)] = found.altered
    assert (old.predicate, new.predicate) == ("keeps", "paints")
    assert (found.lost, found.gained) == ((), ())


def test_the_same_of_another_is_an_alteration():
    found = difference([KEEPS], [fact("Ada", "keeps", "the tower")])

    [(old, new)] = found.altered
    assert (old.target, new.target) == ("the light", "the tower")


def test_a_claim_that_is_worded_otherwise_is_altered():
    before = fact("Ada", "age", "", kind="claim", text="Ada is 40.")
    after = fact("Ada", "age", "", kind="claim", text="Ada is 41.")

    [(old, new)] = difference([before], [after]).altered

    assert (old.sentence, new.sentence) == ("Ada is 40.", "Ada is 41.")


def test_a_link_that_a_model_words_anew_is_the_same():
    again = StatedFact(
        "relationship", "Ada", "Ada", "the light", "the light", "keeps", "New", 4, 9, ""
    )

    assert not difference([KEEPS], [again]).totals["altered"]


def test_an_alteration_pairs_each_fact_once():
    found = difference(
        [KEEPS], [fact("Ada", "paints", "the light"), fact("Ada", "sees", "the light")]
    )

    assert (len(found.altered), len(found.gained)) == (1, 1)


def test_lists_are_bounded_and_counted():
    many = [fact(f"Ada {number}", "keeps", f"light {number}") for number in range(MOST_LISTED + 5)]

    found = difference([], many)

    assert (len(found.gained), found.totals["gained"]) == (MOST_LISTED, MOST_LISTED + 5)


# --- entities -------------------------------------------------------------------------------------
def test_entities_are_gained_and_lost_by_what_names_them():
    before, after = Statements(named=[named("Ada"), named("Bo")]), Statements(named=[named("Cora")])

    found = compare(before, after, facts=(), named={"Ada"})

    assert [one.name for one in found.entities_lost] == ["Bo"]
    assert [one.name for one in found.entities_gained] == ["Cora"]


# --- keeping --------------------------------------------------------------------------------------
def test_a_difference_is_read_as_it_was_written():
    found = difference([KEEPS, fact("Bo", "sells", "oil")], [fact("Ada", "paints", "the light")])

    assert FactChanges.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_nothing_is_no_difference():
    assert not any(compare(NOTHING, NOTHING, facts=(), named=()).totals.values())


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


@pytest.mark.parametrize(
    ("before", "after"), [("2.4", "1.9"), ("12,500", "12,900"), ("4.3.2021", "5.3.2021")]
)
def test_a_number_that_changed_is_shown_whole(before: str, after: str):
    (change,) = text_changes(f"It cost {before} million euros.", f"It cost {after} million euros.")

    changed = [(one.kind, one.text) for one in change.pieces if one.kind != "same"]
    assert changed == [("gone", before), ("new", after)]


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
def test_no_two_texts_keep_whoever_asks_waiting_for_hours(case: str):
    words, lines, length = COSTLY[case]
    before, after = (drawn(words, lines=lines, length=length, seed=seed) for seed in (1, 2))
    began = time.process_time()

    found = text_changes(before, after)

    assert time.process_time() - began < PATIENCE
    assert found


def test_long_paragraphs_with_a_word_changed_each_are_told_word_by_word():
    before = drawn(" ".join(f"w{n}" for n in range(400)), lines=40, length=300, seed=1)
    after = before.replace("w7 ", "other ")

    found = {one.kind for one in text_changes(before, after, around=0)}
    assert found == {"same", "changed"}
