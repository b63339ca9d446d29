"""Decide which entity each mention of a document means: pure functions over extractions.

Two mentions are one entity if their normalised names are equal. Within a document a single name
also stands for the one full name that contains it ("Scrooge", after "Ebenezer Scrooge"), and
initials for the one name they occur next to. Beyond that only decisions on record count.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ingestion.extractors import Extraction, FoundRelation
from ingestion.extractors.found import PERSON, FoundClaim, FoundFragment
from ingestion.extractors.surroundings import FORMS_OF_ADDRESS
from ingestion.resolution.keys import NAME_LENGTH, Ref, key_of_name
from ingestion.resolution.overrides import PLAIN, Meant, Reading
from ingestion.resolution.reassignments import Place
from ingestion.stages.resolve.evidence import Found, borne_out, written_out


@dataclass(frozen=True, slots=True)
class Name:
    """A mention with its entity; ``key`` is that of ``label``, the name it is given.

    ``named`` is the key before any decision is applied.
    """

    chunk_id: uuid.UUID
    start: int
    end: int
    surface: str
    label: str
    key: str
    type: str
    source: str
    entity: Ref
    named: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A relationship between two entities."""

    source: Ref
    target: Ref
    chunk_id: uuid.UUID
    relation: FoundRelation


@dataclass(frozen=True, slots=True)
class Note:
    """A model's note on an entity in one passage."""

    entity: Ref
    chunk_id: uuid.UUID
    fragment: FoundFragment


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim about an entity, and possibly another one."""

    subject: Ref
    object: Ref | None
    chunk_id: uuid.UUID
    claim: FoundClaim


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one document says, by entity; ``hidden`` are the keys it names of deleted entities."""

    document_id: uuid.UUID
    names: tuple[Name, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    statements: tuple[Statement, ...] = ()
    hidden: frozenset[str] = frozenset()


NOWHERE: Final[Mapping[uuid.UUID, int]] = {}


def resolve(
    document_id: uuid.UUID,
    found: Found,
    reading: Reading = PLAIN,
    starts: Mapping[uuid.UUID, int] = NOWHERE,
) -> Resolution:
    """Give every mention its entity, and relate what is said of mentions to those entities.

    ``starts`` gives the start of each passage, for mentions that people reassigned by position.
    """
    found = borne_out(found)
    keyed = [(chunk_id, extraction, _keys(extraction)) for chunk_id, extraction in found]
    full_names = stand_ins(
        (key, mention.type)
        for _, extraction, keys in keyed
        for key, mention in zip(keys, extraction.mentions, strict=True)
    ) | written_out(found)
    reader = _Reader(document_id, full_names, reading, starts)
    parts = [reader.part(chunk_id, extraction, keys) for chunk_id, extraction, keys in keyed]
    return Resolution(
        document_id,
        tuple(name for part in parts for name in part.names),
        tuple(fact for part in parts for fact in part.facts),
        tuple(note for part in parts for note in part.notes),
        tuple(statement for part in parts for statement in part.statements),
        frozenset(reader.hidden),
    )


class _Reader:
    """Resolves one document's passages; ``hidden`` collects the keys of deleted entities."""

    def __init__(
        self,
        document_id: uuid.UUID,
        full_names: Mapping[str, str],
        reading: Reading,
        starts: Mapping[uuid.UUID, int],
    ) -> None:
        self._document_id = document_id
        self._full_names = full_names
        self._reading = reading
        self._starts = starts
        self.hidden: set[str] = set()

    def part(self, chunk_id: uuid.UUID, extraction: Extraction, keys: Sequence[str]) -> Resolution:
        start = self._starts.get(chunk_id, 0)
        meant = [
            self._meant(key, Place(self._document_id, chunk_id, key, mention.start - start))
            for key, mention in zip(keys, extraction.mentions, strict=True)
        ]
        refs = [one.read if one else None for one in meant]
        return Resolution(
            self._document_id,
            tuple(self._names(chunk_id, extraction, keys, refs)),
            tuple(self._facts(chunk_id, extraction, meant)),
            tuple(
                Note(ref, chunk_id, fragment)
                for fragment in extraction.fragments
                if (ref := refs[fragment.mention])
            ),
            tuple(_statements(chunk_id, extraction, refs)),
        )

    def _named(self, key: str) -> str:
        return self._full_names.get(key, key)

    def _meant(self, key: str, place: Place) -> Meant | None:
        """None for a key without letters, and for entities people deleted."""
        if not key:
            return None
        named = self._named(key)
        meant = self._reading.meant(named, place)
        if meant is None:
            deleted = self._reading.named(named, place)
            self.hidden.update((named, deleted.named[0], deleted.read[0]))
        return meant

    def _names(
        self,
        chunk_id: uuid.UUID,
        extraction: Extraction,
        keys: Sequence[str],
        refs: Sequence[Ref | None],
    ) -> Iterable[Name]:
        for mention, key, ref in zip(extraction.mentions, keys, refs, strict=True):
            if ref:
                yield Name(
                    chunk_id,
                    mention.start,
                    mention.end,
                    mention.surface[:NAME_LENGTH],
                    (mention.name or mention.surface)[:NAME_LENGTH],
                    key,
                    mention.type,
                    mention.source,
                    ref,
                    self._named(key),
                )

    def _facts(
        self, chunk_id: uuid.UUID, extraction: Extraction, meant: Sequence[Meant | None]
    ) -> Iterable[Fact]:
        for relation in extraction.relations:
            source, target = meant[relation.source], meant[relation.target]
            if source and target and self._reading.keeps(source, target):
                yield Fact(source.read, target.read, chunk_id, relation)


def _statements(
    chunk_id: uuid.UUID, extraction: Extraction, refs: Sequence[Ref | None]
) -> Iterable[Statement]:
    for claim in extraction.claims:
        subject = refs[claim.subject]
        about = refs[claim.object] if claim.object is not None else None
        if subject:
            yield Statement(subject, about, chunk_id, claim)


def _keys(extraction: Extraction) -> list[str]:
    return [key_of_name(mention.name or mention.surface) for mention in extraction.mentions]


def stand_ins(keys: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map each single name of a person to the one full name in the document that contains it.

    >>> stand_ins([("ebenezer scrooge", "person"), ("scrooge", "person"), ("fred", "person")])
    {'scrooge': 'ebenezer scrooge'}
    """
    votes = Counter(keys)
    types: dict[str, str] = {}
    for (key, type_name), _ in votes.most_common():
        types.setdefault(key, type_name)
    # "Fezziwig" is not Mrs. Fezziwig, even if no one else has a longer name.
    people = {
        key
        for key, type_name in types.items()
        if type_name == PERSON and " " in key and key.split()[0] not in FORMS_OF_ADDRESS
    }
    holders: dict[str, set[str]] = defaultdict(set)
    for key in people:
        words = key.split()
        for word in (words[0], words[-1]):
            holders[word].add(key)
    return {
        word: next(iter(full))
        for word, full in holders.items()
        if len(full) == 1 and types.get(word) == PERSON
    }


def types_of(names: Iterable[Name]) -> dict[Ref, str]:
    """The type that most mentions give each entity; ties go to the first."""
    votes: dict[Ref, Counter[str]] = defaultdict(Counter)
    for name in names:
        votes[name.entity][name.type] += 1
    return {entity: counts.most_common(1)[0][0] for entity, counts in votes.items()}
