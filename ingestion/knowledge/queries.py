"""Entities, and what is known about each: facts, claims, and where documents contradict."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    TextChoices,
    When,
)
from django.db.models.functions import Lower

from ingestion.knowledge import periods
from ingestion.knowledge.facts import EXTRACTIVE, Fact, FactFilter, fact_rows, facts_of
from ingestion.knowledge.spans import SourceSpan, span_of, spans_by_place, spans_of
from ingestion.models import (
    Alias,
    Claim,
    CommunityMember,
    CommunityReport,
    Document,
    Entity,
    Mention,
    TopicStanding,
)
from ingestion.models.knowledge import LISTED, TERMS
from ingestion.resolution.queries import DecisionView, LookAlike, decisions_about, look_alikes
from kb_project.errors import found
from kb_project.http.paging import MOST_COUNTED, counted_up_to
from kb_project.sql import run_sql
from workspaces.models import Workspace

CONCEPT: Final = "concept"
# Nationalities, languages, dates and names of unknown type say little about who or what matters.
UNTELLING: Final = TERMS | Q(type__in=("group", "language", "date", "time", "name"))
MOST_DOCUMENTS: Final = 108
"""Documents that an entity is shown with."""
MOST_CONFLICTING: Final = 20
"""Facts with contradictions that an entity's page shows."""


class Certainty(TextChoices):
    """How sure it is that an entity is what it seems."""

    CONFIRMED = "confirmed", "Confirmed or added by a person"
    SEVERAL = "several", "Found several times"
    ONCE = "once", "Found once"


CERTAINTIES: Final = {
    Certainty.CONFIRMED: Q(is_confirmed=True) | Q(is_made=True),
    Certainty.SEVERAL: Q(mention_count__gt=1, is_confirmed=False, is_made=False),
    Certainty.ONCE: Q(mention_count__lte=1, is_confirmed=False, is_made=False),
}


class EntityOrder(TextChoices):
    MENTIONS = "mentions", "Most mentioned"
    NAME = "name", "Name"
    LINKS = "links", "Most linked"
    NEWEST = "newest", "Newest"


ORDERS: Final = {
    EntityOrder.MENTIONS: ("-mention_count", "name", "pk"),
    EntityOrder.NAME: (Lower("name"), "pk"),
    EntityOrder.LINKS: ("-degree", "name", "pk"),
    EntityOrder.NEWEST: ("-created_at", "name", "pk"),
}


def entities(  # noqa: PLR0913  # a keyword for each filter
    *,
    workspace: Workspace,
    text: str = "",
    type_name: str = "",
    topic: uuid.UUID | None = None,
    document: uuid.UUID | None = None,
    certainty: str = "",
    order: str = "",
) -> QuerySet[Entity]:
    """Most mentioned first, unless ordered otherwise; ``text`` is searched in names and aliases.

    Terms are left out unless requested, by type or by ``text``; only those that recur or occur in a
    heading are listed.
    """
    has_terms = text or type_name == CONCEPT
    rows = Entity.objects.in_workspace(workspace)
    rows = rows.filter(LISTED) if has_terms else rows.exclude(TERMS)
    leaving = Entity.objects.in_workspace(workspace).filter(is_leaving=True)
    # Nearly always none: a condition on the column would keep lists from their indexes.
    if gone := list(leaving.values_list("pk", flat=True)):
        rows = rows.exclude(pk__among=gone)
    if text:
        rows = rows.filter(_called(workspace, text))
    if type_name:
        rows = rows.filter(type=type_name)
    if topic:
        members = CommunityMember.objects.in_workspace(workspace).filter(community=topic)
        rows = rows.filter(Exists(members.filter(entity=OuterRef("pk"))))
    if document:
        named = Mention.objects.in_workspace(workspace).filter(document=document)
        rows = rows.filter(Exists(named.filter(entity=OuterRef("pk"))))
    if certainty in CERTAINTIES:
        rows = rows.filter(CERTAINTIES[Certainty(certainty)])
    return rows.order_by(*ORDERS[EntityOrder(order or EntityOrder.MENTIONS)])


def _called(workspace: Workspace, text: str) -> Q:
    """Entities with a text in their name or an alias, sought once for a page and its count.

    Of a text that very many names have, a page is full long before all of them are found.
    """
    called = Alias.objects.in_workspace(workspace).filter(name__icontains=text)
    named = Entity.objects.in_workspace(workspace).filter(name__icontains=text)
    both = called.values_list("entity_id").union(named.values_list("pk"), all=True)
    ids = {one for (one,) in both[: 2 * MOST_COUNTED]}
    if len(ids) < MOST_COUNTED:
        return Q(pk__among=ids)
    return Q(name__icontains=text) | Q(Exists(called.filter(entity=OuterRef("pk"))))


