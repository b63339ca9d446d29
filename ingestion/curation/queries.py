"""What curators see before they merge, split or delete: cards, mentions, former entities."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, Value
from django.db.models.functions import Coalesce, NullIf

from ingestion.documents.reader.blocks import plain
from ingestion.history.queries import events
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import (
    Alias,
    Claim,
    Document,
    Entity,
    EntityRuling,
    HistoryEvent,
    Mention,
    NameChange,
    Relationship,
    SubjectKind,
)
from ingestion.pipeline import workspace_jobs
from ingestion.pipeline.workspace_jobs import JobProgress
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import entity_id as id_of_ref
from kb_project.errors import found
from workspaces.models import Workspace

QUOTES: Final = 2
AROUND: Final = 70
"""Characters of context on either side of a mention."""


# --- side by side ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class MentionInContext:
    """A mention with some words before and after it."""

    mention: Mention
    before: str
    after: str

    @property
    def span(self) -> SourceSpan:
        return span_of(self.mention)


@dataclass(frozen=True, slots=True)
class EntityCard:
    """An entity as shown beside others; ``quotes`` are mentions with their context."""

    entity: Entity
    aliases: tuple[str, ...]
    facts: int
    quotes: tuple[MentionInContext, ...]


def entity_cards(*, workspace: Workspace, entities: Sequence[Entity]) -> list[EntityCard]:
    aliases = aliases_of(workspace, entities)
    facts = fact_counts(workspace, [entity.pk for entity in entities])
    return [
        EntityCard(one, aliases[one.pk], facts[one.pk], tuple(_quotes(workspace, one)))
        for one in entities
    ]


def aliases_of(
    workspace: Workspace, entities: Iterable[Entity]
) -> dict[uuid.UUID, tuple[str, ...]]:
    """Return the other names of each entity, in alphabetical order."""
    shown = {entity.pk: entity.name for entity in entities}
    aliases: dict[uuid.UUID, list[str]] = {one: [] for one in shown}
    rows = Alias.objects.in_workspace(workspace).filter(entity__in=shown).order_by("name")
    for one, name in rows.values_list("entity_id", "name").distinct():
        if name != shown[one]:
            aliases[one].append(name)
    return {one: tuple(names) for one, names in aliases.items()}


def fact_counts(workspace: Workspace, ids: Collection[uuid.UUID]) -> Counter[uuid.UUID]:
    """Count the relationships of each entity."""
    rows = Relationship.objects.in_workspace(workspace).filter(
        Q(source__in=ids) | Q(target__in=ids)
    )
    ends = rows.values_list("source_id", "target_id")
    return Counter(end for pair in ends for end in pair)


def _quotes(workspace: Workspace, entity: Entity) -> list[MentionInContext]:
    """Return quotes from different documents first."""
    rows = (
        Mention.objects.in_workspace(workspace)
        .filter(entity=entity)
        .order_by("document_id", "start")
        .distinct("document_id")
        .select_related("chunk__document")[:QUOTES]
    )
    shown = list(rows)
    if len(shown) < QUOTES:
        more = Mention.objects.in_workspace(workspace).filter(entity=entity)
        more = more.exclude(chunk__in=[row.chunk_id for row in shown]).order_by("start")
        shown += more.select_related("chunk__document")[: QUOTES - len(shown)]
    return [line_of(row) for row in shown]


def line_of(mention: Mention) -> MentionInContext:
    text, begin = mention.chunk.text, mention.chunk.start
    start, end = mention.start - begin, mention.end - begin
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    if start > AROUND:
        before = f"…{before.partition(' ')[2] or before}"
    if end + AROUND < len(text):
        after = f"{after.rpartition(' ')[0] or after}…"
    return MentionInContext(mention, _on_one_line(before), _on_one_line(after))


def _on_one_line(text: str) -> str:
    """Strip Markdown and collapse whitespace; a space at either end stays, since it separates
    words.
    """
    inside = " ".join(plain(text).split())
    return f"{' ' * text[:1].isspace()}{inside}{' ' * text[-1:].isspace()}"


def relationship_get(*, workspace: Workspace, relationship_id: uuid.UUID) -> Relationship:
    """Return the relationship with its ends. Raises NotFoundError."""
    rows = Relationship.objects.in_workspace(workspace).select_related("source", "target")
    return found(rows.filter(pk=relationship_id).first(), "fact")


def claim_get(*, workspace: Workspace, claim_id: uuid.UUID) -> Claim:
    """Return the claim with its subject and passage. Raises NotFoundError."""
    rows = Claim.objects.in_workspace(workspace)
    rows = rows.select_related("subject", "object", "chunk__document")
    return found(rows.filter(pk=claim_id).first(), "claim")


# --- mentions -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PassageMentions:
    chunk_id: uuid.UUID
    lines: tuple[MentionInContext, ...]


@dataclass(frozen=True, slots=True)
class DocumentMentions:
    """An entity's mentions in a document. ``count`` covers all of them, ``passages``
    perhaps not.
    """

    document: Document
    count: int
    passages: tuple[PassageMentions, ...]


def mentions_by_document(
    *, workspace: Workspace, entity: Entity, most: int
) -> list[DocumentMentions]:
    """Return where an entity is mentioned, most mentions first; lines only for ``most``
    mentions.
    """
    rows = Mention.objects.in_workspace(workspace).filter(entity=entity)
    counts = dict(rows.values_list("document_id").annotate(number=Count("id")))
    documents = Document.objects.in_workspace(workspace).filter(pk__in=counts)
    shown: dict[uuid.UUID, dict[uuid.UUID, list[MentionInContext]]] = {}
    for row in rows.select_related("chunk__document").order_by("document_id", "start")[:most]:
        passages = shown.setdefault(row.document_id, {})
        passages.setdefault(row.chunk_id, []).append(line_of(row))
    return [
        DocumentMentions(
            document,
            counts[document.pk],
            tuple(
                PassageMentions(one, tuple(lines))
                for one, lines in shown.get(document.pk, {}).items()
            ),
        )
        for document in sorted(documents, key=lambda one: (-counts[one.pk], one.title))
    ]


def names_used(*, workspace: Workspace, entity: Entity) -> list[tuple[str, int]]:
    """Return its names as written, with the number of mentions, most frequent first."""
    rows = Mention.objects.in_workspace(workspace).filter(entity=entity)
    written = rows.annotate(name=Coalesce(NullIf("label", Value("")), "surface"))
    return list(
        written.values_list("name").annotate(number=Count("id")).order_by("-number", "name")
    )


# --- changes that a worker applies ----------------------------------------------------------------
def change_work(*, workspace: Workspace, entity: Entity) -> JobProgress | None:
    """Return how far a worker is with the latest change to an entity, None if all are applied."""
    if not NameChange.objects.in_workspace(workspace).exists():
        return None
    members = load_resolution(workspace.pk).members((entity.key, entity.sense))
    return workspace_jobs.change_work(workspace.pk, [key for key, _ in members])


# --- former entities ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class FormerEntity:
    """A former entity: its last name, what it resolves to now, and the last change to it."""

    entity_id: uuid.UUID
    name: str
    into: Entity | None
    event: HistoryEvent | None


def entity_gone(*, workspace: Workspace, entity_id: uuid.UUID) -> FormerEntity:
    """Return what became of an entity without a row. Raises NotFoundError if there
    never was one.
    """
    rows = events(workspace=workspace, subject_id=entity_id)
    past = list(rows.filter(subjects__kind=SubjectKind.ENTITY)[:50])
    into = _resolved(workspace, entity_id)
    if not past and into is None:
        found(None, "entity")
    named = (event.details.get("names", {}).get(str(entity_id)) for event in past)
    name = next((one for one in named if one), "")
    return FormerEntity(entity_id, name, into, past[0] if past else None)


def _resolved(workspace: Workspace, entity_id: uuid.UUID) -> Entity | None:
    for ref, (key, sense) in load_resolution(workspace.pk).refs.items():
        if id_of_ref(workspace.pk, *ref) == entity_id:
            return Entity.objects.in_workspace(workspace).filter(key=key, sense=sense).first()
    return None


def confirmed_in(*, workspace: Workspace, entity: Entity) -> HistoryEvent | None:
    """Return the event in which a person last confirmed it."""
    ruling = (
        EntityRuling.objects.in_workspace(workspace)
        .filter(
            key=entity.key,
            sense=entity.sense,
            field=EntityRuling.Field.CONFIRMED,
            undone_at=None,
        )
        .select_related("event__user")
        .order_by("-sequence")
        .first()
    )
    return ruling.event if ruling else None
