"""Topics that a member watches: where each is now, and what changed in it.

The rows belong to the workspace that has the member. The topics are read where the member reads:
in the workspace, or in an edition of it (``workspaces.editions``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from ingestion.knowledge import sql
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.knowledge.topics import (
    Changes,
    State,
    digest_of,
    is_new_visit,
    successor,
    topic_changes,
)
from ingestion.models import (
    Claim,
    Community,
    CommunityReport,
    DocumentVersion,
    Entity,
    Evidence,
    Relationship,
    TopicWatch,
)
from kb_project.sql import bulk_plans, run_sql
from workspaces import access, editions
from workspaces.models import Workspace

Watches = QuerySet[TopicWatch]
SHOWN: Final = 12
"""Changes of one kind that are listed; the others are counted."""
NAMES_KEPT: Final = 200
NOTHING: Final = State()
NO_CHANGES: Final = Changes()


@dataclass(frozen=True, slots=True)
class WatchedTopic:
    """A watch with what changed since the member last opened the topic.

    ``state`` is empty in a list of all watched topics, where nothing changed.

    ``topic`` is where most of its entities are, if the watched topic is gone; None if no topic
    holds any of them. ``is_elsewhere`` says that the member's access to collections changed since:
    what was seen cannot be compared then, and counts as unchanged.
    """

    watch: TopicWatch
    topic: UUID | None = None
    title: str = ""
    state: State = NOTHING
    changes: Changes = NO_CHANGES
    is_elsewhere: bool = False
    signature: str = ""

    @property
    def has_moved(self) -> bool:
        return self.topic is not None and self.topic != self.watch.topic


# --- the member's watches -------------------------------------------------------------------------
def watch_rows(workspace: Workspace) -> Watches:
    """The watches of the member who passed the gate; read them ``at_home``."""
    member = workspace.membership.pk if workspace.membership else None
    rows = TopicWatch.objects.in_workspace(editions.source_id(workspace.pk))
    return rows.filter(membership=member).order_by("created_at", "id")


def at_home(workspace: Workspace) -> AbstractContextManager[None]:
    """Open the scope of the workspace that has the members."""
    return access.within(editions.source_id(workspace.pk))


def watched(workspace: Workspace, rows: Sequence[TopicWatch] | None = None) -> list[WatchedTopic]:
    """The member's watched topics, most changes first; only those of ``rows``, if given."""
    same: list[WatchedTopic] = []
    if rows is None:
        same, rows = _unchanged(workspace)
    return sorted(
        [*same, *_changed(workspace, rows)],
        key=lambda one: (-one.changes.count, one.title, one.watch.pk),
    )


def _unchanged(workspace: Workspace) -> tuple[list[WatchedTopic], list[TopicWatch]]:
    """Return the member's watched topics in which nothing changed, and the other watches."""
    with at_home(workspace):
        rows = list(watch_rows(workspace).defer("seen", "latest", "names"))
    if not rows:
        return [], []
    now = signatures_of(workspace, [row.topic for row in rows])
    same = [
        row for row in rows if row.place == workspace.pk and row.signature == now.get(row.topic)
    ]
    titles = titles_of(workspace, [row.topic for row in same])
    with at_home(workspace):
        others = list(watch_rows(workspace).exclude(pk__in=[row.pk for row in same]))
    return [WatchedTopic(row, row.topic, titles.get(row.topic, "")) for row in same], others


def _changed(workspace: Workspace, rows: Sequence[TopicWatch]) -> list[WatchedTopic]:
    if not rows:
        return []
    topics = located(workspace, rows)
    there = [topic for topic in topics.values() if topic]
    # Before the states: a change in between is found, not missed.
    signatures = signatures_of(workspace, there)
    states, titles = states_of(workspace, there), titles_of(workspace, there)
    found = (_compared(workspace, row, topics[row.pk], states, titles) for row in rows)
    return [replace(one, signature=signatures.get(one.topic, "")) for one in found]


