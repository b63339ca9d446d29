from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.ports import Role
from kb_project.llm.tokens import count_tokens
from retrieval.search.global_search import batches
from retrieval.search.global_search.replies import MapReply
from tests.retrieval.search.global_search.model import scripted
from tests.retrieval.search.global_search.shelves import make_report, ranked, titles

REPORTS = [make_report(f"topic {number}", "word " * (number * 3 + 1)) for number in range(12)]


@given(st.integers(min_value=20, max_value=400), st.permutations(range(12)))
def test_every_report_is_in_exactly_one_batch_and_every_batch_within_its_tokens(budget, order):
    packed = batches.pack([ranked(*REPORTS)[place] for place in order], budget, {})

    held = Counter(one.topic.title for batch in packed for one in batch.labels.values())
    assert held == Counter(report.title for report in REPORTS)
    assert all(count_tokens(batch.text) <= budget for batch in packed)


def test_no_label_occurs_twice():
    packed = batches.pack(ranked(*REPORTS), 60, {})

    labels = [label for batch in packed for label in batch.labels]
    assert labels == [f"T{number}" for number in range(1, 13)]
    assert len(packed) > 2


def test_inside_a_batch_the_heaviest_come_first():
    weights = {report.community: float(number) for number, report in enumerate(REPORTS)}

    packed = batches.pack(ranked(*REPORTS), 10_000, weights)

    assert titles(list(packed[0].labels.values())) == [report.title for report in REPORTS[::-1]]
    assert packed[0].text.startswith("T1 topic 11.")


def test_equal_weights_go_by_rating():
    low, high = make_report("low", "a", rating=1), make_report("high", "b", rating=9)

    packed = batches.pack(ranked(low, high), 1_000, {})

    assert titles(list(packed[0].labels.values())) == ["high", "low"]


def test_shuffling_gives_one_order_whatever_order_they_come_in():
    there = ranked(*REPORTS)

    shuffled = batches.shuffled(there)

    assert shuffled == batches.shuffled(there[::-1])
    assert titles(shuffled) != titles(there)
    assert sorted(titles(shuffled)) == sorted(titles(there))


def test_a_batch_has_at_most_so_many_reports():
    packed = batches.pack(ranked(*REPORTS), 10_000, {}, most=5)

    assert [len(batch.labels) for batch in packed] == [5, 5, 2]


@pytest.mark.parametrize(
    ("window", "least", "most"), [(128_000, 12_000, 12_000), (4_000, 200, 2_000)]
)
def test_reports_take_what_the_models_window_leaves_and_never_more_than_12000(window, least, most):
    empty = batches.filled("global_map", "Why?", "")

    room = batches.room(scripted(window), Role.ANSWER, empty, MapReply)

    assert least <= room <= most


def test_a_window_that_is_too_small_still_gets_a_prompt():
    empty = batches.filled("global_map", "Why?", "")

    assert batches.room(scripted(500), Role.ANSWER, empty, MapReply) == batches.SMALLEST
