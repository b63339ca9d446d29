"""A topic as its page shows it: its ancestors, and its sentences with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.knowledge import topics
from ingestion.knowledge.spans import SourceSpan
from ingestion.knowledge.topics import FindingView, TopicNode, TopicView
from workspaces.models import Capability, Workspace


def topic_trail(tree: Sequence[TopicNode], community_id: object) -> list[TopicNode]:
    """Return the nodes from the root down to the community itself; empty if it does not exist.

    The walk is iterative, because the tree's depth is unbounded.
    """
    paths: list[list[TopicNode]] = [[node] for node in tree]
    while paths:
        path = paths.pop()
        if path[-1].community.pk == community_id:
            return path
        paths += [[*path, child] for child in path[-1].children]
    return []


@dataclass(frozen=True, slots=True)
class Numbered:
    """A sentence with its sources, each with its number."""

    text: str
    sources: tuple[tuple[int, SourceSpan], ...]


def numbered(views: Sequence[FindingView]) -> list[Numbered]:
    """Number the sources in order of appearance; equal places share a number."""
    numbers: dict[tuple[Any, int, int], int] = {}
    return [
        Numbered(
            view.finding.summary,
            tuple(
                (numbers.setdefault(_place(span), len(numbers) + 1), span) for span in view.sources
            ),
        )
        for view in views
    ]


def _place(span: SourceSpan) -> tuple[Any, int, int]:
    return span.document.pk, span.start, span.end


def unwritten(workspace: Workspace, view: TopicView | None = None) -> dict[str, Any]:
    """Build the context on reports that no model wrote: for one topic, or for all."""
    rows = topics.unwritten_reports(workspace=workspace)
    if view is not None:
        rows = rows.filter(community=view.community)
    return {
        "unwritten": rows.filter(community__is_changed=False).count(),
        "has_model": topics.has_chat_model(workspace=workspace),
        "may_curate": workspace.may(Capability.CURATE),
    }
