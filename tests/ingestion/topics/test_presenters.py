"""The tree beside topics shows a page of each open level, and the rest when it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.models import Community
from ingestion.topics import views
from ingestion.topics.views import PER_PAGE, Level
from tests import rows
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access

pytestmark = pytest.mark.django_db

MORE = 3


@pytest.fixture
def cast() -> rows.Cast:
    """A page of topics and three more; the smallest has as many parts, one of those a part."""
    cast = rows.make_cast()
    roots = grow(cast, None, 0)
    parts = grow(cast, roots[-1], 1)
    grow(cast, parts[0], 2, number=1)
    return cast


def grow(
    cast: rows.Cast, parent: Community | None, level: int, *, number: int = PER_PAGE + MORE
) -> list[Community]:
    """Topics right below one, the largest first."""
    with access.in_workspace(cast.workspace.pk):
        return [
            Community.objects.create(
                workspace=cast.workspace, level=level, size=size, parent=parent
            )
            for size in range(number, 0, -1)
        ]


def communities(cast: rows.Cast, level: int) -> list[Community]:
    with access.in_workspace(cast.workspace.pk):
        found = Community.objects.in_workspace(cast.workspace).filter(level=level)
        return list(found.order_by("-size"))


def opened(cast: rows.Cast, community: Community | None = None) -> Level:
    with access.in_workspace(cast.workspace.pk):
        return views.open_tree(workspace=cast.workspace, community=community)


def sizes(level: Level) -> list[int]:
    return [one.node.community.size for one in level.branches]


def test_a_closed_tree_has_the_largest_topics_and_says_how_many_are_left(cast: rows.Cast):
    level = opened(cast)

    assert sizes(level) == list(range(PER_PAGE + MORE, MORE, -1))
    assert level.left == MORE
    assert [one.below for one in level.branches] == [None] * PER_PAGE


def test_the_way_to_a_topic_is_open_even_from_a_later_page(cast: rows.Cast):
    smallest, part = communities(cast, 0)[-1], communities(cast, 1)[0]

    level = opened(cast, part)

    way = level.branches[-1]
    assert (way.node.community.pk, level.extra, level.left) == (smallest.pk, smallest.pk, MORE - 1)
    assert way.below is not None
    assert (len(way.below.branches), way.below.left, way.below.extra) == (PER_PAGE, MORE, None)
    [leaf] = way.below.branches[0].below.branches if way.below.branches[0].below else ()
    assert (leaf.node.parts, leaf.below) == (0, None)
    with access.in_workspace(cast.workspace.pk):
        rest = views.tree_level(
            workspace=cast.workspace, parent=None, page=level.following, extra=level.extra
        )
    assert (sizes(rest), rest.left) == ([3, 2], 0)


def test_a_tree_costs_the_same_however_many_topics_a_level_has(
    cast: rows.Cast, django_assert_num_queries
):
    part = communities(cast, 1)[0]

    def asked() -> int:
        with django_assert_num_queries(20):
            return len(opened(cast, part).branches)

    assert asked() == PER_PAGE + 1
    grow(cast, None, 0, number=20)
    assert asked() == PER_PAGE + 1


def test_pages_of_topics_show_a_level_at_a_time(cast: rows.Cast):
    smallest = communities(cast, 0)[-1]

    listed = page_of(cast.bob, "community_list", cast, page="2")
    shown = page_of(cast.bob, "community_detail", cast, smallest.pk, page="2")

    assert "Page 2 of 2" in listed
    assert f"{MORE} more</a>" in listed
    assert listed.count('class="tile"') == MORE
    assert "Page 2 of 2" in shown
    assert shown.count("No report yet") == MORE + 1


def test_a_branch_is_read_when_it_is_opened(cast: rows.Cast):
    smallest = communities(cast, 0)[-1]

    def asked(user: Any, **query: Any) -> Any:
        return client_of(user).get(address("topic_tree", cast), query)

    for member in (cast.alice, cast.bob):
        below = asked(member, parent=smallest.pk).content.decode()
        assert below.count('class="tree__row"') == PER_PAGE + 1
        assert f"{MORE} more</a>" in below
    rest = asked(cast.bob, parent=smallest.pk, page=2).content.decode()
    assert (rest.count('class="tree__row"'), "more</a>" in rest) == (MORE, False)
    assert asked(cast.bob, parent="x", page="x").status_code == 200
    assert asked(cast.charlie).status_code == 404
