"""The entities and facts of an export, read batch by batch.

Call everything here in the workspace's scope, inside one transaction: rows come from a cursor of
the database, so that no more than a batch of them is in memory.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, LiteralString, TypeVar

from django.db.models import Exists, OuterRef, QuerySet

from ingestion.exchange import sql
from ingestion.knowledge import queries as knowledge
from ingestion.models import (
    Community,
    CommunityMember,
    Document,
    Entity,
    Evidence,
    Mention,
    Relationship,
)
from kb_project.errors import found
from kb_project.sql import run_sql
from workspaces.models import Workspace

BATCH: Final = 1000
MOST_EVIDENCE: Final = 100
"""Quotes exported of one fact, the best first; its count says how many there are."""
MOST_PREDICATES: Final = 50
PREDICATE_LENGTH: Final = 80
FACT_COLUMNS: Final = (
    *("pk", "source_id", "source__name", "source__type"),
    *("target_id", "target__name", "target__type"),
    *("keywords", "description", "weight", "is_made", "evidence_count"),
)
NODE_TYPES: Final[Mapping[str, str]] = {
    "name": "string",
    "type": "string",
    "aliases": "string",
    "description": "string",
    "written_by": "string",
    "mentions": "long",
    "origin": "string",
    "topics": "string",
}
EDGE_TYPES: Final[Mapping[str, str]] = {
    "predicates": "string",
    "description": "string",
    "weight": "double",
    "origin": "string",
    "evidence_count": "long",
    "evidence": "string",
}
"""The attributes of entities and of facts, with their types in XML."""
PERSON, DOCUMENTS = "person", "documents"
"""The origin of what a person made, and of what was found in documents."""

Value = str | int | float | list[Any]
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a graph to export: entities that match everything given, and facts among them.

    Of a ``document`` only the facts that it states. ``terms`` are listed too unless a list of
    entities leaves them out.
    """

    document: uuid.UUID | None = None
    topic: uuid.UUID | None = None
    entities: tuple[uuid.UUID, ...] = ()
    type: str = ""
    text: str = ""
    certainty: str = ""
    terms: bool = True

    @property
    def is_whole(self) -> bool:
        return self == Scope()

    @property
    def in_words(self) -> dict[str, Any]:
        """What it narrows down to, for the audit."""
        given = {
            "document": str(self.document or ""),
            "topic": str(self.topic or ""),
            "entities": len(self.entities),
            "type": self.type,
            "text": self.text,
            "certainty": self.certainty,
        }
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity as it is exported."""

    id: str
    name: str
    type: str
    aliases: list[str]
    description: str
    written_by: str
    mentions: int
    origin: str
    topics: list[str]

    @property
    def attributes(self) -> dict[str, Value]:
        """Its values by name, without those that are empty."""
        return _given(self, NODE_TYPES)


@dataclass(frozen=True, slots=True)
class FactRecord:
    """A relationship as it is exported; ``predicates`` name it in a few words each.

    ``evidence`` is ``[{"quote", "predicate", "kind", "document", "document_id", "version", "start",
    "end"}, …]``, offsets into the text of that version, with ``period_start`` and ``period_end``
    where the quote says when it holds.
    """

    id: str
    source: str
    source_name: str
    source_type: str
    target: str
    target_name: str
    target_type: str
    predicates: list[str]
    description: str
    weight: float
    origin: str
    evidence_count: int
    evidence: list[dict[str, Any]]

    @property
    def attributes(self) -> dict[str, Value]:
        """Its values by name, without its ends and those that are empty."""
        return _given(self, EDGE_TYPES)


def _given(record: EntityRecord | FactRecord, names: Iterable[str]) -> dict[str, Value]:
    values = ((name, getattr(record, name)) for name in names)
    return {name: value for name, value in values if value not in ("", [])}


# --- which ----------------------------------------------------------------------------------------
def entities_in(workspace: Workspace, scope: Scope) -> QuerySet[Entity]:
    """Return the entities of the scope. Raises NotFoundError for an unknown document or topic."""
    rows: QuerySet[Entity] = Entity.objects.in_workspace(workspace)
    if not scope.terms or scope.text:
        rows = knowledge.entities(
            workspace=workspace,
            text=scope.text,
            type_name=scope.type,
            certainty=scope.certainty,
        )
    elif scope.type:
        rows = rows.filter(type=scope.type)
    if scope.document:
        _exists(Document, workspace, scope.document, "document")
        mentions = Mention.objects.in_workspace(workspace)
        rows = rows.filter(Exists(mentions.filter(entity=OuterRef("pk"), document=scope.document)))
    if scope.topic:
        _exists(Community, workspace, scope.topic, "topic")
        members = CommunityMember.objects.in_workspace(workspace)
        rows = rows.filter(Exists(members.filter(entity=OuterRef("pk"), community=scope.topic)))
    if scope.entities:
        rows = rows.filter(pk__in=scope.entities)
    return rows.order_by("pk")


def facts_in(workspace: Workspace, scope: Scope) -> QuerySet[Relationship]:
    """Return the relationships among the scope's entities."""
    rows = Relationship.objects.in_workspace(workspace)
    if not scope.is_whole:
        inside = entities_in(workspace, scope).order_by().values("pk")
        rows = rows.filter(source__in=inside, target__in=inside)
    if scope.document:
        evidence = Evidence.objects.in_workspace(workspace)
        stated = evidence.filter(relationship=OuterRef("pk"), document=scope.document)
        rows = rows.filter(Exists(stated))
    return rows.order_by("pk")


