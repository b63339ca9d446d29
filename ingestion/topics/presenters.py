"""What pages show of the map of topics: lines, circles and titles to draw, and the same as rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final
from uuid import UUID

from ingestion.topics import map as topic_maps
from ingestion.topics.map import Drawing, MapLink, MapTopic, TopicMap
from workspaces.models import Workspace

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