# Each type is found from the one before it, and counted no further than ``most``.
TYPES: Final[LiteralString] = """
WITH RECURSIVE listed AS NOT MATERIALIZED (
    SELECT type FROM ingestion_entity
     WHERE workspace_id = %(workspace)s
       AND (NOT (type = 'concept' AND written_by = 'extractive' AND NOT is_made
                 AND NOT is_confirmed)
            OR chunk_count > 1 OR in_heading)
), kind (name) AS (
    (SELECT type FROM listed ORDER BY type LIMIT 1)
    UNION ALL
    SELECT (SELECT type FROM listed WHERE type > kind.name ORDER BY type LIMIT 1)
      FROM kind WHERE kind.name IS NOT NULL
)
SELECT name, (SELECT count(*) FROM (
           SELECT FROM listed WHERE listed.type = kind.name LIMIT %(most)s) AS counted)
  FROM kind WHERE name IS NOT NULL
"""


def entity_types(*, workspace: Workspace) -> list[tuple[str, int]]:
    """Types with their number of listed entities, up to ``MOST_COUNTED`` and one more; most
    frequent first."""
    rows = run_sql(TYPES, {"workspace": workspace.pk, "most": MOST_COUNTED + 1})
    return sorted(rows, key=lambda pair: (-pair[1], pair[0]))


def documents_to_choose(
    workspace: Workspace, most: int, chosen: uuid.UUID | None = None
) -> list[tuple[uuid.UUID, str]]:
    """Searched documents by title, with the chosen one even if there are too many to list."""
    rows = Document.objects.in_workspace(workspace)
    searched = rows.filter(Document.IS_LIVE).order_by("title", "pk")
    found = list(searched.values_list("pk", "title")[:most])
    if chosen and chosen not in {pk for pk, _ in found}:
        found += rows.filter(pk=chosen).values_list("pk", "title")
    return found


def terms_count(*, workspace: Workspace) -> int:
    """How many terms a list of all entities leaves out, up to ``MOST_COUNTED`` and one more."""
    rows = Entity.objects.in_workspace(workspace).filter(LISTED)
    return counted_up_to(rows.filter(type=CONCEPT).filter(TERMS))


@dataclass(frozen=True, slots=True)
class EntityView:
    """``documents`` is ``[(document, mentions), …]``, most mentions first, the first of
    ``documents_total``.

    ``facts`` and ``claims`` are the first of ``facts_total`` and ``claims_total``. ``conflicts``
    are those of the entity and of its facts. ``namesakes`` are other entities of the same name.
    """

    entity: Entity
    aliases: tuple[str, ...]
    description: tuple[SourceSpan, ...]
    facts: tuple[Fact, ...]
    facts_total: int
    documents: tuple[tuple[Document, int], ...]
    documents_total: int
    topics: tuple[CommunityReport, ...]
    claims: tuple[ClaimView, ...]
    claims_total: int
    conflicts: tuple[ConflictView, ...]
    decisions: tuple[DecisionView, ...]
    look_alikes: tuple[LookAlike, ...]
    namesakes: tuple[Entity, ...]

    @property
    def is_quoted(self) -> bool:
        """Whether the description consists of the documents' own sentences."""
        return self.entity.written_by == EXTRACTIVE


def entity_get(*, workspace: Workspace, entity_id: uuid.UUID) -> Entity:
    """Raises NotFoundError, also for an entity that is being merged into another or deleted."""
    rows = Entity.objects.in_workspace(workspace).filter(pk=entity_id, is_leaving=False)
    return found(rows.first(), "entity")


def entity_view(
    *,
    workspace: Workspace,
    entity_id: uuid.UUID,
    most_facts: int = 60,
    most_claims: int = 60,
    as_of: str = "",
) -> EntityView:
    """An entity with what is known about it, with sources; at a date, facts and claims that hold
    then. Raises NotFoundError."""
    entity = entity_get(workspace=workspace, entity_id=entity_id)
    aliases = entity.aliases.filter(workspace=workspace).exclude(name=entity.name)
    links = fact_rows(workspace, entity, FactFilter(as_of=as_of))
    facts = facts_of(workspace, entity, links[:most_facts]) if most_facts else []
    claims = claim_rows(workspace, entity, ClaimFilter(as_of=as_of))
    disputed = links.filter(~Q(conflicts=[]))[:MOST_CONFLICTING]
    stored = [*entity.conflicts, *(one for link in disputed for one in link.conflicts)]
    namesakes = Entity.objects.in_workspace(workspace).filter(key=entity.key).exclude(pk=entity.pk)
    return EntityView(
        entity=entity,
        aliases=tuple(aliases.order_by("name").values_list("name", flat=True).distinct()),
        description=tuple(spans_of(workspace, entity.description_sources)),
        facts=tuple(facts),
        facts_total=links.count(),
        documents=tuple(_documents_naming(workspace, entity)),
        documents_total=_mentions(workspace, entity).values("document_id").distinct().count(),
        topics=tuple(
            CommunityReport.objects.in_workspace(workspace)
            .filter(community__members__entity=entity, community__members__workspace=workspace)
            .select_related("community")
            .order_by("community__level")
        ),
        claims=tuple(claim_views(entity, claims[:most_claims])),
        claims_total=claims.count(),
        conflicts=tuple(conflicts_of(workspace, stored)),
        decisions=tuple(decisions_about(workspace=workspace, entity=entity)),
        look_alikes=tuple(look_alikes(workspace=workspace, entity=entity)),
        namesakes=tuple(namesakes.filter(mention_count__gt=0).order_by("sense")),
    )


