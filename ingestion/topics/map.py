"""The map of topics: which topics it shows, how they are connected, and where they are drawn.

The server draws it, so it needs neither script nor WebGL. Each topic is where its entities are in
the explorer, moved apart until the titles can be read.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import cos, sin, sqrt
from typing import Final, LiteralString, NamedTuple
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from ingestion.knowledge.topics import TopicNode, topic_nodes
from ingestion.models import Community
from ingestion.models.communities import other_topics_id
from kb_project.sql import bulk_plans, run_sql
from workspaces.models import Workspace

# Topics on a map have few of the entities of a large workspace: an array of ids finds each row by
# its key, and hash joins, inside ``bulk_plans``, put them together.

# The middle of a topic's entities; connected ones count more.
PLACES: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT member.community_id,
       sum(position.x * (1 + entity.degree)) / sum(1 + entity.degree),
       sum(position.y * (1 + entity.degree)) / sum(1 + entity.degree)
FROM member
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = member.entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM member))
JOIN ingestion_entityposition AS position
  ON position.workspace_id = %(workspace)s AND position.entity_id = member.entity_id
 AND position.entity_id = ANY (ARRAY(SELECT entity_id FROM member))
GROUP BY member.community_id
"""

LINKS: Final[LiteralString] = """
WITH member AS MATERIALIZED (
    SELECT community_id, entity_id FROM ingestion_communitymember
    WHERE workspace_id = %(workspace)s AND community_id = ANY (%(topics)s::uuid[])
)
SELECT least(source.community_id, target.community_id),
       greatest(source.community_id, target.community_id), sum(link.weight), count(*)
FROM ingestion_relationship AS link
JOIN member AS source ON source.entity_id = link.source_id
JOIN member AS target ON target.entity_id = link.target_id
WHERE link.workspace_id = %(workspace)s
  AND link.source_id = ANY (ARRAY(SELECT entity_id FROM member))
  AND source.community_id <> target.community_id
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
"""

MOST: Final = 30
"""Topics on one map, the largest."""
LINES: Final = 3
"""Connections drawn of each topic, the strongest; the other end may draw more of them."""
HUES: Final = 8
"""As many as the explorer has, in the same order."""
NO_TITLE: Final = "A topic"

WIDE: Final = 760
NARROW: Final = 340
RADII: Final = (10, 44)
CHARACTER: Final = 7.2
LINE_HEIGHT: Final = 17
GAP: Final = 8
FILLED: Final = 0.5
"""Share of the map that circles and titles take before they are moved apart."""
ROUNDS: Final = 150
SPIRAL: Final = 0.04
ANGLE: Final = 2.4
"""Nearly the golden angle: no two turns are in line."""


@dataclass(frozen=True, slots=True)
class MapTopic:
    """A topic on the map. ``hue`` is its root topic's in the explorer, from 1."""

    id: UUID
    title: str
    size: int
    level: int
    hue: int
    parts: int
    x: float = 0
    y: float = 0


@dataclass(frozen=True, slots=True)
class MapLink:
    """The relationships between entities of two topics, with their number."""

    a: UUID
    b: UUID
    weight: float
    relationships: int


@dataclass(frozen=True, slots=True)
class TopicMap:
    """``total`` counts the topics there are, shown or not; ``levels`` those that can be chosen."""

    topics: tuple[MapTopic, ...] = ()
    links: tuple[MapLink, ...] = ()
    total: int = 0
    level: int = 0
    levels: int = 1


