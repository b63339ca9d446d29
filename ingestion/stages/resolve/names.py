"""Which entity each mention of a document means: pure functions over what was extracted.

Two mentions are one entity when their normalised names are equal. Inside one document a single
name also stands for the one full name that contains it ("Scrooge", after "Ebenezer Scrooge").
Beyond that names are read as was decided, and in no other way.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ingestion.extractors import Extraction, FoundRelation
from ingestion.extractors.found import FoundClaim, FoundFragment
from ingestion.rulings import PLAIN, Reading
from kb_project.text.names import normalise_name

NAME_LENGTH: Final = 300
PERSON: Final = "person"

Ref = tuple[str, int]
"""An entity: its key, and which of the things of that name it is (0 unless told apart)."""


@dataclass(frozen=True, slots=True)
class Name:
    """A mention with the entity it means; ``key`` is that of ``label``, the name it is given."""

    chunk_id: uuid.UUID
    start: int
    end: int
    surface: str
    label: str
    key: str
    type: str
    source: str
    entity: Ref


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation between two entities."""

    source: Ref
    target: Ref
    chunk_id: uuid.UUID
    relation: FoundRelation


@dataclass(frozen=True, slots=True)
class Note:
    """What a model says of an entity by one passage."""

    entity: Ref
    chunk_id: uuid.UUID
    fragment: FoundFragment


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim about an entity, and perhaps another one."""

    subject: Ref
    object: Ref | None
    chunk_id: uuid.UUID
    claim: FoundClaim


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one document says, by entity."""

    document_id: uuid.UUID
    names: tuple[Name, ...] = ()
    facts: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    statements: tuple[Statement, ...] = ()


Found = Sequence[tuple[uuid.UUID, Extraction]]
"""What was extracted from a document: chunk and extraction, in the order of the text."""


def resolve(document_id: uuid.UUID, found: Found, reading: Reading = PLAIN) -> Resolution:
    """Give every mention its entity, and everything said of mentions the entities they mean."""
    keyed = [(chunk_id, extraction, _keys(extraction)) for chunk_id, extraction in found]
    full_names = stand_ins(
        (key, mention.type)
        for _, extraction, keys in keyed
        for key, mention in zip(keys, extraction.mentions, strict=True)
    )
    meant = _Meant(document_id, full_names, reading)
    parts = [_part(chunk_id, extraction, keys, meant) for chunk_id, extraction, keys in keyed]
    return Resolution(
        document_id,
        tuple(name for part in parts for name in part.names),
        tuple(fact for part in parts for fact in part.facts),
        tuple(note for part in parts for note in part.notes),
        tuple(statement for part in parts for statement in part.statements),
    )


class _Meant:
    """The entity that a key means in one document; None for a key without letters."""

    def __init__(
        self, document_id: uuid.UUID, full_names: Mapping[str, str], reading: Reading
    ) -> None:
        self._document_id = document_id
        self._full_names = full_names
        self._reading = reading

    def __call__(self, key: str) -> Ref | None:
        if not key:
            return None
        return self._reading.entity_of(self._document_id, self._full_names.get(key, key))


def _part(
    chunk_id: uuid.UUID, extraction: Extraction, keys: Sequence[str], meant: _Meant
) -> Resolution:
    refs = [meant(key) for key in keys]
    names = tuple(
        Name(
            chunk_id,
            mention.start,
            mention.end,
            mention.surface[:NAME_LENGTH],
            (mention.name or mention.surface)[:NAME_LENGTH],
            key,
            mention.type,
            mention.source,
            ref,
        )
        for mention, key, ref in zip(extraction.mentions, keys, refs, strict=True)
        if ref
    )
    return Resolution(
        uuid.UUID(int=0),
        names,
        tuple(_facts(chunk_id, extraction, refs)),
        tuple(
            Note(ref, chunk_id, fragment)
            for fragment in extraction.fragments
            if (ref := refs[fragment.mention])
        ),
        tuple(_statements(chunk_id, extraction, refs)),
    )


def _facts(
    chunk_id: uuid.UUID, extraction: Extraction, refs: Sequence[Ref | None]
) -> Iterable[Fact]:
    for relation in extraction.relations:
        source, target = refs[relation.source], refs[relation.target]
        if source and target and source != target:
            yield Fact(source, target, chunk_id, relation)


def _statements(
    chunk_id: uuid.UUID, extraction: Extraction, refs: Sequence[Ref | None]
) -> Iterable[Statement]:
    for claim in extraction.claims:
        subject = refs[claim.subject]
        about = refs[claim.object] if claim.object is not None else None
        if subject:
            yield Statement(subject, about, chunk_id, claim)


def _keys(extraction: Extraction) -> list[str]:
    return [
        normalise_name(mention.name or mention.surface)[:NAME_LENGTH]
        for mention in extraction.mentions
    ]


def stand_ins(keys: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Single names of persons and the one full name in the document that contains each.

    >>> stand_ins([("ebenezer scrooge", "person"), ("scrooge", "person"), ("fred", "person")])
    {'scrooge': 'ebenezer scrooge'}
    """
    votes = Counter(keys)
    types: dict[str, str] = {}
    for (key, type_name), _ in votes.most_common():
        types.setdefault(key, type_name)
    people = {key for key, type_name in types.items() if type_name == PERSON and " " in key}
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
    """What most mentions of each entity say it is; the first said wins a tie."""
    votes: dict[Ref, Counter[str]] = defaultdict(Counter)
    for name in names:
        votes[name.entity][name.type] += 1
    return {entity: counts.most_common(1)[0][0] for entity, counts in votes.items()}


def entity_id(workspace_id: uuid.UUID, key: str, sense: int = 0) -> uuid.UUID:
    """The id an entity of this name has in the workspace, whichever document names it first."""
    if sense:
        return _id(workspace_id, "sense", key, str(sense))
    return _id(workspace_id, "entity", key)


def relationship_id(
    workspace_id: uuid.UUID, source: str, target: str, senses: tuple[int, int] = (0, 0)
) -> uuid.UUID:
    told_apart = [str(sense) for sense in senses] if any(senses) else []
    return _id(workspace_id, "relationship", source, target, *told_apart)


def _id(workspace_id: uuid.UUID, *parts: str) -> uuid.UUID:
    digest = blake2b("\0".join(parts).encode(), digest_size=16, key=workspace_id.bytes)
    return uuid.UUID(bytes=digest.digest())
