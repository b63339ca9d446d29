from __future__ import annotations

import json

from ingestion.changes.comparison import MOST_TOLD, Difference, Fact, Named, Said, compare

NOTHING = Said()


def fact(source: str, predicate: str, target: str, *, kind: str = "relationship", text: str = ""):
    return Fact(kind, source, source, target, target, predicate, text, 0, 9, "A quote.")


def named(name: str) -> Named:
    return Named(name, name, 0, 3, name)


def difference(before: list[Fact], after: list[Fact], *, others=()) -> Difference:
    return compare(Said(before), Said(after), facts=others, named=())


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
    again = Fact("relationship", "Ada", "Ada", "the light", "the light", "keeps", "New", 4, 9, "")

    assert not difference([KEEPS], [again]).totals["altered"]


def test_an_alteration_pairs_each_fact_once():
    found = difference(
        [KEEPS], [fact("Ada", "paints", "the light"), fact("Ada", "sees", "the light")]
    )

    assert (len(found.altered), len(found.gained)) == (1, 1)


def test_lists_are_bounded_and_counted():
    many = [fact(f"Ada {number}", "keeps", f"light {number}") for number in range(MOST_TOLD + 5)]

    found = difference([], many)

    assert (len(found.gained), found.totals["gained"]) == (MOST_TOLD, MOST_TOLD + 5)


# --- entities -------------------------------------------------------------------------------------
def test_entities_are_gained_and_lost_by_what_names_them():
    before, after = Said(named=[named("Ada"), named("Bo")]), Said(named=[named("Cora")])

    found = compare(before, after, facts=(), named={"Ada"})

    assert [one.name for one in found.entities_lost] == ["Bo"]
    assert [one.name for one in found.entities_gained] == ["Cora"]


# --- keeping --------------------------------------------------------------------------------------
def test_a_difference_is_read_as_it_was_written():
    found = difference([KEEPS, fact("Bo", "sells", "oil")], [fact("Ada", "paints", "the light")])

    assert Difference.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_nothing_is_no_difference():
    assert not any(compare(NOTHING, NOTHING, facts=(), named=()).totals.values())
