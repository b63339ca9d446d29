from __future__ import annotations

from uuid import UUID

import pytest

from kb_project.errors import ReplyError
from kb_project.llm.fake import FakeEmbedder
from retrieval.search.global_search import selecting
from retrieval.search.global_search.reports import Report
from retrieval.search.global_search.selecting import Forest
from retrieval.search.query import Query, QuestionVector
from tests.retrieval.search.global_search.model import lines_of, rate, scripted
from tests.retrieval.search.global_search.shelves import make_report, ranked, titles

REPORTS = [
    make_report("lamps", "a", size=2),
    make_report("roads", "b", size=2),
    make_report("bright lamps", "c", parent="lamps", level=1),
    make_report("dark lamps", "d", parent="lamps", level=1),
    make_report("wide roads", "e", parent="roads", level=1),
]


def query() -> Query:
    return Query(UUID(int=1), "Which lamps?", 5, QuestionVector(FakeEmbedder(), "Which lamps?"))


def select(script, reports=REPORTS, calls=20):
    chat = scripted(rate_report=script)
    found = selecting.select(query(), chat, Forest(reports, ranked(*reports)), calls)
    return found, chat


def kept(found) -> list[str]:
    return titles(list(found.kept.values()))


def test_kept_topics_are_replaced_by_those_within_them_that_are_kept():
    found, chat = select(rate(lambda text: "lamps" in text))

    assert kept(found) == ["bright lamps", "dark lamps"]
    assert [len(lines_of(request)) for request in chat.requests] == [2, 2]
    assert (found.rated, found.calls, found.invalid) == (4, 2, 0)


def test_a_topic_stays_where_nothing_within_it_is_kept():
    found, _ = select(rate(lambda text: text.startswith("lamps")))

    assert kept(found) == ["lamps"]


def test_where_a_level_keeps_nothing_all_of_the_next_is_rated():
    found, chat = select(rate(lambda text: text.startswith("wide")))

    assert kept(found) == ["wide roads"]
    assert len(lines_of(chat.requests[1])) == 3


def test_nothing_kept_anywhere_is_nothing_kept():
    assert kept(select(rate(lambda _: False))[0]) == []


@pytest.mark.parametrize("said", [{"ratings": []}, {"ratings": [{"record": "T1"}, "T2"]}])
def test_an_answer_that_is_no_rating_counts_as_worth_reading_and_is_counted(said):
    found, _ = select(lambda _: said)

    assert kept(found) == ["bright lamps", "dark lamps", "wide roads"]
    assert found.invalid == found.rated == 5


def test_a_call_without_a_usable_answer_leaves_nothing_out():
    found, _ = select(lambda _: ReplyError("No JSON.", code="reply_invalid"))

    assert len(found.kept) == 3
    assert found.invalid == 5


def test_a_rating_given_twice_counts_once_and_one_of_another_report_not_at_all():
    ratings = [
        {"record": "T1", "rating": "0/5"},
        {"record": "T1", "rating": 5},
        {"record": "T99", "rating": 5},
        {"record": "T2", "rating": "1"},
    ]
    found, _ = select(lambda _: {"ratings": ratings}, REPORTS[:2])

    assert kept(found) == ["roads"]


def test_many_topics_are_rated_by_few_calls():
    reports = [make_report(f"topic {number}", f"said {number}") for number in range(30)]

    found, chat = select(rate(lambda _: True), reports)

    assert len(chat.requests) == found.calls == 3
    assert len(found.kept) == found.rated == 30


def test_what_no_call_is_left_for_is_kept_unrated_and_nothing_below_is_asked_about():
    reports = [make_report(f"topic {number}", f"said {number}") for number in range(30)]
    below = make_report("below", "x", parent="topic 0", level=1)

    found, _ = select(rate(lambda _: False), [*reports, below], calls=1)

    assert (found.calls, found.rated) == (1, 12)
    assert kept(found) == [f"topic {number}" for number in range(12, 30)]


def test_a_topic_is_rated_by_its_title_and_summary():
    _, chat = select(rate(lambda _: True), REPORTS[:1])

    assert lines_of(chat.requests[0]) == {"T1": "lamps. On lamps."}
    assert chat.requests[0].prompt.user.count("<question>\nWhich lamps?\n</question>") == 1


WIDE = make_report("wide", "a", size=4)
NARROW = [
    make_report("left", "b", parent="wide", level=1, size=2),
    make_report("right", "c", parent="wide", level=1, size=2),
]
DEEP = [
    make_report("up", "d", parent="left", level=2, size=1),
    make_report("down", "e", parent="left", level=2, size=1),
]
ALONE = make_report("alone", "f", size=1)
EVERYTHING = [WIDE, *NARROW, *DEEP, ALONE]


def forest(reports: list[Report], shown: list[Report] | None = None) -> Forest:
    return Forest(reports, ranked(*(reports if shown is None else shown)))


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (0, ["wide", "alone"]),
        (1, ["left", "right", "alone"]),
        (2, ["up", "down", "right", "alone"]),
    ],
)
def test_a_level_says_everything_once_with_topics_that_end_above_it(level, expected):
    assert titles(forest(EVERYTHING).cut(level)) == expected


def test_a_topic_that_holds_more_than_its_parts_speaks_for_itself():
    rest = make_report("rest", "a", size=9)
    pair = make_report("pair", "b", parent="rest", level=1, size=2)

    assert titles(forest([rest, pair]).cut(2)) == ["rest"]


def test_a_part_whose_report_is_not_written_yet_is_spoken_for_by_the_whole():
    assert titles(forest([WIDE, NARROW[0]]).cut(2)) == ["wide"]


def test_where_no_part_may_be_seen_the_whole_is():
    assert titles(forest(EVERYTHING, [WIDE, ALONE]).cut(2)) == ["wide", "alone"]


def test_where_only_parts_may_be_seen_they_are_however_deep():
    assert titles(forest(EVERYTHING, [DEEP[0]]).cut(0)) == ["up"]


def test_roots_lie_within_nothing_that_may_be_seen():
    assert titles(forest(EVERYTHING).roots()) == ["wide", "alone"]
    assert titles(forest(EVERYTHING, [NARROW[1], DEEP[0], DEEP[1]]).roots()) == [
        "right",
        "up",
        "down",
    ]


def test_children_are_those_right_below():
    trees = forest(EVERYTHING)

    assert titles(trees.children(trees.roots())) == ["left", "right"]
    assert trees.children([]) == []


def test_a_parent_counts_only_where_it_may_be_seen():
    trees = forest(EVERYTHING, [NARROW[0], DEEP[0]])

    assert trees.parent(trees.ranked[1]) == NARROW[0].community
    assert trees.parent(trees.ranked[0]) is None
