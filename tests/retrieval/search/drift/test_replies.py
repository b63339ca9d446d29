from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.structured import parse
from retrieval.search.drift.replies import UNSAID, FollowUp, StepReply, follow_ups_of


@pytest.mark.parametrize("value", [None, "", [], 7, [7, None]])
def test_what_is_no_question_is_left_out(value):
    assert follow_ups_of(value) == []


@given(st.text() | st.integers() | st.none() | st.lists(st.text() | st.none(), max_size=4))
def test_an_answer_is_read_whatever_its_follow_ups_are(value):
    reply = StepReply.model_validate({"answer": "Said.", "score": "70", "follow_ups": value})

    assert (reply.answer, reply.score) == ("Said.", 70.0)
    assert all(0 <= one.score <= 100 for one in reply.follow_ups)


def test_an_empty_answer_says_nothing():
    reply = parse("{}", StepReply).value

    assert reply is not None
    assert (reply.answer, reply.score, reply.records, reply.follow_ups) == ("", 0.0, [], [])


@pytest.mark.parametrize(
    ("said", "worth"), [("90", 90.0), ("much", UNSAID), (None, UNSAID), (0, 0.0)]
)
def test_a_question_nobody_scored_is_worth_as_much_as_one_in_the_middle(said, worth):
    assert FollowUp.model_validate({"question": "Who?", "score": said}).score == worth


def test_a_follow_up_may_be_given_as_text():
    reply = StepReply.model_validate({"follow_ups": ["Who?", {"question": "When?", "score": 0}, 7]})

    assert [(one.question, one.score) for one in reply.follow_ups] == [
        ("Who?", UNSAID),
        ("When?", 0),
    ]


def test_questions_of_the_same_words_are_one():
    assert FollowUp(question="Who is  Ada?").key == FollowUp(question="WHO is ada").key
    assert FollowUp(question="Who is Ada?").key != FollowUp(question="When is Ada?").key
    assert FollowUp(question="?!").key == ""
