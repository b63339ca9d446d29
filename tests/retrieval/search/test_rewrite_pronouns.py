from __future__ import annotations

import uuid

import pytest
from hypothesis import given, strategies as st

from retrieval.search.rewrite_pronouns import (
    MOST_NAMES,
    NamedTurn,
    StandsFor,
    names_for,
    unnamed_reference,
    with_names as written,
)
from retrieval.search.scope_entities import Named


def named(name: str, kind: str = "person") -> Named:
    return Named(uuid.uuid5(uuid.NAMESPACE_OID, name), name, kind, name)


ADA, BRAM, CORA = named("Ada Lind"), named("Bram Lind"), named("Cora Lind")
SKARROW, THIRLE = named("Skarrow", "place"), named("Thirle", "place")
TRUST, TEMPEST = named("Harbour Trust", "organization"), named("Tempest", "WORK")


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("When was she born?", "person"),
        ("And his wife?", "person"),
        ("What became of her?", "person"),
        ("那他的妻子呢？", "person"),
        ("她是哪里人？", "person"),
        ("Were they married?", "people"),
        ("他们什么时候到的？", "people"),
        ("What happened there?", "place"),
        ("那里发生了什么？", "place"),
        ("Why did it close?", "thing"),
        ("它是谁建的？", "thing"),
        ("What does this mean?", "anything"),
        ("Why?", "anything"),
        ("And the wife?", "anything"),
        ("What about the latter?", "anything"),
        ("Who paid?", "anything"),
        ("How many died?", "anything"),
        ("什么时候死的？", "anything"),
    ],
)
def test_a_follow_up_leans_on_what_was_said(question, what):
    assert unnamed_reference(question, has_name=False) == StandsFor(what)


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that the harbour froze in the hard winter of that century?",
        "What does the policy say about remote working on public holidays?",
        "What does the lamp burn?",
        "Who built the lighthouse?",
        "Which ships brought coal and timber from the northern ports?",
    ],
)
def test_a_question_that_stands_by_itself_leans_on_nothing(question):
    assert unnamed_reference(question, has_name=False) is None


@pytest.mark.parametrize(
    "question", ["Who was Bram Lind?", "Why did Skarrow burn?", "朱元璋是谁？"]
)
def test_a_question_with_a_name_and_no_pronoun_leans_on_nothing(question):
    assert unnamed_reference(question, has_name=True) is None


def test_a_name_beside_a_pronoun_leaves_the_pronoun_open():
    turns = [NamedTurn("Who was Ada Lind?", [ADA], [])]

    what = unnamed_reference("Did she know Bram Lind?", has_name=True)

    assert what is StandsFor.PERSON
    assert names_for(what, turns, [BRAM]) == [ADA]
    assert names_for(what, turns, [ADA]) == []


# --- which names ----------------------------------------------------------------------------------
def test_whom_the_question_was_about_comes_before_whom_the_answer_names():
    turns = [NamedTurn("When did Ada Lind keep the light?", [ADA], [BRAM])]

    assert names_for(StandsFor.PERSON, turns, []) == [ADA]


def test_who_was_asked_for_is_who_is_meant_next():
    turns = [NamedTurn("Who was the father of Ada Lind?", [ADA], [ADA, BRAM])]

    assert names_for(StandsFor.PERSON, turns, []) == [BRAM]


@pytest.mark.parametrize(
    "question", ["Who was Ada Lind?", "And who is Ada Lind?", "Ada Lind是谁？"]
)
def test_who_somebody_is_leads_to_that_person(question):
    assert names_for(StandsFor.PERSON, [NamedTurn(question, [ADA], [BRAM])], []) == [ADA]


def test_who_somebody_is_says_that_it_is_a_person_whatever_its_type():
    mistyped = named("Cora Lind", "place")

    assert names_for(
        StandsFor.PERSON, [NamedTurn("Who is Cora Lind?", [mistyped], [BRAM])], []
    ) == [mistyped]


