"""Candidates: the statements in the passages found, each with its context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import UUID

from kb_project.text.regions import Region
from kb_project.text.statements import Statement, StatementKind, statements
from retrieval.search.hits import Hit

REMEMBERED: Final = 1_000
"""Passages whose statements are cached: successive questions find the same ones."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement of a passage. ``start`` and ``end`` are offsets in the document's text.

    ``rank`` is its passage's, from 0; ``path`` the headings above it; ``before`` and ``after`` its
    neighbours in the passage; ``place`` the number of statements before it in its section.
    ``group`` identifies the list or table it is part of.
    """

    hit: Hit
    rank: int
    statement: Statement
    path: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    place: int = 0

    @property
    def said(self) -> str:
        return self.statement.said

    @property
    def kind(self) -> StatementKind:
        return self.statement.kind

    @property
    def start(self) -> int:
        return self.hit.start + self.statement.start

    @property
    def end(self) -> int:
        return self.hit.start + self.statement.end

    @property
    def quote(self) -> str:
        """The document's text from ``start`` to ``end``."""
        return self.hit.text[self.statement.start : self.statement.end]

    @property
    def group(self) -> tuple[UUID, int] | None:
        number = self.statement.group
        return None if number < 0 else (self.hit.chunk_id, number)

    @property
    def key(self) -> tuple[UUID, int, int]:
        """The statement's position, the same whichever of two overlapping passages it was read
        from."""
        return self.hit.document_id, self.start, self.end

    @property
    def vector_key(self) -> tuple[UUID, int, int]:
        return self.hit.chunk_id, self.statement.start, self.statement.end


def candidates(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the passages' statements in order, each once even if passages overlap."""
    found: dict[tuple[UUID, int, int], Candidate] = {}
    for rank, hit in enumerate(hits):
        for one in _of(hit, rank):
            found.setdefault(one.key, one)
    return list(found.values())


def groups_of(found: Sequence[Candidate]) -> Mapping[tuple[UUID, int], list[Candidate]]:
    """Group candidates by the list or table they are part of, in text order."""
    groups: dict[tuple[UUID, int], list[Candidate]] = {}
    for one in found:
        if one.group is not None:
            groups.setdefault(one.group, []).append(one)
    return groups


@lru_cache(maxsize=REMEMBERED)
def _read(text: str, regions: tuple[Region, ...]) -> tuple[Statement, ...]:
    return tuple(statements(text, regions))


def _of(hit: Hit, rank: int) -> Iterator[Candidate]:
    read = _read(hit.text, hit.regions)
    place = 0
    for index, one in enumerate(read):
        if one.kind is StatementKind.HEADING:
            place = 0
            continue
        inner = tuple(title for _, title in one.path)
        outer = tuple(title for title in hit.heading_path if title not in inner)
        before = read[index - 1].said if index else ""
        after = read[index + 1] if index + 1 < len(read) else None
        if one.states:
            yield Candidate(
                hit=hit,
                rank=rank,
                statement=one,
                path=(*outer, *inner),
                before=one.lead or before,
                after=after.said if after is not None and after.states else "",
                place=place,
            )
            place += 1
