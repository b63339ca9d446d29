"""The tree of topics and their reports."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from ingestion.models import Community, CommunityReport, Entity, Finding
from ingestion.selectors.finding import found
from ingestion.selectors.spans import SourceSpan, span_of
from ingestion.topics import other_topics_id
from workspaces.models import Workspace


@dataclass(slots=True)
class TopicNode:
    """A community in the tree of topics; ``report`` is missing until it is written."""

    community: Community
    report: CommunityReport | None
    children: list[TopicNode] = field(default_factory=list)


def topic_tree(*, workspace: Workspace) -> list[TopicNode]:
    """The communities as a forest, biggest first, "Other topics" last, with two queries."""
    reports = {
        report.community_id: report
        for report in CommunityReport.objects.in_workspace(workspace).defer("rating_reason")
    }
    communities = Community.objects.in_workspace(workspace).order_by("level", "-size", "id")
    nodes = {row.pk: TopicNode(row, reports.get(row.pk)) for row in communities}
    roots: list[TopicNode] = []
    for node in nodes.values():
        parent = nodes.get(node.community.parent_id) if node.community.parent_id else None
        (parent.children if parent else roots).append(node)
    # What belongs nowhere else comes last, however much of it there is.
    rest = other_topics_id(workspace.pk)
    return sorted(roots, key=lambda node: node.community.pk == rest)


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    sources: tuple[SourceSpan, ...]


@dataclass(frozen=True, slots=True)
class TopicView:
    """A community with its report; ``summary`` and ``findings`` carry their sources."""

    community: Community
    report: CommunityReport | None
    summary: tuple[FindingView, ...]
    findings: tuple[FindingView, ...]
    entities: tuple[Entity, ...]
    parent: CommunityReport | None
    children: tuple[CommunityReport, ...]


def topic_view(*, workspace: Workspace, community_id: uuid.UUID) -> TopicView:
    """Raises NotFoundError."""
    community = found(
        Community.objects.in_workspace(workspace).filter(pk=community_id).first(), "topic"
    )
    reports = CommunityReport.objects.in_workspace(workspace).select_related("community")
    report = reports.filter(community=community).first()
    views = _findings(workspace, report) if report else []
    return TopicView(
        community=community,
        report=report,
        summary=tuple(view for view in views if view.finding.part == Finding.Part.SUMMARY),
        findings=tuple(view for view in views if view.finding.part == Finding.Part.FINDING),
        entities=tuple(
            Entity.objects.in_workspace(workspace)
            .filter(communities__community=community, communities__workspace=workspace)
            .order_by("-rank", "-mention_count")[:40]
        ),
        parent=reports.filter(community__children=community).first(),
        children=tuple(
            reports.filter(community__parent=community).order_by("-community__size", "id")
        ),
    )


def _findings(workspace: Workspace, report: CommunityReport) -> list[FindingView]:
    rows = (
        Finding.objects.in_workspace(workspace)
        .filter(report=report)
        .prefetch_related("evidence__chunk__document")
        .order_by("part", "ordinal")
    )
    return [
        FindingView(
            row, tuple(span_of(place.chunk, place.start, place.end) for place in row.evidence.all())
        )
        for row in rows
    ]
