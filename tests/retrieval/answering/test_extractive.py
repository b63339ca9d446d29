from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.regions import LABEL, Region, RegionKind
from retrieval.answering import extractive, ranking
from retrieval.answering.extractive import (
    ANSWERED,
    SURE,
    UNSURE,
    Choice,
    parts_of,
)
from retrieval.answering.marking import MOST_MARKED, marked
from retrieval.answering.ranking import Gathered, Ranking
from retrieval.models import Outcome
from retrieval.search.query_features import read
from tests.retrieval.answering.passages import gathered, hit, ranking_of, said

KEEPERS = "Ada Lind keeps the light. The lamp burns oil by night. The quarry road is closed."


def chosen(question, text, *, shares, probability=1.0):
    made = gathered(question, hit(text))
    return extractive.choose(made, ranking_of(made, shares=shares, probability=probability))


def test_a_statement_that_is_clearly_the_best_stands_alone():
    choice = chosen("Who keeps the light?", KEEPERS, shares=[SURE, 0.1, 0.05])

    assert (choice.outcome, said(choice)) == (Outcome.ANSWERED, ["Ada Lind keeps the light."])


def test_one_that_may_be_it_as_well_comes_second():
    choice = chosen("Who keeps the light?", KEEPERS, shares=[0.5, 0.4, 0.1])

    assert said(choice) == ["Ada Lind keeps the light.", "The lamp burns oil by night."]


def test_what_is_summed_up_takes_more_statements_even_after_a_clear_one():
    made = gathered("how the light is kept", hit(KEEPERS))
    ranking = ranking_of(made, shares=[SURE, 0.09, 0.07], probability=1.0)

    choice = extractive.choose(made, ranking, most=extractive.MOST_SUMMED_UP)

    assert len(choice.chosen) == 3


def test_one_that_says_the_same_is_no_second():
    text = (
        "Ada Lind keeps the light of Skarrow. Ada Lind keeps the Skarrow light. It burns oil now."
    )
    choice = chosen("Who keeps the light?", text, shares=[0.5, 0.4, 0.1])

    assert said(choice)[0] == "Ada Lind keeps the light of Skarrow."
    assert "Ada Lind keeps the Skarrow light." not in said(choice)


def test_a_question_in_a_document_answers_none():
    text = "So who keeps the light of Skarrow? Ada Lind does, with two helpers. The lamp burns oil."
    choice = chosen("Who keeps the light of Skarrow?", text, shares=[0.92, 0.06, 0.02])

    assert said(choice)[0] == "Ada Lind does, with two helpers."


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

    assert extractive.choose(made, Ranking((), 0.0)) == Choice(Outcome.NOTHING, (), (), 0.0)


def test_the_closest_passages_are_different_ones():
    made = gathered("Who keeps it?", hit(KEEPERS), hit("Bram keeps it too, they say."))
    told = ranking_of(
        made, shares=[0.4] * len(made.statements), probability=(ANSWERED + UNSURE) / 2
    )

    nearest = extractive.choose(made, told).nearest

    assert len(nearest) == len({one.candidate.hit.chunk_id for one in nearest}) == 2


def test_the_second_question_names_what_the_first_is_about():
    assert parts_of("Where is Tern Rock and who lit it?")[1] == "who lit Tern Rock?"
    assert parts_of("Who went from Orran to Voar and why is it empty?")[1] == "why is it empty?"
    assert parts_of("Where is the light and who lit it?")[1] == "who lit it?"


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Who lit the lamp, and when?", "when lit the lamp?"),
        ("When was the lamp lit and by whom?", "when was the lamp lit and by whom?"),
        ("What did the lamp cost, and why?", "why did the lamp cost?"),
    ],
)
def test_a_second_part_that_is_only_a_question_word_asks_it_of_the_first(question, second):
    assert parts_of(question)[-1].lower() == second


def test_he_and_she_are_whom_the_first_part_names():
    assert parts_of("Who is Ada Lind, and where does she work?")[1] == "where does Ada Lind work?"
    assert parts_of("Who came from Orran, and when did she leave?")[1] == "when did she leave?"


def test_the_parts_of_a_question_have_their_own_question_words():
    assert parts_of("Who lit it, and when did the boat come?") == (
        "Who lit it",
        "when did the boat come?",
    )
    assert parts_of("谁看守灯塔，灯塔在哪里？") == ("谁看守灯塔", "灯塔在哪里？")
    for one in ("Who keeps bread and butter?", "1995年8月，谁看守灯塔？"):
        assert parts_of(one) == (one,)


def test_a_label_is_no_second_statement():
    passage = "Ada Lind kept the light.\n\nTable of all the lamps, boats and keepers here"
    told = chosen("Who kept the light?", passage, shares=[0.6, 0.4])

    assert said(told) == ["Ada Lind kept the light."]


