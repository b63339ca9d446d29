from __future__ import annotations

from hypothesis import given, strategies as st

from kb_project.text.central import Central, is_quotable, worth

LIGHT = [
    "The light of Skarrow was built in 1866 to guide ships past the reef.",
    "Ada Lind kept the light of Skarrow for forty years.",
    "The reef below the light of Skarrow wrecked nine ships.",
    "A baker in the village sold rye bread and was rich.",
]


def test_what_the_others_speak_of_too_is_more_central_than_what_nothing_else_speaks_of():
    assert Central(LIGHT, [0, 0, 0, 0]).best(3) != [3]
    assert Central(LIGHT, [0, 0, 0, 0]).scores.argmin() == 3


def test_of_two_alike_sentences_only_one_is_chosen():
    assert len(Central([LIGHT[0], LIGHT[0], LIGHT[3]]).best(3)) == 2


def test_what_stands_at_the_top_counts_more_than_the_same_further_down():
    scores = Central([LIGHT[1], LIGHT[3], LIGHT[1]], [0, 1, 200]).scores

    assert scores[0] > scores[2]


def test_places_can_put_a_later_sentence_first():
    assert Central([LIGHT[0], LIGHT[0]], [50, 0]).best(1) == [1]


def test_a_sentence_that_needs_the_one_before_it_is_worth_less():
    assert worth("Ada kept the light.") > worth("She kept the light.")
    assert worth("Ada kept the light.") > worth("“Ada kept the light,” said Bram.")
    assert worth("灯塔由林德看守。") > worth("他看守灯塔。")


def test_what_tells_the_reader_to_do_something_is_worth_less():
    assert worth("The lamp is lit at dusk.") > worth("Hold the lamp until it is lit at dusk.")
    assert worth("Change is good for what is lit.") > worth("To light it, open the lamp at dusk.")


def test_an_entry_without_a_verb_is_worth_less():
    assert worth("Bram Olsen was clerk to Ada Lind.") > worth("Bram Olsen, clerk to Ada Lind.")


def test_a_sentence_that_says_what_the_text_is_is_worth_more():
    assert worth("This handbook explains how the lamp is lit.") > worth("The lamp is lit at dusk.")


def test_only_whole_sentences_of_middling_length_are_quoted():
    assert is_quotable("The light of Skarrow was built in 1866 by Ada.")
    assert is_quotable("灯塔建于一八六六年，由阿达看守了四十年。")
    assert not is_quotable("The light of Skarrow was built in 1866 by")
    assert not is_quotable("of Skarrow was built in 1866 by Ada Lind herself.")
    assert not is_quotable("It burned.")
    assert not is_quotable("The light burned and " * 40 + "went out.")


def test_nothing_is_chosen_from_nothing():
    assert Central([]).best(3) == []


@given(st.lists(st.text(max_size=80), max_size=8), st.integers(0, 5))
def test_whatever_the_sentences_are_as_many_as_asked_for_at_most_are_chosen(
    texts: list[str], most: int
):
    best = Central(texts).best(most)

    assert len(best) == len(set(best)) <= most
    assert set(best) <= set(range(len(texts)))
