from __future__ import annotations

from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import example, given, strategies as st

from kb_project.errors import BudgetError, ReplyError
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Role
from kb_project.llm.structured import parse
from kb_project.llm.tokens import count_tokens
from retrieval.search.global_search import model_calls
from retrieval.search.global_search.model_calls import (
    MapReply,
    RateReply,
    cited_labels,
    clean,
    labels_in,
    number_of,
    rating_of,
    score_of,
)
from retrieval.search.query import Query, QuestionVector
from retrieval.search.reporting import StoppedError
from tests.retrieval.search.global_search.model import scripted
from tests.retrieval.search.global_search.shelves import make_report, ranked, titles

REPORTS = [make_report(f"topic {number}", "word " * (number * 3 + 1)) for number in range(12)]


@given(st.integers(min_value=20, max_value=400), st.permutations(range(12)))
def test_every_report_is_in_exactly_one_batch_and_every_batch_within_its_tokens(budget, order):
    packed = model_calls.pack([ranked(*REPORTS)[place] for place in order], budget, {})

    held = Counter(one.topic.title for batch in packed for one in batch.labels.values())
    assert held == Counter(report.title for report in REPORTS)
    assert all(count_tokens(batch.text) <= budget for batch in packed)


def test_no_label_occurs_twice():
    packed = model_calls.pack(ranked(*REPORTS), 60, {})

    labels = [label for batch in packed for label in batch.labels]
    assert labels == [f"T{number}" for number in range(1, 13)]
    assert len(packed) > 2


def test_inside_a_batch_the_heaviest_come_first():
    weights = {report.community: float(number) for number, report in enumerate(REPORTS)}

    packed = model_calls.pack(ranked(*REPORTS), 10_000, weights)

    assert titles(list(packed[0].labels.values())) == [report.title for report in REPORTS[::-1]]
    assert packed[0].text.startswith("T1 topic 11.")


def test_equal_weights_go_by_rating():
    low, high = make_report("low", "a", rating=1), make_report("high", "b", rating=9)

    packed = model_calls.pack(ranked(low, high), 1_000, {})

    assert titles(list(packed[0].labels.values())) == ["high", "low"]


def test_shuffling_gives_one_order_whatever_order_they_come_in():
    there = ranked(*REPORTS)

    shuffled = model_calls.shuffled(there)

    assert shuffled == model_calls.shuffled(there[::-1])
    assert titles(shuffled) != titles(there)
    assert sorted(titles(shuffled)) == sorted(titles(there))


def test_a_batch_has_at_most_so_many_reports():
    packed = model_calls.pack(ranked(*REPORTS), 10_000, {}, most=5)

    assert [len(batch.labels) for batch in packed] == [5, 5, 2]


@pytest.mark.parametrize(
    ("window", "least", "most"), [(128_000, 12_000, 12_000), (4_000, 200, 2_000)]
)
def test_reports_take_what_the_models_window_leaves_and_never_more_than_12000(window, least, most):
    empty = model_calls.filled("global_map", "Why?", "")

    room = model_calls.room(scripted(window), Role.ANSWER, empty, MapReply)

    assert least <= room <= most


def test_a_window_that_is_too_small_still_gets_a_prompt():
    empty = model_calls.filled("global_map", "Why?", "")

    assert model_calls.room(scripted(500), Role.ANSWER, empty, MapReply) == model_calls.SMALLEST


QUERY = Query(
    UUID(int=1), "Why?", 5, QuestionVector(FakeEmbedder(), "Why?"), question_id=UUID(int=7)
)


def ask(chat, count, query=QUERY):
    prompts = [model_calls.filled("global_map", "Why?", f"T1 {number}") for number in range(count)]
    return model_calls.ask_all(query, chat, Role.ANSWER, MapReply, prompts)


def test_values_come_in_the_order_of_the_requests_and_none_for_what_got_no_answer():
    chat = scripted(
        global_map=lambda request: (
            ReplyError("No.", code="reply_invalid")
            if "T1 1" in request.prompt.user
            else {"points": []}
        )
    )

    values = ask(chat, 3)

    assert [value is None for value in values] == [False, True, False]


def test_calls_are_counted_for_the_question_they_are_made_for():
    chat = scripted(global_map=lambda _: {"points": []})

    ask(chat, 1)

    about = chat.requests[0].about
    assert (about.stage, about.question_id) == ("search", UUID(int=7))


def test_a_pause_is_no_empty_answer():
    chat = scripted(global_map=lambda _: BudgetError("Spent."))

    with pytest.raises(BudgetError):
        ask(chat, 2)


def test_after_a_stop_no_further_call_is_made():
    class Impatient:
        def emit(self, kind, payload):
            """Not asked for."""

        def check(self):
            raise StoppedError("Stopped.")

    chat = scripted(global_map=lambda _: {"points": []})

    with pytest.raises(StoppedError):
        ask(chat, 9, replace(QUERY, reporter=Impatient()))

    assert len(chat.requests) < 9


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(ANYTHING)
@example("\U000116d0 of 10")  # a digit of Unicode 16
def test_whatever_is_said_a_score_is_from_0_to_100_and_a_rating_from_0_to_5(value):
    assert 0 <= score_of(value) <= 100
    rating = rating_of(value)
    assert rating is None or 0 <= rating <= 5


def test_scores_are_compared_as_numbers():
    assert sorted(["9", "85", 100, "7.5 of 100"], key=score_of) == ["7.5 of 100", "9", "85", 100]


@pytest.mark.parametrize("value", [None, True, [], {}, "high", float("nan"), float("inf")])
def test_what_is_no_number_is_none(value):
    assert number_of(value) is None


def test_an_endless_number_is_bounded():
    assert number_of(10**400) == 1_000_000
    assert number_of("9" * 400) is not None


@given(ANYTHING)
def test_nothing_in_a_list_of_points_spoils_the_others(value):
    good = {"description": "Said.", "score": "50", "records": "T1"}

    reply = MapReply.model_validate({"points": [value, good]})

    assert reply.points[-1].description == "Said."
    assert (reply.points[-1].score, reply.points[-1].records) == (50.0, ["T1"])


@pytest.mark.parametrize("schema", [MapReply, RateReply])
def test_an_answer_without_its_list_is_no_answer(schema):
    assert parse("{}", schema).value is None
    assert parse('{"points": [], "ratings": []}', schema).value is not None


def test_an_answer_in_a_fence_with_a_comma_too_many_is_read():
    said = '```json\n{"points": [{"description": "A.", "score": 9, "records": ["T1",]},]}\n```'

    reply = parse(said, MapReply).value

    assert reply is not None
    assert reply.points[0].records == ["T1"]


def test_labels_are_read_however_they_are_written():
    assert labels_in(["t1", "T 02", "[T3; P4]", "Report T5.", "XT6", "T"]) == [
        "T1",
        "T2",
        "T3",
        "P4",
        "T5",
    ]


@pytest.mark.parametrize(
    "said",
    ["Said [T1].", "Said [Data: T1, T2].", "Said (P3).", "Said [T1; T2 and P3].", "Said 【T1】."],
)
def test_marks_are_taken_out_of_a_text(said):
    assert clean(said) == "Said."
    assert cited_labels(said, [])


def test_a_text_that_only_looks_like_a_mark_stays():
    assert clean("The [T-34] and (T1 tanks).") == "The [T-34] and (T1 tanks)."
