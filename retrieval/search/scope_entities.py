"""Find the names in a text; include names in a question, and exclude names from its results.

To *include* a name is to search for it too: its name is added to the question in every mode, and
passages that mention it are raised. To *exclude* a name is to leave out what is about it: a passage
that mentions it is not a hit, unless it also mentions an included name or one in the question
itself. Records go with their passages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from ingestion.models import Entity
from kb_project.errors import InputError
from kb_project.sql import run_sql
from kb_project.text.names import LONGEST_NAME, name_runs, normalise_name
from kb_project.text.words import Word, is_unspaced, terms, words
from retrieval.search import as_of, hybrid, sql
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import ModeResult, Point, Record, RecordKind
from retrieval.search.scope import Scope

LONGEST_TEXT: Final = 8_000
"""Characters of a text that are searched."""
RAISED: Final = 150
"""Passages raised for mentioning included names."""
_ARTICLES: Final = ("the", "a", "an")


@dataclass(frozen=True, slots=True)
class Named:
    """An entity named in a text; ``surface`` is its spelling there."""

    entity_id: UUID
    name: str
    type: str
    surface: str


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A run of characters that may be a name; ``key`` is from ``normalise_name``."""

    start: int
    stop: int
    key: str


def named_in(workspace_id: UUID, text: str) -> list[Named]:
    """Return the names in text order, each entity once. Call in the workspace's scope.

    Of several entities with the same name, the most mentioned one. Unlike
    ``kb_project.graph.walk.names_in`` this needs no snapshot: one small query per text.
    """
    text = text[:LONGEST_TEXT]
    spans = list(name_spans(text))
    keys = sorted({span.key for span in spans})
    rows = run_sql(sql.ENTITIES_OF_KEYS, {"workspace": workspace_id, "keys": keys})
    known = {key: (entity_id, name, kind) for key, entity_id, name, kind in rows}
    found: dict[UUID, Named] = {}
    for span in longest([span for span in spans if span.key in known]):
        entity_id, name, kind = known[span.key]
        surface = text[span.start : span.stop]
        found.setdefault(entity_id, Named(entity_id, name, kind, surface))
    return list(found.values())


def name_spans(text: str) -> Iterator[NameSpan]:
    """Yield every run that may be a name: capitalised or with a digit, unless all is lower case.

    >>> [span.key for span in name_spans("Who kept Skarrow Light?")]
    ['skarrow light', 'skarrow', 'light']
    """
    found = list(words(text))
    is_lower = not any(text[word.start].isupper() for word in found[1:])
    for first, stop, key in name_runs(found):
        run = found[first:stop]
        if stop == first + 1 and is_unspaced(run[0].folded):
            yield from _inside(text, run[0])
        elif terms(key) and (is_lower or _is_name(text, run)):  # "who" is not The Who
            yield NameSpan(run[0].start, run[-1].end, key)


def longest(spans: Sequence[NameSpan]) -> list[NameSpan]:
    """Drop spans that lie inside another, or overlap one that begins earlier."""
    kept: list[NameSpan] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.stop)):
        if not kept or span.start >= kept[-1].stop:
            kept.append(span)
    return kept


def _is_name(text: str, run: Sequence[Word]) -> bool:
    """Return whether the run begins and ends with words of a name: no "Was Ada", no "Ada kept"."""
    telling = [word for word in run if word.folded not in _ARTICLES]
    return bool(telling) and all(
        not text[word.start : word.end].islower() and terms(text[word.start : word.end])
        for word in (telling[0], telling[-1])
    )


def _inside(text: str, word: Word) -> Iterator[NameSpan]:
    """Yield runs of two or more characters, in a script without spaces."""
    for start in range(word.start, word.end - 1):
        for stop in range(start + 2, min(word.end, start + LONGEST_NAME) + 1):
            if key := normalise_name(text[start:stop]):
                yield NameSpan(start, stop, key)


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


def steered(query: Query, found: ModeResult, steering: Steering) -> ModeResult:
    """Apply the included and excluded names, and the date, to what was found; call in the
    workspace's scope."""
    if steering.include:
        found = replace(found, chunks=_raised(query, found, steering))
    if not (steering.exclude or query.as_of):
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


def _raised(query: Query, found: ModeResult, steering: Steering) -> list[ScoredChunk]:
    """Fuse by rank what was found with the passages that mention the included names; of the latter,
    those found come first."""
    parameters = query.parameters(entities=list(steering.include), count=RAISED)
    ids = [chunk_id for (chunk_id,) in run_sql(sql.CHUNKS_NAMING, parameters)]
    ranks = {one.chunk_id: rank for rank, one in enumerate(found.chunks)}
    ids.sort(key=lambda chunk_id: ranks.get(chunk_id, len(ranks)))
    why = (f"Names “{'”, “'.join(steering.include.values())}”"[:200],)
    naming = [ScoredChunk(chunk_id, 0.0, why) for chunk_id in ids]
    return hybrid.fuse([found.chunks, naming])[: query.top_k]


def _passages(found: ModeResult) -> list[UUID]:
    """Return every passage that anything found rests on."""
    ids = [one.chunk_id for one in found.chunks]
    ids += [chunk_id for record in found.records for chunk_id in record.sources]
    ids += [chunk_id for point in found.points for chunk_id in point.chunks]
    return list(dict.fromkeys(ids))


def left_out(query: Query, chunks: Sequence[UUID]) -> set[UUID]:
    """Return the passages that are about an excluded name, or dated otherwise than the question;
    call in the workspace's scope."""
    return _about_excluded(query, chunks) | as_of.not_holding(query, chunks)


def _about_excluded(query: Query, chunks: Sequence[UUID]) -> set[UUID]:
    if not query.exclude or not chunks:
        return set()
    named_too = {one.entity_id for one in named_in(query.workspace_id, query.question)}
    wanted = (set(query.include) | named_too) - set(query.exclude)
    excluded = set(query.exclude)
    parameters = query.parameters(chunks=list(chunks), entities=[*excluded, *wanted])
    named: dict[UUID, set[UUID]] = {}
    for chunk_id, entity_id in run_sql(sql.ENTITIES_NAMED_IN, parameters):
        named.setdefault(chunk_id, set()).add(entity_id)
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
