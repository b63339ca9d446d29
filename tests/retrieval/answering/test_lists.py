from __future__ import annotations

from uuid import uuid4

import pytest

from kb_project.text.regions import Region, RegionKind
from retrieval.answering import extractive, lists, ranking
from retrieval.answering.extractive import UNSURE
from retrieval.answering.lists import MOST_ENTRIES, asks_for_list
from retrieval.answering.ranking import Ranked, Ranking
from retrieval.models import Outcome
from retrieval.search.results import Hit
from tests.retrieval.answering.passages import gathered, hit, ranking_of, said

LIST = (
    "The tower is old.\n\nThe keepers of the light were:\n- Ada Lind, from 1866\n"
    "- Bram Oosterling, until 1890\n- Cees Vrij, for a week\n\nThe lamp burns oil.\n\n"
    "Buy at the shop:\n- Bread and butter\n- Cheese and ham"
)
BROUGHT = "The keeper brought:\n- oil\n- two new wicks\n\nIn spring he left the light for good."


def test_a_question_for_a_list_gets_the_entries_of_the_one_that_fits():
    made = gathered("Which keepers of the light were there?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert choice.is_list
    assert said(choice) == [
        "Ada Lind, from 1866",
        "Bram Oosterling, until 1890",
        "Cees Vrij, for a week",
    ]


def test_what_the_document_is_called_says_nothing_of_a_list_in_it():
    text = (
        "There are two ways to play Wesnoth:\n- in campaigns\n- in scenarios\n\n"
        "Attack types\n\n- Blade: they cut.\n- Cold: they freeze."
    )
    start = text.index("Attack types")
    heading = Region(RegionKind.HEADING, start, start + len("Attack types"), 2)
    made = gathered(
        "What attacks are there in Wesnoth?", hit(text, title="Wesnoth", regions=(heading,))
    )
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert said(choice) == ["Blade: they cut.", "Cold: they freeze."]


def test_a_list_fits_as_well_as_the_line_that_introduces_it_answers():
    text = "Daily:\n- the lamp is trimmed\n- the glass is wiped\n\nYearly:\n- paint\n- tar"
    made = gathered("What are the duties of the keeper?", hit(text))
    shares = [0.9 if one.said == "Yearly:" else 0.02 for one in made.statements]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert said(choice) == ["paint", "tar"]


@pytest.mark.parametrize(("count", "goes_on"), [(MOST_ENTRIES, False), (MOST_ENTRIES + 5, True)])
def test_of_a_long_list_the_first_entries_are_shown_and_it_is_known_to_go_on(count, goes_on):
    entries = [f"Keeper number {number}" for number in range(count)]
    text = "The keepers of the light were:\n- " + "\n- ".join(entries)
    made = gathered("Which keepers of the light were there?", hit(text))

    shares = [1 / len(made.statements)] * len(made.statements)

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert said(choice) == entries[:MOST_ENTRIES]
    assert lists.goes_on(made, [one.candidate for one in choice.chosen]) is goes_on


def test_a_statement_that_introduces_a_list_is_given_with_it():
    made = gathered("What did the keeper bring to the light?", hit(BROUGHT))
    shares = [0.9 if one.introduces else 0.05 for one in made.statements]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert said(choice) == ["The keeper brought:", "oil", "two new wicks"]


def test_where_only_a_list_that_is_too_long_fits_the_passage_is_shown_instead_of_an_empty_answer():
    long = "\n".join(f"- Ada Lind brought {n} " + "old and heavy " * 50 for n in range(3))
    made = gathered("What did the keeper bring to the light?", hit(f"The keeper brought:\n{long}"))
    [lead] = [one for one in made.statements if one.introduces]

    choice = extractive.choose(made, Ranking([Ranked(lead, 1.0, 1.0)], 1.0))

    assert (choice.outcome, said(choice)) == (Outcome.UNSURE, [])
    assert [one.candidate for one in choice.nearest] == [lead]


def test_a_sentence_that_lists_what_is_asked_for_is_the_answer():
    row = "Three boats bring the oil: Tern, Gannet, and Fulmar."
    made = gathered("Which boats were there?", hit(f"Boats are kept dry.\n\n{row}\n\n{LIST}"))
    shares = [0.5 if one.said == row else 0.1 for one in made.statements]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert said(choice) == [row]


def test_a_list_of_paragraphs_is_not_given_whole():
    long = "\n".join(f"- Ada Lind brought {n} " + "old and heavy " * 50 for n in range(3))
    made = gathered("What did the keeper bring to the light?", hit(f"The keeper brought:\n{long}"))
    shares = [0.9 if one.introduces else 0.05 for one in made.statements]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert len(choice.chosen) == 1
    assert not choice.is_list


def test_of_a_long_list_the_first_sentence_of_each_entry_is_given():
    firsts = [f"{one} for the light." for one in ("Oil", "Rope", "Soap", "Wicks")]
    entries = [f"\n- {one} {'It is kept in the store below. ' * 10}" for one in firsts]
    made = gathered("Which things did the keeper bring?", hit(f"He brought:{''.join(entries)}"))

    assert chosen(made) == firsts


@pytest.mark.parametrize(
    ("probability", "outcome"), [(UNSURE, Outcome.ANSWERED), (UNSURE / 2, Outcome.NOTHING)]
)
def test_a_list_that_fits_answers_unless_nothing_does(probability, outcome):
    made = gathered("Which keepers of the light were there?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=probability))

    assert (choice.outcome, bool(choice.chosen)) == (outcome, outcome is Outcome.ANSWERED)


def test_a_list_of_other_things_is_none():
    made = gathered("Which boats bring the oil?", hit(LIST))
    shares = [1 / len(made.statements)] * len(made.statements)

    assert not extractive.choose(made, ranking_of(made, shares=shares, probability=1.0)).is_list


@pytest.mark.parametrize(
    ("before", "is_lead"),
    [
        ("It is seen from boats of fishermen in winter.", False),
        ("The boats of the keepers in winter", True),
    ],
)
def test_a_sentence_before_a_list_is_none_of_it_but_a_line_is(before, is_lead):
    text = f"The oil comes by boat.\n\n{before}\n\n- Ada, built in 1866\n- Per, lost in 1890"
    made = gathered("Which boats were there?", hit(text))
    _first, *others = made.statements
    shares = [0.9, *(0.1 / len(others) for _ in others)]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert choice.is_list is is_lead


@pytest.mark.parametrize(
    "question",
    [
        "Which directories have to be there?",
        "What roles do people play here?",
        "What are the three keepers?",
        "List the keepers.",
        "What may a keeper do?",
        "What's in the box of tools?",
        "What speaks against lamps of gas?",
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
        "What can I do?",
        "谁看守灯塔？",
    ],
)
def test_it_is_not_asked_for_a_list(question):
    assert not asks_for_list(question)


CHANGING = (
    "The lamp of Skarrow burns oil, and the lamp is cleaned by the keeper.\n\n"
    "To change the wick of the lamp, wait for the morning.\n\n"
    "- Open the glass.\n- Take the old wick out. It may still be hot.\n- Put the new one in.\n\n"
    "The quarry road is closed."
)
STEPS = ["Open the glass.", "Take the old wick out.", "It may still be hot.", "Put the new one in."]


def answered(question, *texts):
    made = gathered(question, *map(hit, texts))
    ranked = ranking.rank(made).ranked
    return said(extractive.choose(made, Ranking(ranked, 1.0)))


def test_asked_how_something_is_done_it_gives_the_steps_that_follow_the_best_statement():
    answer = answered("How do I change the wick of the lamp?", CHANGING)

    assert answer == ["To change the wick of the lamp, wait for the morning.", *STEPS]


def test_asked_how_something_is_done_it_gives_all_steps_of_which_one_is_the_best_statement():
    text = "Changing the wick of a lamp:\n\n- Open the glass.\n- Put the new wick in."

    answer = answered("How can I change the wick of the lamp?", text)

    assert answer == ["Open the glass.", "Put the new wick in."]


def test_asked_how_something_is_done_it_gives_the_whole_list_below_a_heading_that_says_so():
    steps = ["The lamp is taken down.", "Two people carry it.", "It is left to cool."]
    text = "\n".join(["How a lamp is changed\n", *(f"- {one}" for one in steps)])
    heading = Region(RegionKind.HEADING, 0, 21, 1)

    def given(question):
        made = gathered(question, hit(text, regions=(heading,)))
        return said(extractive.choose(made, Ranking(ranking.rank(made).ranked, 1.0)))

    assert given("How is a lamp changed?") == steps
    assert given("When is a lamp changed?") != steps


def test_a_sentence_that_counts_the_entries_of_the_list_behind_it_leads_to_it():
    boats = "- Tern, which brings the oil.\n- Gannet, which brings the mail."
    text = f"The light has {{}} boats.\n\n{boats}\n\nThe lamp burns oil."
    asked = "What are the boats of the light?"

    assert answered(asked, text.format("two")) == [
        "Tern, which brings the oil.",
        "Gannet, which brings the mail.",
    ]
    assert answered(asked, text.format("many"))[0] == "The light has many boats."


def test_a_step_of_something_else_is_given_alone():
    text = "Feeding the cat:\n\n- Open the glass.\n- Put the fish in."

    assert answered("How do I open the glass of the lamp?", text)[0] == "Open the glass."
    assert len(answered("How do I open the glass of the lamp?", text)) < 2


def test_steps_are_not_given_to_who_asks_something_else():
    assert answered("When is the wick of the lamp changed?", CHANGING)[1:] != STEPS


def test_entries_that_tell_nobody_what_to_do_are_no_steps():
    text = CHANGING.replace("Open the", "An open").replace("Put the", "A").replace("Take", "An")

    assert len(answered("How do I change the wick of the lamp?", text)) < 3


def test_of_many_sentences_of_steps_only_the_first_of_each_are_given():
    more = "It is made of glass and of brass. " * 4
    text = CHANGING.replace("glass.\n", f"glass. {more}\n").replace("in.\n", f"in. {more}\n")

    _, *steps = answered("How do I change the wick of the lamp?", text)

    assert steps == ["Open the glass.", "Take the old wick out.", "Put the new one in."]


FUNDERS = "\n".join(
    f"Who paid for the lens: {name}; Amount: {amount}"
    for name, amount in {
        "Lantern Fund": "£110,000",
        "Appeal": "£35,000",
        "Hollin": "£9,000",
    }.items()
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who paid for the lens?", ["Lantern Fund", "Appeal", "Hollin"]),
        ("Who paid £110,000 for the lens?", ["Lantern Fund"]),
    ],
)
def test_a_question_for_what_a_column_is_called_gets_every_row(question, names):
    made = gathered(question, hit(FUNDERS, regions=(Region(RegionKind.TABLE, 0, len(FUNDERS)),)))

    choice = extractive.choose(made, ranking_of(made, shares=[0.92, 0.02, 0.02], probability=1.0))

    assert [one.split("; ")[0] for one in said(choice)] == [
        f"Who paid for the lens: {name}" for name in names
    ]


YEARS = "\n".join(
    f"Year: {year} ({state}); Result: {result}; Reserves: {left}"
    for year, state, result, left in [
        (2023, "actual", "£16", "£428"),
        (2024, "actual", "£12", "£359"),
        (2025, "forecast", "£22", "£381"),
    ]
)


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("What were the reserves at the end of 2024?", ["2024"]),
        ("What were the actual reserves?", ["2023", "2024"]),
        ("What are the reserves of each year?", ["2023", "2024", "2025"]),
    ],
)
def test_a_question_for_a_list_gets_the_rows_whose_values_it_names(question, years):
    made = gathered(question, hit(YEARS, regions=(Region(RegionKind.TABLE, 0, len(YEARS)),)))

    choice = extractive.choose(made, ranking_of(made, shares=[0.3, 0.4, 0.3], probability=1.0))

    assert [one.split()[1] for one in said(choice)] == years


def staff(*jobs: tuple[str, str]) -> str:
    return "\n".join(f"Name: {name}; Job: {job}" for name, job in jobs)


def table(text: str, **where) -> Hit:
    return hit(text, regions=(Region(RegionKind.TABLE, 0, len(text)),), **where)


def chosen(made):
    shares = [1 / len(made.statements)] * len(made.statements)
    return said(extractive.choose(made, ranking_of(made, shares=shares, probability=1.0)))


def test_the_rows_asked_for_are_found_in_a_table_longer_than_any_list():
    others = [(f"Clerk {number}", "Clerk") for number in range(40)]
    made = gathered(
        "Who are the head keepers?",
        table(staff(*others, ("Ada", "Head keeper, day"), ("Bram", "Head keeper, night"))),
    )

    assert chosen(made) == [
        "Name: Ada; Job: Head keeper, day",
        "Name: Bram; Job: Head keeper, night",
    ]


def test_a_table_divided_among_passages_is_one():
    first, second = staff(("Ada", "Head keeper"), ("Bo", "Cook")), staff(("Cy", "Head keeper"))
    document = uuid4()
    made = gathered(
        "Who are the head keepers?",
        table(first, document=document),
        table(f"{second}\nName: Dee; Job: Cook", document=document, start=len(first) + 1),
    )

    assert chosen(made) == ["Name: Ada; Job: Head keeper", "Name: Cy; Job: Head keeper"]