def test_who_was_a_person_stays_one_for_the_conversation():
    mistyped = named("Cora Lind", "place")
    turns = [
        NamedTurn("Who is Cora Lind?", [mistyped], []),
        NamedTurn("When came she?", [mistyped], [BRAM]),
    ]

    assert names_for(StandsFor.PERSON, turns, []) == [mistyped]


def test_a_name_of_unknown_kind_may_be_anything():
    unknown = named("Agnes Tull", "name")
    turns = [NamedTurn("Who founded the Harbour Trust?", [TRUST], [unknown, BRAM])]

    assert names_for(StandsFor.PERSON, turns, []) == [unknown]


def test_a_place_asked_about_is_there_and_not_one_the_answer_adds():
    turns = [NamedTurn("What happened at Skarrow?", [SKARROW], [THIRLE])]

    assert names_for(StandsFor.PLACE, turns, []) == [SKARROW]


def test_a_place_is_meant_by_there_and_a_thing_by_it():
    turns = [NamedTurn("Where did Ada Lind sail the Tempest?", [ADA, TEMPEST], [THIRLE])]

    assert names_for(StandsFor.PLACE, turns, []) == [THIRLE]
    assert names_for(StandsFor.THING, turns, [])[0] == TEMPEST
    assert names_for(StandsFor.PERSON, turns, []) == [ADA]


def test_they_may_be_several():
    turns = [NamedTurn("Who kept Skarrow?", [SKARROW], [ADA, BRAM, CORA, TRUST])]

    assert names_for(StandsFor.PEOPLE, turns, []) == [ADA, BRAM, CORA]


def test_the_newest_turn_that_fits_counts():
    old, new = (
        NamedTurn("Who was Ada Lind?", [ADA], []),
        NamedTurn("Where is Skarrow?", [SKARROW], []),
    )

    assert names_for(StandsFor.PERSON, [old, new], []) == [ADA]
    assert names_for(StandsFor.PLACE, [old, new], []) == [SKARROW]


def test_where_no_kind_fits_the_newest_name_stands_in():
    turns = [NamedTurn("What is Tempest?", [TEMPEST], [])]

    assert names_for(StandsFor.PERSON, turns, []) == [TEMPEST]


def test_without_any_name_there_is_none_to_add():
    assert names_for(StandsFor.PERSON, [NamedTurn("Why?", [], [])], []) == []


NAMES = st.sampled_from([ADA, BRAM, CORA, SKARROW, THIRLE, TRUST, TEMPEST])
TURNS = st.builds(NamedTurn, st.text(max_size=20), st.lists(NAMES), st.lists(NAMES))


@given(st.sampled_from(list(StandsFor)), st.lists(TURNS, max_size=6), st.lists(NAMES))
def test_names_are_few_said_before_and_not_the_questions_own(what, turns, own):
    found = names_for(what, turns, own)

    said = [one for turn in turns for one in (*turn.asked, *turn.answered)]
    assert len(found) <= MOST_NAMES
    assert all(one in said and one not in own for one in found)


# --- how it is written ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When was she born?", "When was Ada Lind born?"),
        ("And his wife?", "And Ada Lind's wife?"),
        ("What about her?", "What about Ada Lind?"),
        ("Who was her father?", "Who was Ada Lind's father?"),
        ("Who spoke to her in Thirle?", "Who spoke to Ada Lind in Thirle?"),
        ("那他的妻子呢？", "那Ada Lind的妻子呢？"),
        ("Why did it close?", "Why did Ada Lind close?"),
        ("Is it true that it closed?", "Is it true that it closed? (Ada Lind)"),
        ("为什么？", "为什么？（Ada Lind）"),
    ],
)
def test_one_name_takes_the_pronouns_place_where_that_reads_well(question, said):
    assert written(question, ["Ada Lind"]) == said


def test_several_names_stand_behind_the_question():
    assert written("Were they kin?", ["Ada", "Bram"]) == "Were they kin? (Ada, Bram)"


def test_a_name_ending_in_s_takes_an_apostrophe_alone():
    assert written("And his wife?", ["Carlos"]) == "And Carlos' wife?"


def test_a_name_is_no_pattern():
    assert written("When was she born?", [r"\1 \g<object>"]) == r"When was \1 \g<object> born?"