def _exists(model: Any, workspace: Workspace, pk: uuid.UUID, what: str) -> None:
    found(model.objects.in_workspace(workspace).filter(pk=pk).first(), what)


# --- records --------------------------------------------------------------------------------------
def entity_records(workspace: Workspace, scope: Scope) -> Iterator[EntityRecord]:
    """Read the scope's entities, by id."""
    columns = ("pk", "name", "type", "description", "written_by", "mention_count", "is_made")
    rows = entities_in(workspace, scope).values_list(*columns, named=True)
    for batch in batches(rows.iterator(chunk_size=BATCH)):
        values = {"workspace": workspace.pk, "entities": [row.pk for row in batch]}
        aliases, topics = _lists(sql.ALIASES, values), _lists(sql.TOPICS, values)
        for row in batch:
            yield EntityRecord(
                id=str(row.pk),
                name=row.name,
                type=row.type,
                aliases=[name for name in aliases[row.pk] if name != row.name],
                description=row.description,
                written_by=row.written_by if row.description else "",
                mentions=row.mention_count,
                origin=PERSON if row.is_made else DOCUMENTS,
                topics=topics[row.pk],
            )


def fact_records(workspace: Workspace, scope: Scope) -> Iterator[FactRecord]:
    """Read the scope's facts, by id."""
    rows = facts_in(workspace, scope).values_list(*FACT_COLUMNS, named=True)
    for batch in batches(rows.iterator(chunk_size=BATCH)):
        values = {"workspace": workspace.pk, "facts": [row.pk for row in batch]}
        predicates = _lists(sql.PREDICATES, values)
        evidence = _evidence(values)
        for row in batch:
            yield _fact(row, predicates[row.pk], evidence[row.pk])


def _fact(row: Any, predicates: Sequence[str], evidence: list[dict[str, Any]]) -> FactRecord:
    return FactRecord(
        id=str(row.pk),
        source=str(row.source_id),
        source_name=row.source__name,
        source_type=row.source__type,
        target=str(row.target_id),
        target_name=row.target__name,
        target_type=row.target__type,
        predicates=predicates_of(predicates, row.keywords),
        description=row.description,
        weight=row.weight,
        origin=PERSON if row.is_made else DOCUMENTS,
        evidence_count=row.evidence_count,
        evidence=evidence,
    )


def predicates_of(predicates: Sequence[str], keywords: Sequence[str]) -> list[str]:
    """The words that name a fact: those of its sentences, the most frequent first, and keywords.

    They fit into keywords, as which an import keeps them.

    >>> predicates_of(["employs", "pays"], ["work", "pays"])
    ['employs', 'pays', 'work']
    """
    words = (" ".join(word.split()) for word in (*predicates, *keywords))
    short = (
        word if len(word) <= PREDICATE_LENGTH else f"{word[: PREDICATE_LENGTH - 1]}…"
        for word in words
    )
    return list(dict.fromkeys(word for word in short if word))[:MOST_PREDICATES]


def _evidence(values: dict[str, Any]) -> defaultdict[uuid.UUID, list[dict[str, Any]]]:
    quotes: defaultdict[uuid.UUID, list[dict[str, Any]]] = defaultdict(list)
    rows = run_sql(sql.EVIDENCE, {**values, "most": MOST_EVIDENCE})
    for fact, quote, predicate, kind, title, document, version, start, end, *period in rows:
        quotes[fact].append(
            {
                "quote": quote,
                "predicate": predicate,
                "kind": kind,
                "document": title,
                "document_id": str(document),
                "version": version,
                "start": start,
                "end": end,
                **_period(*period),
            }
        )
    return quotes


def _period(start: str, end: str) -> dict[str, str]:
    """When a statement holds, if it says so; an open end is ''."""
    return {"period_start": start, "period_end": end} if start or end else {}


def _lists(query: LiteralString, values: dict[str, Any]) -> defaultdict[uuid.UUID, list[str]]:
    lists: defaultdict[uuid.UUID, list[str]] = defaultdict(list)
    for one, value in run_sql(query, values):
        lists[one].append(value)
    return lists


def batches(rows: Iterable[_Row], size: int = BATCH) -> Iterator[list[_Row]]:
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch
