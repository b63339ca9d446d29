"""Read what passages assert of entities, and find what disagrees."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import Final

from ingestion.stages.conflicts.assertions import Assertion, Name, assertions, continued
from kb_project.text.regions import Region
from kb_project.text.statements import PROSE, statements
from kb_project.text.values import NAME

MOST_SIDES: Final = 12
"""Sides kept of one conflict, those of different values first."""
MOST_COMPARED: Final = 60
"""Statements compared about one attribute: what hundreds of sentences say is rarely one thing."""
MOST_DISPUTED: Final = 1
"""Attributes on which two documents may differ without agreeing on one: beyond it, they speak of
two things that share a name."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage and the names in it; offsets count from its beginning."""

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    start: int
    text: str
    regions: tuple[Region, ...]
    names: tuple[tuple[uuid.UUID, Name], ...]


@dataclass(frozen=True, slots=True)
class Said:
    """An assertion with its place: the sentence that makes it."""

    entity_id: uuid.UUID
    chunk_id: uuid.UUID
    document_id: uuid.UUID
    start: int
    end: int
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class Dispute:
    """Sentences that disagree about one attribute of an entity."""

    entity_id: uuid.UUID
    about: str
    label: str
    sides: tuple[Said, ...]


def statements_of(passage: Passage, wanted: Collection[uuid.UUID]) -> Iterator[Said]:
    """Yield what a passage asserts of the wanted entities."""
    subject: tuple[uuid.UUID, Name] | None = None
    names = sorted(passage.names, key=lambda one: (one[1].start, -one[1].end))
    for one in statements(passage.text, passage.regions):
        sentence = passage.text[one.start : one.end].replace("\n", " ")
        # Not what furniture interrupts.
        if one.kind not in PROSE or one.said != " ".join(sentence.split()):
            continue
        inside = [
            (entity, Name(name.start - one.start, name.end - one.start, name.key, name.type))
            for entity, name in names
            if one.start <= name.start and name.end <= one.end
        ]
        own = inside[0] if inside else None
        if subject and (named := continued(sentence, subject[1].key, subject[1].type)):
            own = (subject[0], named)
        subject = own if own and own[1].start <= SUBJECT_WITHIN else None
        if own is None or own[0] not in wanted:
            continue
        for assertion in assertions(sentence, own[1], [name for _, name in inside]):
            start = passage.start + one.start
            yield Said(
                own[0],
                passage.chunk_id,
                passage.document_id,
                start,
                start + len(sentence),
                assertion,
            )


SUBJECT_WITHIN: Final = 8
"""Characters before the name of a sentence's subject: an article, a quotation mark."""


def disputes(said: Iterable[Said], together: Collection[frozenset[str]] = ()) -> list[Dispute]:
    """Group statements by what they are about, and return the groups that disagree.

    ``together`` are pairs of names that passages mention together: a town and its country, two
    authors of one book. They are no alternatives.
    """
    groups: defaultdict[tuple[uuid.UUID, str], list[Said]] = defaultdict(list)
    for one in said:
        groups[one.entity_id, one.assertion.about].append(one)
    compared = [(members, _Compared.of(members, together)) for _, members in sorted(groups.items())]
    clashes: defaultdict[_Documents, int] = defaultdict(int)
    accords: set[_Documents] = set()
    strangers: set[_Documents] = set()
    for _, found in compared:
        accords |= found.accords
        strangers |= found.strangers
        for documents in {_documents(*pair) for pair in found.clashes}:
            clashes[documents] += 1
    result = []
    for members, found in compared:
        kept = [
            pair
            for pair in found.clashes
            if (of := _documents(*pair)) not in strangers
            and (of in accords or clashes[of] <= MOST_DISPUTED)
        ]
        if kept:
            first = members[0]
            about, label = first.assertion.about, first.assertion.label
            result.append(Dispute(first.entity_id, about, label, sides_of(members, kept)))
    return result


_Documents = tuple[uuid.UUID, frozenset[uuid.UUID]]
"""An entity, and the one or two documents of which two statements about it are."""


def _documents(one: Said, other: Said) -> _Documents:
    return one.entity_id, frozenset({one.document_id, other.document_id})


@dataclass(frozen=True, slots=True)
class _Compared:
    """Pairs of statements about one attribute that disagree, documents that agree on it, and
    documents that speak of two people of one name."""

    clashes: tuple[tuple[Said, Said], ...]
    accords: frozenset[_Documents]
    strangers: frozenset[_Documents]

    @classmethod
    def of(cls, members: Sequence[Said], together: Collection[frozenset[str]]) -> _Compared:
        pairs = list(combinations(members[:MOST_COMPARED], 2))
        return cls(
            tuple(pair for pair in pairs if differ(*pair, together)),
            frozenset(
                _documents(one, other)
                for one, other in pairs
                if one.document_id != other.document_id
                and one.assertion.value.agrees(other.assertion.value)
            ),
            frozenset(
                _documents(one, other)
                for one, other in pairs
                if one.assertion.is_of_another(other.assertion)
            ),
        )


def differ(one: Said, other: Said, together: Collection[frozenset[str]]) -> bool:
    """Return whether two statements of different sentences cannot both hold."""
    if (one.chunk_id, one.start) == (other.chunk_id, other.start):
        return False
    if not one.assertion.disagrees(other.assertion):
        return False
    if one.assertion.value.kind != NAME:
        return True
    named = [one.assertion.value.parts[0], other.assertion.value.parts[0]]
    return frozenset(named) not in together and set(named[0].split()).isdisjoint(named[1].split())


def sides_of(members: Sequence[Said], pairs: Sequence[tuple[Said, Said]]) -> tuple[Said, ...]:
    """Return the statements in dispute and those that agree with one of them, one a passage and
    value, each value's first ones first."""
    disputed = list(dict.fromkeys(one for pair in pairs for one in pair))
    agreeing = [
        one
        for one in members
        if one not in disputed
        and any(one.assertion.value.key == its.assertion.value.key for its in disputed)
    ]
    rounds: defaultdict[str, list[Said]] = defaultdict(list)
    seen = set()
    for one in [*disputed, *agreeing]:
        if (place := (one.chunk_id, one.assertion.value.key)) not in seen:
            seen.add(place)
            rounds[one.assertion.value.key].append(one)
    ranked = [one for several in zip_longest(*rounds.values()) for one in several if one]
    return tuple(ranked[:MOST_SIDES])


def names_told(said: Iterable[Said]) -> set[str]:
    """Return the keys of the names that are values."""
    return {one.assertion.value.parts[0] for one in said if one.assertion.value.kind == NAME}
