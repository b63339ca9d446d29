from __future__ import annotations

import pytest

from retrieval.search.global_search.levels import Forest
from retrieval.search.global_search.reports import Report
from tests.retrieval.search.global_search.shelves import make_report, ranked, titles

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
