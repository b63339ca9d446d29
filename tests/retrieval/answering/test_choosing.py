from __future__ import annotations

import pytest

from retrieval.answering import choosing
from retrieval.answering.choosing import ANSWERED, SURE, UNSURE, Choice, asks_for_list, parts_of
from retrieval.answering.ranking import Ranked, Ranking
from retrieval.models import Outcome
from tests.retrieval.answering.passages import gathered, hit

KEEPERS = "Ada Lind keeps the light. The lamp burns oil by night. The quarry road is closed."


def ranking_of(made, *, shares, probability):
    ranked = [Ranked(one, share, share) for one, share in zip(made.statements, shares, strict=True)]
    return Ranking(ranked, probability)


def chosen(question, text, *, shares, probability=1.0):
    made = gathered(question, hit(text))
    return choosing.choose(made, ranking_of(made, shares=shares, probability=probability))


def said(choice):
    return [one.candidate.said for one in choice.chosen]


def test_a_statement_that_is_clearly_the_best_stands_alone():
    choice = chosen("Who keeps the light?", KEEPERS, shares=[SURE, 0.1, 0.05])

    assert (choice.outcome, said(choice)) == (Outcome.ANSWERED, ["Ada Lind keeps the light."])


def test_one_that_may_be_it_as_well_comes_second():
    choice = chosen("Who keeps the light?", KEEPERS, shares=[0.5, 0.4, 0.1])

    assert said(choice) == ["Ada Lind keeps the light.", "The lamp burns oil by night."]


def test_one_that_says_the_same_is_no_second():
    text = (
        "Ada Lind keeps the light of Skarrow. Ada Lind keeps the Skarrow light. It burns oil now."
    )
    choice = chosen("Who keeps the light?", text, shares=[0.5, 0.4, 0.1])

    assert said(choice)[0] == "Ada Lind keeps the light of Skarrow."
    assert "Ada Lind keeps the Skarrow light." not in said(choice)


@pytest.mark.parametrize(
    ("probability", "outcome"),
    [
        (ANSWERED, Outcome.ANSWERED),
        ((ANSWERED + UNSURE) / 2, Outcome.UNSURE),
        (UNSURE / 2, Outcome.NOTHING),
    ],
)
def test_the_probability_decides_between_three_outcomes(probability, outcome):
    choice = chosen("Who keeps it?", KEEPERS, shares=[0.7, 0.2, 0.1], probability=probability)

    assert choice.outcome is outcome
    assert bool(choice.chosen) == (outcome is Outcome.ANSWERED)
    assert bool(choice.nearest) == (outcome is Outcome.UNSURE)


def test_nothing_read_is_nothing_told():
    made = gathered("Who keeps the light?")

    assert choosing.choose(made, Ranking((), 0.0)) == Choice(Outcome.NOTHING, (), (), 0.0)


def test_the_closest_passages_are_different_ones():
    made = gathered("Who keeps it?", hit(KEEPERS), hit("Bram keeps it too, they say."))
    told = ranking_of(
        made, shares=[0.4] * len(made.statements), probability=(ANSWERED + UNSURE) / 2
    )

    nearest = choosing.choose(made, told).nearest

    assert len(nearest) == len({one.candidate.hit.chunk_id for one in nearest}) == 2


LIST = (
    "The tower is old.\n\nThe keepers of the light were:\n- Ada Lind, from 1866\n"
    "- Bram Oosterling, until 1890\n- Cees Vrij, for a week\n\nThe lamp burns oil.\n\n"
    "Buy at the shop:\n- Bread and butter\n- Cheese and ham"
)


def test_a_question_for_a_list_gets_the_entries_of_the_one_that_fits():
    made = gathered("Which keepers of the light were there?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = choosing.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert choice.is_list
    assert said(choice) == [
        "Ada Lind, from 1866",
        "Bram Oosterling, until 1890",
        "Cees Vrij, for a week",
    ]


@pytest.mark.parametrize(
    ("probability", "outcome"), [(UNSURE, Outcome.ANSWERED), (UNSURE / 2, Outcome.NOTHING)]
)
def test_a_list_that_fits_answers_unless_nothing_does(probability, outcome):
    made = gathered("Which keepers of the light were there?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = choosing.choose(made, ranking_of(made, shares=shares, probability=probability))

    assert (choice.outcome, bool(choice.chosen)) == (outcome, outcome is Outcome.ANSWERED)


def test_a_list_of_other_things_is_none():
    made = gathered("Which boats bring the oil?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    assert not choosing.choose(made, ranking_of(made, shares=shares, probability=1.0)).is_list


@pytest.mark.parametrize(
    "question",
    [
        "Which directories have to be there?",
        "What roles do people play here?",
        "What are the three keepers?",
        "List the keepers.",
        "有哪些看守人？",
    ],
)
def test_it_is_asked_for_a_list(question):
    assert asks_for_list(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which version of the lamp came with it?",
        "What is the status of the boat?",
        "What does the securetty file do?",
        "Which bus goes there?",
        "What was the cause?",
        "谁看守灯塔？",
    ],
)
def test_it_is_not_asked_for_a_list(question):
    assert not asks_for_list(question)


def test_the_second_question_names_what_the_first_is_about():
    assert parts_of("Where is Tern Rock and who lit it?")[1] == "who lit Tern Rock?"
    assert parts_of("Who went from Orran to Voar and why is it empty?")[1] == "why is it empty?"
    assert parts_of("Where is the light and who lit it?")[1] == "who lit it?"


def test_the_parts_of_a_question_have_their_own_question_words():
    assert parts_of("Who lit it, and when did the boat come?") == (
        "Who lit it",
        "when did the boat come?",
    )
    assert parts_of("谁看守灯塔，灯塔在哪里？") == ("谁看守灯塔", "灯塔在哪里？")
    for one in ("Who keeps bread and butter?", "1995年8月，谁看守灯塔？"):
        assert parts_of(one) == (one,)


def test_two_parts_give_a_statement_each():
    first = chosen("Who keeps the light?", KEEPERS, shares=[0.8, 0.1, 0.1])
    second = chosen("What does it burn?", "The lamp burns oil by night.", shares=[1.0])

    both = choosing.together([first, second])

    assert said(both) == ["Ada Lind keeps the light.", "The lamp burns oil by night."]


def test_a_part_without_an_answer_leaves_that_of_the_other():
    first = chosen("Who keeps the light?", KEEPERS, shares=[0.8, 0.1, 0.1])
    second = chosen("What does it cost?", "The lamp burns oil.", shares=[1.0], probability=0.1)

    both = choosing.together([first, second])

    assert (both.outcome, said(both)) == (Outcome.ANSWERED, ["Ada Lind keeps the light."])