# --- what it shows --------------------------------------------------------------------------------
def topic_map(*, workspace: Workspace, level: int = 0, within: UUID | None = None) -> TopicMap:
    """Return the map of a level of the tree, or of the topics right below the one ``within``.

    A topic without sub-topics stays on the map of the levels below it. "Other topics" is on none:
    its entities belong nowhere; topics in it are on the map of their level.
    """
    communities = Community.objects.in_workspace(workspace)
    chosen = _on_map(workspace, level, within)
    shown = topic_nodes(workspace=workspace, communities=chosen.order_by("-size", "id")[:MOST])
    hues = _hues(workspace, [node.community for node in shown])
    values = {"workspace": workspace.pk, "topics": [node.community.pk for node in shown]}
    with bulk_plans():
        places = {topic: (x, y) for topic, x, y in run_sql(PLACES, values)}
        links = [MapLink(*row) for row in run_sql(LINKS, values)]
    deepest: int | None = communities.aggregate(Max("level"))["level__max"]
    return TopicMap(
        topics=tuple(_topic(node, hues, places) for node in shown),
        links=tuple(links),
        total=chosen.count(),
        level=level,
        levels=(deepest or 0) + 1,
    )


def _on_map(workspace: Workspace, level: int, within: UUID | None) -> QuerySet[Community]:
    communities = Community.objects.in_workspace(workspace)
    rows = communities.exclude(pk=other_topics_id(workspace.pk))
    if within is not None:
        return rows.filter(parent=within)
    is_above = Q(level__lt=level) & ~Exists(communities.filter(parent=OuterRef("pk")))
    return rows.filter(Q(level=level) | is_above) if level else rows.filter(level=0)


def _hues(workspace: Workspace, shown: Sequence[Community]) -> dict[UUID, int]:
    """The hue of each topic: that of its topic of the first level, with a query a level."""
    above = {one.pk: one for one in shown}
    while missing := {one.parent_id for one in above.values()} - above.keys() - {None}:
        found = Community.objects.in_workspace(workspace).filter(pk__in=missing)
        above |= {one.pk: one for one in found}
    roots = {}
    for one in shown:
        root = one
        while root.parent_id is not None:
            root = above[root.parent_id]
        roots[one.pk] = root.pk
    # The explorer numbers the roots by size, "Other topics" among them.
    place = Window(RowNumber(), order_by=["-size", "id"])
    ranked = Community.objects.in_workspace(workspace).filter(level=0).annotate(place=place)
    places = dict(ranked.filter(pk__in=set(roots.values())).values_list("pk", "place"))
    return {topic: (places[root] - 1) % HUES + 1 for topic, root in roots.items()}


def _topic(
    node: TopicNode, hues: Mapping[UUID, int], places: Mapping[UUID, tuple[float, float]]
) -> MapTopic:
    community = node.community
    return MapTopic(
        id=community.pk,
        title=node.report.title if node.report else NO_TITLE,
        size=community.size,
        level=community.level,
        hue=hues[community.pk],
        parts=node.parts,
        x=places.get(community.pk, (0.0, 0.0))[0],
        y=places.get(community.pk, (0.0, 0.0))[1],
    )


def drawn(links: Sequence[MapLink]) -> list[MapLink]:
    """Choose the connections to draw; ``links`` are the strongest first."""
    lines: dict[UUID, int] = {}
    chosen = []
    for link in links:
        if min(lines.get(link.a, 0), lines.get(link.b, 0)) < LINES:
            chosen.append(link)
            for end in (link.a, link.b):
                lines[end] = lines.get(end, 0) + 1
    return chosen


# --- where it is drawn ----------------------------------------------------------------------------
def columns(text: str) -> int:
    """
    >>> columns("Log"), columns("联络处")
    (3, 6)
    """
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


class Box(NamedTuple):
    """The circle of a topic with its title below: ``x`` and ``y`` are the circle's centre.

    ``half`` is half the width of both, ``height`` the height of both.
    """

    x: float
    y: float
    radius: float
    lines: tuple[str, ...]
    half: float
    height: float

    @property
    def middle(self) -> float:
        return self.y - self.radius + self.height / 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes in the order of the topics, on paper of this width and height."""

    width: int
    height: int
    boxes: tuple[Box, ...]


def drawing(topics: Sequence[MapTopic], width: int) -> Drawing:
    """Place topics on paper of a width: where they are to each other, without overlaps."""
    boxes = [_box(topic, topics, width) for topic in topics]
    if not boxes:
        return Drawing(width, 0, ())
    area = sum(2 * box.half * box.height for box in boxes)
    height = max(area / FILLED / width, max(box.height for box in boxes) + GAP)
    placed = _scaled(topics, boxes, width, height)
    for _ in range(ROUNDS):
        if not _push_apart(placed, width):
            break
    top = min(box.y - box.radius for box in placed) - GAP
    bottom = max(box.middle + box.height / 2 for box in placed)
    return Drawing(width, round(bottom - top), tuple(box._replace(y=box.y - top) for box in placed))


def _box(topic: MapTopic, topics: Sequence[MapTopic], width: int) -> Box:
    largest = max(one.size for one in topics) or 1
    least, most = RADII
    largest_radius = most if width >= WIDE else 0.7 * most
    radius = least + (largest_radius - least) * sqrt(topic.size / largest)
    # Ideographs are as wide as two letters.
    room = (20 if width >= WIDE else 16) * len(topic.title) // (columns(topic.title) or 1)
    wrapped = textwrap.wrap(topic.title, max(room, 4), max_lines=2, placeholder="…")
    lines = tuple(wrapped) or (NO_TITLE,)
    half = max(radius, *(CHARACTER * columns(line) / 2 for line in lines)) + GAP / 2
    return Box(0, 0, radius, lines, half, 2 * radius + LINE_HEIGHT * len(lines) + GAP)


def _scaled(
    topics: Sequence[MapTopic], boxes: Sequence[Box], width: float, height: float
) -> list[Box]:
    xs, ys = _shares([topic.x for topic in topics]), _shares([topic.y for topic in topics])
    # A spiral parts those without places, and those at the same one. On screens, y grows downwards.
    turns = [(SPIRAL * sqrt(turn), ANGLE * turn) for turn in range(len(topics))]
    xs = _shares([x + far * cos(angle) for x, (far, angle) in zip(xs, turns, strict=True)])
    ys = _shares([far * sin(angle) - y for y, (far, angle) in zip(ys, turns, strict=True)])
    return [
        box._replace(
            x=box.half + x * max(0.0, width - 2 * box.half),
            y=box.radius + y * max(0.0, height - box.height),
        )
        for x, y, box in zip(xs, ys, boxes, strict=True)
    ]


def _shares(values: Sequence[float]) -> list[float]:
    """
    >>> _shares([2.0, 6.0, 3.0]), _shares([5.0, 5.0])
    ([0.0, 1.0, 0.25], [0.0, 0.0])
    """
    least, spread = min(values), max(values) - min(values)
    return [(value - least) / (spread or 1.0) for value in values]


def _push_apart(boxes: list[Box], width: float) -> bool:
    """Move overlapping boxes apart, along the shorter way, within the width; say whether any did.

    Two at the same place are parted in the order of the topics, so equal input gives equal maps.
    """
    has_moved = False
    for i, j in combinations(range(len(boxes)), 2):
        one, other = boxes[i], boxes[j]
        x = one.half + other.half - abs(other.x - one.x)
        y = (one.height + other.height) / 2 - abs(other.middle - one.middle)
        # A hair's breadth is no overlap: exact comparisons would never settle.
        if x <= 0.5 or y <= 0.5:
            continue
        has_moved = True
        step = x / 2 if other.x >= one.x else -x / 2
        left, right = (
            _inside(one.x - step, one.half, width),
            _inside(other.x + step, other.half, width),
        )
        if x < y and abs(right - left) >= one.half + other.half - 0.5:
            boxes[i], boxes[j] = one._replace(x=left), other._replace(x=right)
        else:
            step = y / 2 if other.middle >= one.middle else -y / 2
            boxes[i] = one._replace(y=one.y - step)
            boxes[j] = other._replace(y=other.y + step)
    return has_moved


def _inside(x: float, half: float, width: float) -> float:
    return min(max(x, half), max(half, width - half))
