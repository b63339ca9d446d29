"""The tree of topics and their reports, and what changed in a topic between two visits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Window,
)
from django.db.models.functions import RowNumber

from ingestion.knowledge.facts import EXTRACTIVE
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import (
    Claim,
    Community,
    CommunityMember,
    CommunityReport,
    Entity,
    Finding,
    Relationship,
)
from ingestion.models.communities import SMALLEST_WRITTEN, other_topics_id
from kb_project.errors import found
from workspaces.models import Workspace
from workspaces.ports import settings_of, uses_installation

# --- topics ---------------------------------------------------------------------------------------
MOST_MEMBERS: Final = 40
MOST_PARTS: Final = 100
"""Sub-topics that a topic is shown with; ``topics_below`` has all of them."""


@dataclass(slots=True)
class TopicNode:
    """A community in the tree of topics; ``report`` is None until it is written.

    ``parts`` counts its sub-topics, of which ``children`` has those that were asked for.
    """

    community: Community
    report: CommunityReport | None
    children: list[TopicNode] = field(default_factory=list)
    parts: int = 0

    @property
    def is_rest(self) -> bool:
        """Whether it gathers what belongs to no topic."""
        return self.community.pk == other_topics_id(self.community.workspace_id)


def topics_below(*, workspace: Workspace, parent: UUID | None) -> QuerySet[Community]:
    """The topics right below one, or those of the first level: biggest first.

    "Other topics" comes last, however large it is.
    """
    rows = Community.objects.in_workspace(workspace)
    if parent is not None:
        return rows.filter(parent=parent).order_by("-size", "id")
    is_rest = ExpressionWrapper(Q(pk=other_topics_id(workspace.pk)), BooleanField())
    return rows.filter(level=0).order_by(is_rest, "-size", "id")


def topic_nodes(*, workspace: Workspace, communities: Iterable[Community]) -> list[TopicNode]:
    """These communities in their order, with their reports and numbers of sub-topics."""
    rows = list(communities)
    ids = [row.pk for row in rows]
    reports = CommunityReport.objects.in_workspace(workspace).filter(community__in=ids)
    written = {report.community_id: report for report in reports.defer("rating_reason")}
    below = Community.objects.in_workspace(workspace).filter(parent__in=ids)
    parts = dict(below.values_list("parent_id").annotate(number=Count("id")))
    return [TopicNode(row, written.get(row.pk), parts=parts.get(row.pk, 0)) for row in rows]


def with_largest_parts(
    *, workspace: Workspace, nodes: list[TopicNode], most: int
) -> list[TopicNode]:
    """Fill in the ``most`` largest sub-topics of each node; returns the nodes."""
    place = Window(RowNumber(), partition_by=[F("parent_id")], order_by=["-size", "id"])
    ids = [node.community.pk for node in nodes]
    below = Community.objects.in_workspace(workspace).filter(parent__in=ids)
    largest = below.annotate(place=place).filter(place__lte=most).order_by("-size", "id")
    above = {node.community.pk: node for node in nodes}
    for part in topic_nodes(workspace=workspace, communities=largest):
        if part.community.parent_id is not None:
            above[part.community.parent_id].children.append(part)
    return nodes


def topics_above(*, workspace: Workspace, community: Community) -> list[Community]:
    """From the topic of the first level down to the one right above, with a query a level."""
    rows = Community.objects.in_workspace(workspace)
    above: list[Community] = []
    parent = community.parent_id
    while parent is not None:
        above.append(rows.get(pk=parent))
        parent = above[-1].parent_id
    return above[::-1]


def topics_to_choose(
    workspace: Workspace, most: int, chosen: UUID | None = None
) -> list[tuple[UUID, str]]:
    """The largest topics of the first level, by id, with their titles; "Other topics" last.

    The chosen one is in the list even if it is not among them.
    """
    reports = CommunityReport.objects.in_workspace(workspace)
    is_rest = ExpressionWrapper(Q(community=other_topics_id(workspace.pk)), BooleanField())
    rows = reports.filter(community__level=0).order_by(is_rest, "-community__size", "title")
    found = list(rows.values_list("community_id", "title")[:most])
    if chosen and chosen not in {pk for pk, _ in found}:
        found += reports.filter(community=chosen).values_list("community_id", "title")
    return found


def best_rated(*, workspace: Workspace, most: int) -> list[CommunityReport]:
    """The reports of the topics of the first level with the best ratings."""
    rows = CommunityReport.objects.in_workspace(workspace).filter(community__level=0)
    rows = rows.exclude(community=other_topics_id(workspace.pk))
    return list(rows.order_by("-rating", "-community__size", "community_id")[:most])


@dataclass(frozen=True, slots=True)
class RecordReference:
    """A record that a model cited for a statement, and where to read more about it.

    ``entity`` is the one whose page shows the record; a report has ``community_id`` instead.
    """

    kind: str
    id: UUID
    label: str
    entity: Entity | None = None
    community_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class FindingView:
    """A statement of a report with its passages, and the records they were found through."""

    finding: Finding
    sources: tuple[SourceSpan, ...]
    references: tuple[RecordReference, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicView:
    """A community with its report; ``summary`` and ``findings`` carry their sources.

    ``children`` are the reports of its largest sub-topics, ``parts`` counts all sub-topics.
    """

    community: Community
    report: CommunityReport | None
    summary: tuple[FindingView, ...]
    findings: tuple[FindingView, ...]
    entities: tuple[Entity, ...]
    parent: CommunityReport | None
    children: tuple[CommunityReport, ...]
    parts: int

    @property
    def is_extractive(self) -> bool:
        return self.report is not None and self.report.written_by == EXTRACTIVE

    @property
    def is_small(self) -> bool:
        """Whether the topic is too small for a model to write about."""
        return self.community.size < SMALLEST_WRITTEN

    @property
    def not_kept(self) -> int:
        """References and findings of the model that were rejected."""
        return sum(self.report.rejected.values()) if self.report else 0

    @property
    def uncited(self) -> int:
        """Sentences of the summary without a supporting passage."""
        return sum(not view.sources for view in self.summary)


def community_get(*, workspace: Workspace, community_id: UUID) -> Community:
    """Raises NotFoundError."""
    rows = Community.objects.in_workspace(workspace)
    return found(rows.filter(pk=community_id).first(), "topic")


def has_chat_model(*, workspace: Workspace) -> bool:
    """Whether new reports are written by a model."""
    row = settings_of(workspace.pk)
    return bool(row and row.endpoint) or uses_installation(row)


def unwritten_reports(*, workspace: Workspace) -> QuerySet[CommunityReport]:
    """Reports a model could have written but did not: it failed, or there was none at the time."""
    rows = CommunityReport.objects.in_workspace(workspace).filter(written_by=EXTRACTIVE)
    if has_chat_model(workspace=workspace):
        return rows.filter(community__size__gte=SMALLEST_WRITTEN)
    return rows.filter(problem__isnull=False)


def topic_view(*, workspace: Workspace, community_id: UUID) -> TopicView:
    """Raises NotFoundError."""
    community = community_get(workspace=workspace, community_id=community_id)
    reports = CommunityReport.objects.in_workspace(workspace).select_related("community")
    report = reports.filter(community=community).first()
    below = topics_below(workspace=workspace, parent=community.pk)
    largest = [one.pk for one in below[:MOST_PARTS]]
    children = {one.community_id: one for one in reports.filter(community__in=largest)}
    members = CommunityMember.objects.in_workspace(workspace).filter(community=community)
    views = _findings(workspace, report) if report else []
    return TopicView(
        community=community,
        report=report,
        summary=tuple(view for view in views if view.finding.part == Finding.Part.SUMMARY),
        findings=tuple(view for view in views if view.finding.part == Finding.Part.FINDING),
        entities=tuple(
            Entity.objects.in_workspace(workspace)
            .filter(Exists(members.filter(entity=OuterRef("pk"))))
            .order_by("-rank", "-mention_count")[:MOST_MEMBERS]
        ),
        parent=reports.filter(community__children=community).first(),
        children=tuple(children[one] for one in largest if one in children),
        parts=below.count(),
    )


def _findings(workspace: Workspace, report: CommunityReport) -> list[FindingView]:
    rows = list(
        Finding.objects.in_workspace(workspace)
        .filter(report=report)
        .prefetch_related("evidence__chunk__document")
        .order_by("part", "ordinal")
    )
    known = _records(workspace, [given for row in rows for given in row.references])
    return [
        FindingView(
            row,
            tuple(span_of(place) for place in row.evidence.all()),
            tuple(known[given["id"]] for given in row.references if given["id"] in known),
        )
        for row in rows
    ]


def _records(
    workspace: Workspace, references: Iterable[Mapping[str, str]]
) -> dict[str, RecordReference]:
    """The records that still exist, by id, with one query per kind."""
    ids: dict[str, set[str]] = {}
    for given in references:
        ids.setdefault(given["kind"], set()).add(given["id"])
    entities = Entity.objects.in_workspace(workspace).filter(pk__in=ids.get("entity", ()))
    relationships = Relationship.objects.in_workspace(workspace).select_related("source", "target")
    claims = Claim.objects.in_workspace(workspace).select_related("subject")
    reports = CommunityReport.objects.in_workspace(workspace).filter(pk__in=ids.get("report", ()))
    records = [
        *(RecordReference("entity", row.pk, row.name, row) for row in entities),
        *(
            RecordReference(
                "relationship", row.pk, f"{row.source.name} → {row.target.name}", row.source
            )
            for row in relationships.filter(pk__in=ids.get("relationship", ()))
        ),
        *(
            RecordReference("claim", row.pk, f"Claim: {row.subject.name}", row.subject)
            for row in claims.filter(pk__in=ids.get("claim", ()))
        ),
        *(
            RecordReference("report", row.pk, row.title, community_id=row.community_id)
            for row in reports
        ),
    ]
    return {str(record.id): record for record in records}


# --- what changed ---------------------------------------------------------------------------------
VISIT: Final = timedelta(minutes=30)
"""A page opened again within this time is part of the same visit: what it listed stays."""
IDS: Final = ("entities", "versions", "facts")
NO_IDS: Final[frozenset[UUID]] = frozenset()


def digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class State:
    """A topic at one moment, by ids and digests.

    ``versions`` are those of the documents that name its entities, ``facts`` the relationships
    between its entities and the claims about them. ``title`` and ``report`` are digests of the
    report's title and summary, '' without one.
    """

    entities: frozenset[UUID] = NO_IDS
    versions: frozenset[UUID] = NO_IDS
    facts: frozenset[UUID] = NO_IDS
    title: str = ""
    report: str = ""

    def as_json(self) -> dict[str, Any]:
        ids = {name: sorted(str(one) for one in getattr(self, name)) for name in IDS}
        return {**ids, "title": self.title, "report": self.report}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> State:
        ids = {name: frozenset(map(UUID, stored.get(name, ()))) for name in IDS}
        return cls(**ids, title=stored.get("title", ""), report=stored.get("report", ""))

    @property
    def digest(self) -> str:
        return digest_of(json.dumps(self.as_json()))


@dataclass(frozen=True, slots=True)
class Changes:
    """What a topic has that it did not have, and the entities that left it."""

    joined: frozenset[UUID] = NO_IDS
    left: frozenset[UUID] = NO_IDS
    versions: frozenset[UUID] = NO_IDS
    facts: frozenset[UUID] = NO_IDS
    is_retitled: bool = False
    is_rewritten: bool = False

    @property
    def count(self) -> int:
        """The number of changes; a rewritten report is one, with its title."""
        several = (self.joined, self.left, self.versions, self.facts)
        return sum(map(len, several)) + int(self.is_retitled or self.is_rewritten)


def topic_changes(before: State, now: State) -> Changes:
    """Compare two states of a topic.

    A first report counts as rewritten: it is news. One that is missing does not.
    """
    return Changes(
        joined=now.entities - before.entities,
        left=before.entities - now.entities,
        versions=now.versions - before.versions,
        facts=now.facts - before.facts,
        is_retitled=bool(now.title) and now.title != before.title,
        is_rewritten=bool(now.report) and now.report != before.report,
    )


def is_new_visit(visited_at: datetime, now: datetime) -> bool:
    return now - visited_at > VISIT


def successor(
    members: Collection[UUID], topics: Mapping[UUID, Collection[UUID]], sizes: Mapping[UUID, int]
) -> UUID | None:
    """Return the topic to follow when the watched one is gone; None if no entity is left.

    It is the smallest that holds at least half of the entities that any topic still holds: the
    topics above it hold them too, among many others. ``topics`` maps each to entities it holds.
    """
    wanted = set(members)
    held = {topic: len(wanted.intersection(entities)) for topic, entities in topics.items()}
    left = len(wanted.intersection(set().union(*topics.values())))
    enough = [topic for topic, number in held.items() if number and 2 * number >= left]
    return min(enough, key=lambda one: (sizes[one], -held[one], one), default=None)