def _compared(
    workspace: Workspace,
    row: TopicWatch,
    topic: UUID | None,
    states: dict[UUID, State],
    titles: dict[UUID, str],
) -> WatchedTopic:
    is_elsewhere = row.place != workspace.pk
    if topic is None:
        return WatchedTopic(row, is_elsewhere=is_elsewhere)
    state = states[topic]
    before = state if is_elsewhere else State.from_json(row.latest)
    changes = topic_changes(before, state)
    return WatchedTopic(row, topic, titles.get(topic, ""), state, changes, is_elsewhere)


def located(workspace: Workspace, rows: Sequence[TopicWatch]) -> dict[UUID, UUID | None]:
    """Return the topic of each watch, by the watch's id: its own, or the one to follow."""
    missing = gone(workspace, rows)
    followed = _successors(workspace, [row for row in rows if row.topic in missing])
    return {row.pk: row.topic for row in rows} | followed


def gone(workspace: Workspace, rows: Sequence[TopicWatch]) -> set[UUID]:
    """Return the ids of watched topics that are not where the member reads."""
    ids = {row.topic for row in rows}
    there = Community.objects.in_workspace(workspace).filter(pk__in=ids)
    return ids.difference(there.values_list("pk", flat=True))


def _successors(workspace: Workspace, rows: Sequence[TopicWatch]) -> dict[UUID, UUID | None]:
    if not rows:
        return {}
    members = {row.pk: _members(workspace, row) for row in rows}
    holding: defaultdict[UUID, set[UUID]] = defaultdict(set)
    sizes: dict[UUID, int] = {}
    entities = list(set().union(*members.values()))
    values = {"workspace": workspace.pk, "entities": entities}
    for topic, entity, size in run_sql(sql.HOLDING, values):
        holding[topic].add(entity)
        sizes[topic] = size
    return {row.pk: successor(members[row.pk], holding, sizes) for row in rows}


def _members(workspace: Workspace, row: TopicWatch) -> frozenset[UUID]:
    """The entities to look for: those last seen; in another edition, those of the same names."""
    if row.place == workspace.pk:
        return State.from_json(row.latest).entities
    values = {"workspace": workspace.pk, "names": row.names}
    return frozenset(entity for (entity,) in run_sql(sql.OF_NAMES, values))


# --- states ---------------------------------------------------------------------------------------
def states_of(workspace: Workspace, topics: Iterable[UUID]) -> dict[UUID, State]:
    """The state of each topic now, with four statements for all."""
    ids = list(topics)
    values: dict[str, object] = {"workspace": workspace.pk, "topics": ids}
    with bulk_plans():
        entities, versions, facts = (
            _grouped(statement, values) for statement in (sql.MEMBERS, sql.VERSIONS, sql.FACTS)
        )
    reports = CommunityReport.objects.in_workspace(workspace).filter(community__in=ids)
    texts = {row.community_id: row for row in reports.only("community_id", "title", "summary")}
    return {
        topic: State(
            entities=frozenset(entities[topic]),
            versions=frozenset(versions[topic]),
            facts=frozenset(facts[topic]),
            title=digest_of(texts[topic].title) if topic in texts else "",
            report=digest_of(texts[topic].summary) if topic in texts else "",
        )
        for topic in ids
    }


def _grouped(statement: LiteralString, values: dict[str, object]) -> defaultdict[UUID, set[UUID]]:
    found: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for topic, one in run_sql(statement, values):
        found[topic].add(one)
    return found


def signatures_of(workspace: Workspace, topics: Sequence[UUID]) -> dict[UUID | None, str]:
    """A digest of the state of each topic that exists, made by the database."""
    with bulk_plans():
        values = {"workspace": workspace.pk, "topics": list(topics)}
        return dict(run_sql(sql.SIGNATURES, values))


def titles_of(workspace: Workspace, topics: Iterable[UUID]) -> dict[UUID, str]:
    rows = CommunityReport.objects.in_workspace(workspace).filter(community__in=list(topics))
    return dict(rows.values_list("community_id", "title"))


def names_of(workspace: Workspace, topic: UUID) -> list[str]:
    """Digests of the names of a topic's highest-ranked entities."""
    values = {"workspace": workspace.pk, "topic": topic, "most": NAMES_KEPT}
    return [name for (name,) in run_sql(sql.NAMES, values)]


# --- what changed, in rows ------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class NewDocument:
    """A version that names entities of the topic; ``is_revision`` if an earlier one did."""

    version: DocumentVersion
    is_revision: bool


@dataclass(frozen=True, slots=True)
class NewFact:
    """A relationship, with ``target``, or a claim, and its best passage; a person's has none."""

    source: Entity
    target: Entity | None
    text: str
    span: SourceSpan | None


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Changes since a visit, each kind counted in ``changes`` and its first ones listed.

    ``left`` are entities in other topics now; ``gone`` counts those that no document names any
    more. ``has_moved`` and ``is_elsewhere`` say why the comparison is not with the same topic.
    """

    since: datetime
    changes: Changes
    joined: tuple[Entity, ...] = ()
    left: tuple[Entity, ...] = ()
    gone: int = 0
    documents: tuple[NewDocument, ...] = ()
    facts: tuple[NewFact, ...] = ()
    has_moved: bool = False
    is_elsewhere: bool = False


def before_visit(watch: TopicWatch, now: datetime) -> tuple[State, datetime]:
    """What the member had seen when this visit began, and when."""
    if is_new_visit(watch.visited_at, now):
        return State.from_json(watch.latest), watch.visited_at
    return State.from_json(watch.seen), watch.seen_at


def change_list(
    workspace: Workspace, found: WatchedTopic, now: datetime | None = None
) -> ChangeList:
    """What changed in a watched topic since the visit before this one, with sources."""
    before, since = before_visit(found.watch, now or timezone.now())
    is_elsewhere = found.is_elsewhere
    changes = topic_changes(found.state if is_elsewhere else before, found.state)
    entities = Entity.objects.in_workspace(workspace).order_by("-rank", "-mention_count", "name")
    left = entities.filter(pk__in=changes.left)
    has_moved = found.has_moved or (found.watch.moved_at or since) > since
    return ChangeList(
        since=since,
        changes=changes,
        joined=tuple(entities.filter(pk__in=changes.joined)[:SHOWN]) if changes.joined else (),
        left=tuple(left[:SHOWN]) if changes.left else (),
        gone=len(changes.left) - left.count() if changes.left else 0,
        documents=_documents(workspace, changes, before) if changes.versions else (),
        facts=_facts(workspace, changes) if changes.facts else (),
        has_moved=has_moved,
        is_elsewhere=is_elsewhere,
    )


def _documents(workspace: Workspace, changes: Changes, before: State) -> tuple[NewDocument, ...]:
    rows = DocumentVersion.objects.in_workspace(workspace)
    known = set(rows.filter(pk__in=before.versions).values_list("document_id", flat=True))
    new = rows.filter(pk__in=changes.versions).select_related("document").defer("text")
    newest = new.order_by("-created_at", "document__title", "id")[:SHOWN]
    return tuple(NewDocument(row, row.document_id in known) for row in newest)


def _facts(workspace: Workspace, changes: Changes) -> tuple[NewFact, ...]:
    links = (
        Relationship.objects.in_workspace(workspace)
        .filter(pk__in=changes.facts)
        .select_related("source", "target")
        .order_by("-weight", "id")[:SHOWN]
    )
    found = [*_linked(workspace, list(links))]
    claims = (
        Claim.objects.in_workspace(workspace)
        .filter(pk__in=changes.facts)
        .select_related("subject", "chunk__document")
        .order_by("type", "id")[: SHOWN - len(found)]
    )
    said = (NewFact(row.subject, None, row.description, span_of(row)) for row in claims)
    return (*found, *said)


def _linked(workspace: Workspace, links: Sequence[Relationship]) -> Iterable[NewFact]:
    evidence = (
        Evidence.objects.in_workspace(workspace)
        .filter(relationship__in=[link.pk for link in links])
        .select_related("chunk__document")
        .order_by("relationship_id", "kind", "-strength", "chunk_id", "start")
        .distinct("relationship_id")
    )
    best = {row.relationship_id: row for row in evidence}
    for link in links:
        row = best.get(link.pk)
        span = span_of(row) if row else None
        yield NewFact(link.source, link.target, row.predicate if row else "", span)