def _documents_naming(workspace: Workspace, entity: Entity) -> list[tuple[Document, int]]:
    numbers = _mentions(workspace, entity).values_list("document_id").annotate(number=Count("*"))
    counts = dict(numbers.order_by("-number", "document_id")[:MOST_DOCUMENTS])
    rows = Document.objects.in_workspace(workspace).filter(pk__in=counts)
    return sorted(
        ((row, counts[row.pk]) for row in rows), key=lambda pair: (-pair[1], pair[0].title)
    )


def _mentions(workspace: Workspace, entity: Entity) -> QuerySet[Mention]:
    return Mention.objects.in_workspace(workspace).filter(entity=entity)


# --- claims and contradictions --------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim with its passage. ``other`` is the entity at its other end, if any."""

    claim: Claim
    other: Entity | None
    source: SourceSpan

    @property
    def period(self) -> str:
        """
        >>> ClaimView(Claim(period_start="1974", period_end=""), None, None).period
        'since 1974'
        """
        return periods.in_words(self.claim.period_start, self.claim.period_end)


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """What to list of an entity's claims: a type, a status, words of the text, dated ones only,
    those that hold at a date."""

    type: str = ""
    status: str = ""
    text: str = ""
    is_dated: bool = False
    as_of: str = ""


def claim_rows(
    workspace: Workspace, entity: Entity, wanted: ClaimFilter = ClaimFilter()
) -> QuerySet[Claim]:
    """Claims with the entity at either end, by type and time; dated ones by time alone."""
    rows = (
        Claim.objects.in_workspace(workspace)
        .filter(Q(subject=entity) | Q(object=entity))
        .select_related("subject", "object", "chunk__document")
    )
    given = {"type": wanted.type, "status": wanted.status, "description__icontains": wanted.text}
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    held = periods.holding(rows, wanted.as_of)
    if wanted.is_dated:
        held = held.exclude(period_start="", period_end="")
        return held.order_by(
            Case(When(period_start="", then=F("period_end")), default=F("period_start")), "id"
        )
    return held.order_by("type", "period_start", "description", "chunk_id", "start", "id")


def claim_views(entity: Entity, rows: Iterable[Claim]) -> list[ClaimView]:
    """These claims as seen from the entity, with their passages."""
    return [
        ClaimView(
            row,
            row.object if row.subject_id == entity.pk else row.subject,
            span_of(row),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class StatementView:
    """One of several contradictory statements, with its passage."""

    text: str
    source: SourceSpan


@dataclass(frozen=True, slots=True)
class ConflictView:
    reason: str
    statements: tuple[StatementView, ...]


def conflicts_of(workspace: Workspace, stored: Iterable[dict[str, Any]]) -> list[ConflictView]:
    """Stored contradictions, without statements whose passage is gone.

    One with fewer than two statements left is no longer a contradiction.
    """
    conflicts = list(stored)
    sources = [one for conflict in conflicts for one in conflict["statements"]]
    spans = spans_by_place(workspace, sources)
    views = [
        ConflictView(
            conflict["reason"],
            tuple(
                StatementView(one["text"], span)
                for one in conflict["statements"]
                if (span := spans.get((one["chunk"], one["start"], one["end"])))
            ),
        )
        for conflict in conflicts
    ]
    return [view for view in views if len(view.statements) > 1]


# --- how much it matters --------------------------------------------------------------------------
def documents_count(workspace: Workspace) -> int:
    """How many documents are searched, each of which might mention something."""
    return Document.objects.in_workspace(workspace).filter(Document.IS_LIVE).count()


def central_in(workspace: Workspace, entity: Entity) -> TopicStanding | None:
    """The broadest topic that the entity is among the most central of."""
    rows = TopicStanding.objects.in_workspace(workspace).filter(
        entity=entity, kind=TopicStanding.Kind.CENTRAL
    )
    return rows.order_by("community__level", "place").first()
