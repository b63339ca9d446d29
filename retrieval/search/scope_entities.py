"""Include names in a question, and exclude names from its results.

To *include* a name is to search for it too: its name is added to the question in every mode, and
passages that mention it are raised. To *exclude* a name is to leave out what is about it: a passage
that mentions it is not a hit, unless it also mentions an included name or one in the question
itself. Records go with their passages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from ingestion.models import Entity
from kb_project.errors import InputError
from kb_project.sql import run_sql
from retrieval.search import hybrid, scope_sql
from retrieval.search.found import Found, Point, Record, RecordKind
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.scope import Scope
from retrieval.search.scope_names import named_in

RAISED: Final = 150
"""Passages raised for mentioning included names."""


@dataclass(frozen=True, slots=True)
class Steering:
    """Included and excluded entities of the workspace: ids with names."""

    include: Mapping[UUID, str]
    exclude: Mapping[UUID, str]

    def asked(self, question: str) -> str:
        """Return the question to search for.

        >>> Steering({UUID(int=1): "Ada Lind"}, {}).asked("When was she born?")
        'When was she born? (Ada Lind)'
        """
        missing = [name for name in self.include.values() if name.lower() not in question.lower()]
        return f"{question} ({', '.join(missing)})" if missing else question


NOTHING: Final = Steering({}, {})


def resolved(workspace_id: UUID, scope: Scope) -> Steering:
    """Resolve the names. Raises InputError for one that is not in this workspace, or is both
    included and excluded."""
    if not (scope.include or scope.exclude):
        return NOTHING
    if set(scope.include) & set(scope.exclude):
        raise InputError(
            "The same name is both included and excluded.",
            code="invalid_scope",
            next_step="Remove it from one of the two filters.",
        )
    rows = Entity.objects.in_workspace(workspace_id).filter(pk__in=[*scope.include, *scope.exclude])
    names = dict(rows.values_list("pk", "name"))
    if any(pk not in names for pk in (*scope.include, *scope.exclude)):
        raise InputError(
            "A name in the filters is not, or no longer, in this workspace.",
            code="unknown_entity",
            next_step="Remove it from the filters and choose it again.",
        )
    return Steering(
        {pk: names[pk] for pk in scope.include}, {pk: names[pk] for pk in scope.exclude}
    )


def to_look_for(query: Query, steering: Steering) -> Query:
    """Return the query with the included names in its question, if there are any."""
    asked = steering.asked(query.question)
    if asked == query.question:
        return query
    return replace(query, question=asked, vector=QuestionVector(query.vector.embedder, asked))


def steered(query: Query, found: Found, steering: Steering) -> Found:
    """Apply the included and excluded names to what was found. Reads rows; in the workspace's
    scope."""
    if steering.include:
        found = replace(found, chunks=_raised(query, found, steering))
    if not steering.exclude:
        return found
    dropped = left_out(query, _passages(found))
    if not dropped:
        return found
    records = tuple(_records(found.records, dropped, steering))
    kept = {record.id for record in records}
    gone = {record.id for record in found.records} - kept
    return replace(
        found,
        chunks=[one for one in found.chunks if one.chunk_id not in dropped],
        records=records,
        points=tuple(_points(found.points, dropped, gone)),
    )


def _raised(query: Query, found: Found, steering: Steering) -> list[ScoredChunk]:
    """Fuse by rank what was found with the passages that mention the included names; of the latter,
    those found come first."""
    rows = run_sql(
        scope_sql.CHUNKS_NAMING,
        {
            "workspace": query.workspace_id,
            "documents": query.document_list,
            "entities": list(steering.include),
            "count": RAISED,
        },
    )
    ids = [chunk_id for (chunk_id,) in rows]
    ranks = {one.chunk_id: rank for rank, one in enumerate(found.chunks)}
    ids.sort(key=lambda chunk_id: ranks.get(chunk_id, len(ranks)))
    why = (f"Names “{'”, “'.join(steering.include.values())}”"[:200],)
    naming = [ScoredChunk(chunk_id, 0.0, why) for chunk_id in ids]
    return hybrid.fuse([found.chunks, naming])[: query.top_k]


def _passages(found: Found) -> list[UUID]:
    """Return every passage that anything found rests on."""
    ids = [one.chunk_id for one in found.chunks]
    ids += [chunk_id for record in found.records for chunk_id in record.sources]
    ids += [chunk_id for point in found.points for chunk_id in point.chunks]
    return list(dict.fromkeys(ids))


def left_out(query: Query, chunks: Sequence[UUID]) -> set[UUID]:
    """Return the passages that are about an excluded name; call in the workspace's scope."""
    if not query.exclude or not chunks:
        return set()
    named_too = {one.entity_id for one in named_in(query.workspace_id, query.question)}
    wanted = (set(query.include) | named_too) - set(query.exclude)
    rows = run_sql(
        scope_sql.ENTITIES_NAMED_IN,
        {
            "workspace": query.workspace_id,
            "chunks": list(chunks),
            "entities": [*query.exclude, *wanted],
        },
    )
    named: dict[UUID, set[UUID]] = {}
    for chunk_id, entity_id in rows:
        named.setdefault(chunk_id, set()).add(entity_id)
    excluded = set(query.exclude)
    return {chunk for chunk, names in named.items() if names & excluded and not names & wanted}


def _records(
    records: Iterable[Record], dropped: Collection[UUID], steering: Steering
) -> Iterable[Record]:
    """Yield the records that are not about an excluded name and still have a passage to rest on."""
    for record in records:
        sources = tuple(source for source in record.sources if source not in dropped)
        is_out = record.kind is RecordKind.ENTITY and record.id in steering.exclude
        if sources and not is_out:
            yield replace(record, sources=sources)


def _points(
    points: Iterable[Point], dropped: Collection[UUID], gone: Collection[UUID]
) -> Iterable[Point]:
    for point in points:
        chunks = tuple(chunk for chunk in point.chunks if chunk not in dropped)
        records = tuple(record for record in point.records if record not in gone)
        if chunks or records or not (point.chunks or point.records):
            yield replace(point, chunks=chunks, records=records)