def test_two_parts_give_a_statement_each():
    first = chosen("Who keeps the light?", KEEPERS, shares=[0.8, 0.1, 0.1])
    second = chosen("What does it burn?", "The lamp burns oil by night.", shares=[1.0])

    both = extractive.together([first, second])

    assert said(both) == ["Ada Lind keeps the light.", "The lamp burns oil by night."]


def test_a_sentence_that_answers_both_parts_has_the_words_of_both_marked():
    statement = "Ada Lind lit the lamp on 5 May 1866."
    passage = hit(statement)
    parts = [
        extractive.choose(read, ranking_of(read, shares=[1.0], probability=1.0))
        for read in (gathered(one, passage) for one in ("Who lit it?", "When was it lit?"))
    ]

    [only] = extractive.together(parts).chosen

    assert [statement[start:end] for start, end in only.marked] == ["Ada Lind", "5 May 1866"]


def test_a_part_that_prefers_what_is_said_already_adds_its_next_choice():
    passage = gathered("Who keeps the light in winter?", hit(KEEPERS))
    first, unsure, sure = (
        extractive.choose(passage, ranking_of(passage, shares=shares, probability=1.0))
        for shares in ([1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.9, 0.1, 0.0])
    )

    assert said(extractive.together([first, unsure])) == said(unsure)
    assert said(extractive.together([first, sure])) == ["Ada Lind keeps the light."]


def test_a_part_without_an_answer_leaves_that_of_the_other():
    first = chosen("Who keeps the light?", KEEPERS, shares=[0.8, 0.1, 0.1])
    second = chosen("What does it cost?", "The lamp burns oil.", shares=[1.0], probability=0.1)

    both = extractive.together([first, second])

    assert (both.outcome, said(both)) == (Outcome.ANSWERED, ["Ada Lind keeps the light."])


def bold(said, question):
    return [said[start:end] for start, end in marked(said, read(question))]


@pytest.mark.parametrize(
    ("said", "question", "words"),
    [
        ("Hamm was released on July 24th, 1998.", "When was Hamm released?", ["July 24th, 1998"]),
        ("It was lit in the 16th century.", "When was it lit?", ["16th century"]),
        ("It was dark in the 1930s.", "When was it dark?", ["1930s"]),
        ("It has burned since at least 1978.", "How long has it burned?", ["since at least 1978"]),
        ("The lamp burns 40 litres a night.", "How much does the lamp burn?", ["40"]),
        ("In spring Ada Lind lit the lamp.", "Who lit the lamp?", ["Ada Lind"]),
        ("It was lit by Ada Lind on 5 May 1866.", "Who lit the lamp?", ["Ada Lind"]),
        ("In 1866 it was dark for three nights.", "How long was it dark for?", ["three nights"]),
        ("All 12 lamps are lit twice a day.", "How often are the lamps lit?", ["twice"]),
        ("In 1866 oil was £4.50 a ton.", "How much did the oil cost?", ["£4.50"]),
        ("The oil comes by boat from Orran.", "Where does the oil come from?", ["Orran"]),
        ("灯塔建于1866年。", "灯塔是哪一年建的？", ["1866年"]),
    ],
)
def test_the_words_asked_for_are_marked(said, question, words):
    assert bold(said, question) == words


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("The lamp burns oil because it is cheap.", "Why does the lamp burn oil?"),
        ("Nobody remembers.", "When was the lamp lit?"),
        ("The clock is known to few.", "Who knows the clock?"),
        ("In 1866 the lamp was lit.", "What happened in 1866?"),
        ("Ada left in 1866.", "What happened when the lamp was lit?"),
        ("Change the wick in 1866.", "How do I change the wick?"),
    ],
)
def test_nothing_is_marked_where_no_such_thing_is_asked_for_or_told(said, question):
    assert bold(said, question) == []


def test_what_the_question_names_itself_is_not_its_answer():
    assert bold("Ada Lind succeeded Bram Oosterling.", "Who succeeded Bram Oosterling?") == [
        "Ada Lind"
    ]


def test_of_many_the_one_nearest_to_the_words_asked_is_marked():
    said = "In 1850 the rock was bought, in 1861 the tower was built, in 1866 the lamp was lit."

    assert bold(said, "When was the lamp lit?") == ["1866"]


@given(st.text(max_size=80), st.sampled_from(["Who?", "When was it?", "How many?", "Where is it?"]))
def test_marks_are_few_and_inside_the_sentence(said, question):
    spans = marked(said, read(question))

    assert len(spans) <= MOST_MARKED
    assert all(0 <= start < end <= len(said) for start, end in spans)


COMPARED = "The lamp is lit at dusk. A lamp is a wick in oil. The lens is a ring of glass."
BOTH = "Every lamp and lens is cleaned."


def told_apart(question: str, text: str) -> list[str]:
    made = gathered(question, hit(text))
    return said(extractive.choose(made, clearly_first(made)))


def clearly_first(made: Gathered) -> Ranking:
    others = len(made.statements) - 1
    return ranking_of(made, shares=[0.97, *[0.03 / others] * others], probability=1.0)


def test_things_to_tell_apart_each_get_a_statement_of_what_they_are():
    chosen = told_apart("What's the difference between a lamp and a lens?", COMPARED)

    assert chosen == ["A lamp is a wick in oil.", "The lens is a ring of glass."]


def test_a_statement_of_both_things_tells_them_apart_best():
    chosen = told_apart("What's the difference between a lamp and a lens?", f"{BOTH} {COMPARED}")

    assert chosen == [BOTH]


def test_nothing_is_told_apart_if_one_thing_is_not_said_to_be_anything():
    chosen = told_apart("What's the difference between a lamp and a wick?", COMPARED)

    assert chosen == ["The lamp is lit at dusk."]


@pytest.mark.parametrize("question", ["How many lamps burn?", "How much did the lamps cost?"])
def test_asked_for_a_number_a_statement_without_one_is_no_answer(question):
    text = "The lamps burn oil. The lamps cost a fortune."
    made = gathered(question, hit(text))

    choice = extractive.choose(made, clearly_first(made))

    assert choice.outcome is Outcome.UNSURE
    assert [one.candidate.said for one in choice.nearest] == ["The lamps burn oil."]
    assert told_apart(question, f"Twelve lamps burn, and cost £9. {text}")


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("Who was missing at the meeting?", "Apologies: Bram, who was ill."),
        ("who couldn't make it", "Absent: Bram, who was ill."),
        ("Who attended the meeting?", "Present: Bram Tor and Ada Lind."),
        ("Who took the minutes of the meeting?", "Minutes taken by: Bram Tor."),
        ("Who wrote the notes?", "Note-taker: Bram, who was late."),
        ("Who chaired the meeting?", "In the chair: Ada Lind."),
        ("What did we decide on the jetty?", "Decision: the jetty is mended in May."),
    ],
)
def test_a_line_of_minutes_that_is_labelled_with_what_is_asked_answers(question, label):
    text = f"The meeting was on a Monday. {label} The quarry road is closed."
    made = gathered(question, hit(text))
    ranked = ranking.rank(made)

    unsure = Ranking(ranked.ranked, (ANSWERED + UNSURE) / 2)

    assert said(extractive.choose(made, unsure))[:1] == [label]


def test_a_statement_that_says_he_is_given_with_the_sentence_that_says_who():
    text = "Bram Olsen kept the light. He lit it first in 1866. The quarry road is closed."
    choice = chosen("When was it lit?", text, shares=[0.2, 0.5, 0.3])

    [one] = choice.chosen
    assert one.candidate.said == "Bram Olsen kept the light. He lit it first in 1866."
    assert text[one.candidate.start : one.candidate.end] == one.candidate.said
    assert [one.candidate.said[slice(*span)] for span in one.marked] == ["1866"]


def test_a_long_sentence_before_it_is_left_out():
    text = f"Bram Olsen kept {'the light and ' * 30}the boats. He lit it first in 1866."
    choice = chosen("When was it lit?", text, shares=[0.05, 0.95])

    assert said(choice) == ["He lit it first in 1866."]


def test_a_definition_is_given_with_the_term_that_it_defines():
    text = (
        "The settings are these.\n\nlive_dangerously\nAsks nobody before mail is deleted for good."
    )
    start = text.index("live")
    term = Region(RegionKind.HEADING, start, start + len("live_dangerously"), LABEL)
    made = gathered("Which setting deletes mail without asking?", hit(text, regions=(term,)))
    shares = [0.9 if one.path else 0.05 for one in made.statements]

    [one] = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0)).chosen

    assert one.candidate.said == "live_dangerously: Asks nobody before mail is deleted for good."
    assert one.candidate.start == start


def defined(text, *names):
    return tuple(
        Region(RegionKind.HEADING, start, start + len(name), LABEL)
        for name in names
        for start in [text.index(f"{name}\n")]
    )


@pytest.mark.parametrize("words", [4, 300])
def test_defined_terms_below_a_line_that_introduces_them_are_a_list(words):
    wick, lamp = " ".join(["Trims"] * words) + ".", "Lights it at dusk. It needs oil."
    text = f"The programs of the tower are:\n\nwick\n{wick}\n\nlamp\n{lamp}"
    found = hit(text, regions=defined(text, "wick", "lamp"))
    made = gathered("Which programs of the tower are there?", found)
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    whole = [f"wick: {wick}", "lamp: Lights it at dusk."]
    assert said(choice) == (whole if words < 100 else ["wick", "lamp"])


def test_he_may_come_later_in_the_sentence():
    text = "The elephant Dhammapala is hard to control. Even when tied up, he refuses his food."
    choice = chosen("Which elephant refuses food?", text, shares=[0.1, 0.9])

    assert said(choice) == [text]
