"""What curators see before they merge, split or delete: cards, mentions, former entities."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, Value
from django.db.models.functions import Coalesce, NullIf

from ingestion.documents.reader.inline import plain
from ingestion.history.queries import events
from ingestion.knowledge.spans import SourceSpan, span_of
from ingestion.models import (
    Alias,
    Document,
    Entity,
    EntityRuling,
    HistoryEvent,
    Mention,
    Relationship,
    SubjectKind,
)
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import entity_id as id_of_ref
from kb_project.errors import found
from workspaces.models import Workspace

QUOTES: Final = 2
AROUND: Final = 70
"""Characters of context on either side of a mention."""


# --- side by side ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class EntityCard:
    """An entity as shown beside others; ``quotes`` are mentions with their context."""

    entity: Entity
    aliases: tuple[str, ...]
    facts: int
    quotes: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A mention with some words before and after it."""

    mention: Mention
    before: str
    after: str

    @property
    def span(self) -> SourceSpan:
        return span_of(self.mention.chunk, self.mention.start, self.mention.end)


def entity_cards(*, workspace: Workspace, entities: Sequence[Entity]) -> list[EntityCard]:
    ids = [entity.pk for entity in entities]
    aliases: dict[uuid.UUID, list[str]] = {one: [] for one in ids}
    rows = Alias.objects.in_workspace(workspace).filter(entity__in=ids).order_by("name")
    for one, name in rows.values_list("entity_id", "name").distinct():
        aliases[one].append(name)
    facts = _fact_counts(workspace, ids)
    return [
        EntityCard(
            entity,
            tuple(name for name in aliases[entity.pk] if name != entity.name),
            facts[entity.pk],
            tuple(_quotes(workspace, entity)),
        )
        for entity in entities
    ]


def _fact_counts(workspace: Workspace, ids: Sequence[uuid.UUID]) -> Counter[uuid.UUID]:
    rows = Relationship.objects.in_workspace(workspace).filter(
        Q(source__in=ids) | Q(target__in=ids)
    )
    ends = rows.values_list("source_id", "target_id")
    return Counter(end for pair in ends for end in pair)


def _quotes(workspace: Workspace, entity: Entity) -> list[Line]:
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


def line_of(mention: Mention) -> Line:
    text, begin = mention.chunk.text, mention.chunk.start
    start, end = mention.start - begin, mention.end - begin
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    if start > AROUND:
        before = f"…{before.partition(' ')[2] or before}"
    if end + AROUND < len(text):
        after = f"{after.rpartition(' ')[0] or after}…"
    return Line(mention, _on_one_line(before), _on_one_line(after))


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


# --- mentions -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Passage:
    chunk_id: uuid.UUID
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class DocumentMentions:
    """An entity's mentions in a document. ``count`` covers all of them, ``passages``
    perhaps not.
    """

    document: Document
    count: int
    passages: tuple[Passage, ...]


def mentions_by_document(
    *, workspace: Workspace, entity: Entity, most: int
) -> list[DocumentMentions]:
    """Return where an entity is mentioned, most mentions first; lines only for ``most``
    mentions.
    """
    rows = Mention.objects.in_workspace(workspace).filter(entity=entity)
    counts = dict(rows.values_list("document_id").annotate(number=Count("id")))
    documents = Document.objects.in_workspace(workspace).filter(pk__in=counts)
    shown: dict[uuid.UUID, dict[uuid.UUID, list[Line]]] = {}
    for row in rows.select_related("chunk__document").order_by("document_id", "start")[:most]:
        passages = shown.setdefault(row.document_id, {})
        passages.setdefault(row.chunk_id, []).append(line_of(row))
    return [
        DocumentMentions(
            document,
            counts[document.pk],
            tuple(Passage(one, tuple(lines)) for one, lines in shown.get(document.pk, {}).items()),
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


# --- former entities ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Gone:
    """A former entity: its last name, what it is read as now, and the last change to it."""

    entity_id: uuid.UUID
    name: str
    into: Entity | None
    event: HistoryEvent | None


def entity_gone(*, workspace: Workspace, entity_id: uuid.UUID) -> Gone:
    """Return what became of an entity without a row. Raises NotFoundError if there
    never was one.
    """
    rows = events(workspace=workspace, subject_id=entity_id)
    past = list(rows.filter(subjects__kind=SubjectKind.ENTITY)[:50])
    into = _read_as(workspace, entity_id)
    if not past and into is None:
        found(None, "entity")
    named = (event.details.get("names", {}).get(str(entity_id)) for event in past)
    name = next((one for one in named if one), "")
    return Gone(entity_id, name, into, past[0] if past else None)


def _read_as(workspace: Workspace, entity_id: uuid.UUID) -> Entity | None:
    reading = load_reading(workspace.pk, [])
    for ref, read in reading.refs.items():
        if id_of_ref(workspace.pk, *ref) == entity_id:
            return Entity.objects.in_workspace(workspace).filter(key=read[0], sense=read[1]).first()
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