@pytest.mark.parametrize(
    ("question", "is_given"),
    [("head keepers", True), ("all head keepers", True), ("keepers of the south", False)],
)
def test_a_question_that_only_names_several_things_gets_the_table_of_them(question, is_given):
    made = gathered(question, table(staff(("Ada", "Head keeper"), ("Bram", "Head keeper for all"))))

    assert (len(chosen(made)) == 2) == is_given


@pytest.mark.parametrize("lead", ["It always has these parts:", "To be whole, one needs"])
def test_a_line_that_introduces_a_list_does_so_for_what_the_one_before_speaks_of(lead):
    made = gathered(
        "What has to be in a storm report?",
        hit(f"A storm report is short. {lead}\n- the wind\n- the damage"),
    )

    assert chosen(made) == ["the wind", "the damage"]


@pytest.mark.parametrize(
    ("question", "is_list"),
    [("What counts as a storm?", True), ("When does a storm count?", False)],
)
def test_the_list_below_a_heading_that_asks_the_same_is_given_whole(question, is_list):
    text = "A gale is a storm by rule.\n- Waves that break over the pier in 1990\n- Any broken lamp"
    made = gathered(question, hit(text, headings=("What counts as a storm",)))
    shares = [0.9, 0.05, 0.05]

    choice = extractive.choose(made, ranking_of(made, shares=shares, probability=1.0))

    assert choice.is_list == is_list
