"""Decide which entity each mention of a document means: pure functions over extractions.

Two mentions are one entity if their normalised names are equal. Within a document a single name
also stands for the one full name that contains it ("Scrooge", after "Ebenezer Scrooge"), and
initials for the one name they occur next to. Beyond that only decisions on record count.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rapidfuzz import fuzz

from ingestion.extractors import Extraction, FoundRelation
from ingestion.extractors.dating import PassageText
from ingestion.extractors.extraction import NAME, PERSON, FoundClaim, FoundFragment
from ingestion.extractors.mentions import GAP, stands_for
from ingestion.extractors.name_types import FORMS_OF_ADDRESS
from ingestion.extractors.periods import Period
from ingestion.models import MentionPosition
from ingestion.resolution.keys import NAME_LENGTH, Ref, entity_id, key_of_name, pair_of
from ingestion.resolution.overrides import PLAIN, Meaning, NameResolution
from ingestion.stages.resolve.correcting import Extractions, corrected
from kb_project.llm.vocabulary import are_common


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
    """A relationship between two entities, and when the sentence says that it holds."""

    source: Ref
    target: Ref
    chunk_id: uuid.UUID
    relation: FoundRelation
    period: Period | None = None


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


def resolve(
    document_id: uuid.UUID,
    found: Extractions,
    decided: NameResolution = PLAIN,
    places: Mapping[uuid.UUID, tuple[int, str]] | None = None,
) -> Resolution:
    """Give every mention its entity, and relate what is said of mentions to those entities.

    ``places`` gives the start and text of each passage, for mentions that people reassigned by
    position, and for the periods that sentences give.
    """
    found = corrected(found)
    keyed = [
        (
            chunk_id,
            extraction,
            [key_of_name(one.name or one.surface) for one in extraction.mentions],
        )
        for chunk_id, extraction in found
    ]
    full_names = stand_ins(
        (key, mention.type)
        for _, extraction, keys in keyed
        for key, mention in zip(keys, extraction.mentions, strict=True)
    ) | expanded_initials(found)
    resolver = _Resolver(document_id, full_names, decided)
    for chunk_id, extraction, keys in keyed:
        start, text = (places or {}).get(chunk_id, (0, ""))
        resolver.add(chunk_id, PassageText(text, start, extraction), keys)
    return Resolution(
        document_id,
        tuple(resolver.names),
        tuple(resolver.facts),
        tuple(resolver.notes),
        tuple(resolver.statements),
        frozenset(resolver.hidden),
    )


class _Resolver:
    """Resolves one document, passage by passage."""

    def __init__(
        self, document_id: uuid.UUID, full_names: Mapping[str, str], decided: NameResolution
    ) -> None:
        self._document_id = document_id
        self._full_names = full_names
        self._decided = decided
        self.names: list[Name] = []
        self.facts: list[Fact] = []
        self.notes: list[Note] = []
        self.statements: list[Statement] = []
        self.hidden: set[str] = set()

    def add(self, chunk_id: uuid.UUID, passage: PassageText, keys: Sequence[str]) -> None:
        extraction, start = passage.extraction, passage.start
        meanings = [
            self._meaning(
                key, MentionPosition(self._document_id, chunk_id, key, mention.start - start)
            )
            for key, mention in zip(keys, extraction.mentions, strict=True)
        ]
        refs = [one.entity if one else None for one in meanings]
        self.names += self._names(chunk_id, extraction, keys, refs)
        self.facts += self._facts(chunk_id, passage, meanings)
        for fragment in extraction.fragments:
            if ref := refs[fragment.mention]:
                self.notes.append(Note(ref, chunk_id, fragment))
        for claim in extraction.claims:
            if subject := refs[claim.subject]:
                about = refs[claim.object] if claim.object is not None else None
                dated = passage.dated(claim)
                self.statements.append(Statement(subject, about, chunk_id, dated))

    def _meaning(self, key: str, position: MentionPosition) -> Meaning | None:
        """None for a key without letters, and for entities people deleted."""
        if not key:
            return None
        named = self._full_names.get(key, key)
        meaning = self._decided.meaning(named, position)
        if self._decided.is_deleted(meaning):
            self.hidden.update((named, meaning.named[0], meaning.entity[0]))
            return None
        return meaning

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
                    self._full_names.get(key, key),
                )

    def _facts(
        self, chunk_id: uuid.UUID, passage: PassageText, meanings: Sequence[Meaning | None]
    ) -> Iterable[Fact]:
        for relation in passage.extraction.relations:
            source, target = meanings[relation.source], meanings[relation.target]
            if source and target and self._decided.keeps(source, target):
                period = passage.of_relation(relation)
                yield Fact(source.entity, target.entity, chunk_id, relation, period)


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
    last = {key.split()[-1] for key in people}
    return {
        word: next(iter(full))
        for word, full in holders.items()
        if len(full) == 1
        and (
            types.get(word) == PERSON
            or (word in last and types.get(word) == NAME and not are_common([word]))
        )
    }


def types_of(names: Iterable[Name]) -> dict[Ref, str]:
    """The type that most mentions give each entity; ties go to the first."""
    votes: dict[Ref, Counter[str]] = defaultdict(Counter)
    for name in names:
        votes[name.entity][name.type] += 1
    return {entity: counts.most_common(1)[0][0] for entity, counts in votes.items()}


def expanded_initials(found: Extractions) -> dict[str, str]:
    """Map the key of initials to that of the one name they occur next to.

    *MO* is Magnus Okafor if a list has them side by side or a sentence has one in brackets.
    """
    full: defaultdict[str, set[str]] = defaultdict(set)
    for _, extraction in found:
        mentions = sorted(extraction.mentions, key=lambda one: one.start)
        for left, right in pairwise(mentions):
            if 0 < right.start - left.end <= GAP:
                for short, long_ in ((left, right), (right, left)):
                    if stands_for(short.surface, long_.surface):
                        full[key_of_name(short.surface)].add(key_of_name(long_.surface))
    return {short: next(iter(names)) for short, names in full.items() if len(names) == 1}


# --- names that look alike ------------------------------------------------------------------------
# Two names of one type this similar (0 to 100, by edit distance) are worth a person's attention.
ALIKE: Final = 88.0
# Shorter keys resemble each other by chance.
SHORTEST_ALIKE: Final = 6
DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entities that may be one; ``left`` is the lower id, ``keys`` are sorted on their own."""

    left: uuid.UUID
    right: uuid.UUID
    score: float
    reason: str
    keys: tuple[str, str]


def suggestions(
    workspace_id: uuid.UUID, pairs: Iterable[tuple[str, str, uuid.UUID]]
) -> list[Suggestion]:
    """One for each pair of keys that look alike, by ascending ids."""
    found = {}
    for key, other, other_id in pairs:
        score = likeness(key, other)
        if score >= ALIKE:
            left, right = sorted([entity_id(workspace_id, key), other_id])
            reason = f"The names are {score:.0f} % alike"
            found[left, right] = Suggestion(left, right, score / 100, reason, pair_of(key, other))
    return [one for _, one in sorted(found.items())]


def likeness(left: str, right: str) -> float:
    """0 to 100; names that differ in any digit are never alike.

    >>> likeness("asr 1603", "asr 1605")
    0.0
    """
    if differ_in_a_digit(left, right):
        return 0.0
    return fuzz.ratio(left, right)


def differ_in_a_digit(left: str, right: str) -> bool:
    return DIGITS.findall(left) != DIGITS.findall(right)
