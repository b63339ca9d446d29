"""The statements of the passages found, which may answer a question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from uuid import UUID

import regex

from kb_project.text.languages import HAN
from kb_project.text.regions import LABEL, Region
from kb_project.text.sentences import breaks_off
from kb_project.text.statements import Statement, StatementKind, says_something, statements
from kb_project.text.words import one_line, terms
from retrieval.search.results import Hit

HAN_PER_WORD: Final = 1.7
_LABELS: Final = regex.compile(r"(?:^|(?<=; ))(?:[^;:.]{1,60}: )+")
PASSAGES_CACHED: Final = 1_000
"""Passages whose statements are cached: successive questions find the same ones."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement of a passage. ``start`` and ``end`` are offsets in the document's text.

    ``rank`` is its passage's, from 0; ``path`` the headings above it; ``before`` the text before it
    in the passage; ``place`` the number of statements before it in its section. ``group``
    identifies the list or table it is part of.
    """

    hit: Hit
    rank: int
    statement: Statement
    path: tuple[str, ...] = ()
    before: str = ""
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
    def group(self) -> tuple[UUID, int] | None:
        return None if self.kind is StatementKind.LEAD else self._list

    @property
    def stands_alone(self) -> bool:
        """Whether it says something without what follows, and without its list's other entries."""
        if self.kind is StatementKind.ENTRY and not says_something(self.said):
            return False
        # A row may end with any word: *serviced: May*.
        may_end_so = self.kind in (StatementKind.LEAD, StatementKind.ROW)
        return may_end_so or not breaks_off(self.said)

    def adds_to(self, asked: Collection[str]) -> bool:
        """Whether it has more than the terms asked for: a row may be only *name: Ada Lind*."""
        if self.kind is not StatementKind.ROW:
            return True
        return not set(terms(self.values)) <= set(asked)

    @property
    def values(self) -> str:
        """What it says; of a row, without the columns' names."""
        return _LABELS.sub("", self.said) if self.kind is StatementKind.ROW else self.said

    @property
    def labels(self) -> str:
        """The columns' names of a row."""
        return "".join(_LABELS.findall(self.said)) if self.kind is StatementKind.ROW else ""

    @property
    def term(self) -> str:
        """The term whose definition it begins; empty if it begins none."""
        level, title = self.statement.path[-1] if self.statement.path else (0, "")
        return title if level == LABEL and self.place == 0 else ""

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.said.rstrip("\"'”’ ").endswith(("?", "？"))

    @property
    def introduces(self) -> tuple[UUID, int] | None:
        """The list or table that the statement introduces: *The keepers were:*"""
        return self._list if self.kind is StatementKind.LEAD else None

    @property
    def _list(self) -> tuple[UUID, int] | None:
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


def with_term(one: Candidate, *, alone: bool = False) -> Candidate:
    """Return the first sentence of a definition together with the term that it defines, or the term
    ``alone``."""
    term, statement = one.term, one.statement
    if not term:
        return one
    before = [region for region in one.hit.regions if region.end <= statement.start]
    start = max((region.start for region in before if region.level == LABEL), default=-1)
    if start < 0:
        return one
    said = term if alone else f"{term}: {statement.said}"
    return replace(one, statement=replace(statement, start=start, said=said))


@lru_cache(maxsize=PASSAGES_CACHED)
def _statements(text: str, regions: tuple[Region, ...]) -> tuple[Statement, ...]:
    return tuple(statements(text, regions))


def statements_of(hit: Hit) -> tuple[Statement, ...]:
    return _statements(hit.text, hit.regions)


def statement_of(hit: Hit, offset: int | None, wanted: regex.Pattern[str]) -> tuple[int, int, str]:
    """Return the start and end in the document of the statement that holds the offset, or the first
    that has the words wanted, better no heading; failing that, the passage's first line. Return
    what it says, too."""
    at = -1 if offset is None else offset - hit.start
    holding = [one for one in statements_of(hit) if one.start <= at < one.end]
    found = [*holding, *(one for one in statements_of(hit) if wanted.search(one.said))]
    if found:
        best = next((one for one in found if one.kind is not StatementKind.HEADING), found[0])
        return hit.start + best.start, hit.start + best.end, best.said
    line = hit.text.lstrip().partition("\n")[0]
    start = hit.start + hit.text.index(line)
    return start, start + len(line), one_line(line)


def _of(hit: Hit, rank: int) -> Iterator[Candidate]:
    place, before = 0, ""
    for one in _with_their_lists(statements_of(hit)):
        if one.kind is StatementKind.HEADING:
            place, before = 0, one.said
            continue
        inner = tuple(title for _, title in one.path)
        # Above a heading of the third level there are two at most: the passage may begin below a
        # heading that is not above this one.
        most = one.path[0][0] - 1 if one.path else len(hit.heading_path)
        outer = tuple(title for title in hit.heading_path[:most] if title not in inner)
        if one.states or one.group >= 0:
            yield Candidate(
                hit=hit,
                rank=rank,
                statement=one,
                path=(*outer, *inner),
                before=one.lead or before,
                place=place,
            )
            place += 1
        before = one.said


def _with_their_lists(found: Sequence[Statement]) -> Iterator[Statement]:
    """Give each line that introduces a list the list's number; defined terms are a list, too, whose
    entries are the first sentences of their definitions."""
    lead: Statement | None = None
    above: tuple[tuple[int, str], ...] = ()
    for place, one in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else one
        if one.kind is StatementKind.LEAD:
            lead, above = None, one.path
            if _is_term(following) and following.path[:-1] == above:
                lead = replace(one, group=len(found) + place)
            yield replace(one, group=following.group) if following.lead == one.said else lead or one
        elif lead and one.path[:-1] == above and _is_term(found[place - 1]):
            yield replace(one, lead=lead.said, group=lead.group)
        else:
            lead = lead if len(one.path) > len(above) else None
            yield one


def _is_term(one: Statement) -> bool:
    return one.kind is StatementKind.HEADING and one.path[-1:] == ((LABEL, one.said),)


def length_of(said: str) -> float:
    """Return the length in words; a Chinese character counts as part of a word."""
    han = len(HAN.findall(said))
    return len(said.split()) + han / HAN_PER_WORD
