"""The tree beside topics: a page of each level that is open, and the others when they are opened.

A workspace may have tens of thousands of topics, and a level or a topic thousands of them: only the
way to the topic on the page is open, and each level begins with its largest topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ingestion.knowledge.topics import TopicNode, topic_nodes, topics_above, topics_below
from ingestion.models import Community
from workspaces.models import Workspace

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
