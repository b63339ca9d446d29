"""What pages show of many topics: the tree beside them, and their map, drawn and as rows.

A workspace may have tens of thousands of topics, and a level or a topic thousands of them: only the
way to the topic on the page is open, and each level begins with its largest topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final
from uuid import UUID

from ingestion.knowledge.topics import TopicNode, topic_nodes, topics_above, topics_below
from ingestion.models import Community
from ingestion.topics import map as topic_maps
from ingestion.topics.map import Drawing, MapLink, MapTopic, TopicMap
from workspaces.models import Workspace

# --- the tree -------------------------------------------------------------------------------------
PER_PAGE: Final = 24
"""Topics of a level shown at a time, in the tree and on the page beside it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A topic in the tree; ``below`` are its sub-topics if they are shown."""

    node: TopicNode
    below: Level | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """Topics right below ``parent``, or of the first level; ``left`` counts those on later pages.

    ``extra`` is on a later page but shown here, since it is open.
    """

    branches: tuple[Branch, ...]
    parent: UUID | None
    page: int = 1
    left: int = 0
    extra: UUID | None = None

    @property
    def following(self) -> int:
        return self.page + 1


def open_tree(*, workspace: Workspace, community: Community | None = None) -> Level:
    """The first level, open down to a topic and its sub-topics; closed without one."""
    path = [*topics_above(workspace=workspace, community=community), community] if community else []
    return _opened(workspace, None, path)


def tree_level(
    *, workspace: Workspace, parent: UUID | None, page: int = 1, extra: UUID | None = None
) -> Level:
    """A page of a level with everything below it closed; ``extra`` is shown already."""
    rows = topics_below(workspace=workspace, parent=parent)
    total = rows.count()
    first = (page - 1) * PER_PAGE
    nodes = topic_nodes(workspace=workspace, communities=rows[first : first + PER_PAGE])
    branches = tuple(Branch(node) for node in nodes if node.community.pk != extra)
    return Level(branches, parent, page, max(0, total - first - PER_PAGE), extra)


def _opened(workspace: Workspace, parent: UUID | None, path: Sequence[Community]) -> Level:
    level = tree_level(workspace=workspace, parent=parent)
    if not path:
        return level
    below = _opened(workspace, path[0].pk, path[1:])
    branches = [
        Branch(one.node, below if below.branches else None)
        if one.node.community.pk == path[0].pk
        else one
        for one in level.branches
    ]
    if path[0].pk in {one.node.community.pk for one in branches}:
        return Level(tuple(branches), parent, left=level.left)
    [node] = topic_nodes(workspace=workspace, communities=path[:1])
    branches.append(Branch(node, below if below.branches else None))
    return Level(tuple(branches), parent, left=level.left - 1, extra=path[0].pk)


# --- the map --------------------------------------------------------------------------------------
CONNECTED: Final = 3
"""Connected topics that a row names."""
THICKEST: Final = 7
LEVELS: Final = ("Broadest topics", "Sub-topics", "Their sub-topics")


@dataclass(frozen=True, slots=True)
class Row:
    """A topic with those it is connected with most, each with the number of relationships."""

    topic: MapTopic
    connected: tuple[tuple[MapTopic, int], ...]


@dataclass(frozen=True, slots=True)
class Circle:
    """A topic as drawn, in whole units of the drawing; ``lines`` are its title's, with their y."""

    row: Row
    x: int
    y: int
    radius: int
    lines: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Line:
    x1: int
    y1: int
    x2: int
    y2: int
    thickness: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing for paper of one width."""

    name: str
    width: int
    height: int
    circles: tuple[Circle, ...]
    lines: tuple[Line, ...]


def map_context(
    *,
    workspace: Workspace,
    level: int = 0,
    within: UUID | None = None,
) -> dict[str, Any]:
    """Build the context of the map; empty if it would show fewer than two topics."""
    found = topic_maps.topic_map(workspace=workspace, level=level, within=within)
    if len(found.topics) < 2 and not level:
        return {}
    rows = rows_of(found)
    return {
        "map": found,
        "map_rows": rows,
        "map_pictures": [
            _picture("wide", rows, found, topic_maps.WIDE),
            _picture("narrow", rows, found, topic_maps.NARROW),
        ],
        "map_levels": levels_of(found) if within is None else [],
    }


def levels_of(found: TopicMap) -> list[tuple[int, str]]:
    """The levels to choose from, if there are several."""
    numbers = range(min(found.levels, len(LEVELS)))
    return [(number, LEVELS[number]) for number in numbers] if found.levels > 1 else []


def rows_of(found: TopicMap) -> list[Row]:
    known = {topic.id: topic for topic in found.topics}
    connected: defaultdict[UUID, list[tuple[MapTopic, int]]] = defaultdict(list)
    for link in found.links:
        connected[link.a].append((known[link.b], link.relationships))
        connected[link.b].append((known[link.a], link.relationships))
    return [Row(topic, tuple(connected[topic.id][:CONNECTED])) for topic in found.topics]


def _picture(name: str, rows: Sequence[Row], found: TopicMap, width: int) -> Picture:
    drawing = topic_maps.drawing(found.topics, width)
    return Picture(
        name,
        drawing.width,
        drawing.height,
        tuple(
            Circle(
                row,
                round(box.x),
                round(box.y),
                round(box.radius),
                tuple(
                    (text, round(box.y + box.radius + topic_maps.LINE_HEIGHT * (number + 0.8)))
                    for number, text in enumerate(box.lines)
                ),
            )
            for row, box in zip(rows, drawing.boxes, strict=True)
        ),
        tuple(_lines(found.topics, topic_maps.drawn(found.links), drawing)),
    )


def _lines(shown: Sequence[MapTopic], links: Sequence[MapLink], drawing: Drawing) -> list[Line]:
    boxes = {topic.id: box for topic, box in zip(shown, drawing.boxes, strict=True)}
    strongest = max((link.weight for link in links), default=0) or 1
    return [
        Line(
            round(boxes[link.a].x),
            round(boxes[link.a].y),
            round(boxes[link.b].x),
            round(boxes[link.b].y),
            1 + round((THICKEST - 1) * sqrt(link.weight / strongest)),
        )
        for link in links
    ]
