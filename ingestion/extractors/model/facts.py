"""Keep what the text supports of a model's answers.

A fact is kept with the span of its quote. One whose quote is not in the text, or does not speak of
what it connects, is rejected and counted by reason, as is everything beyond the limits: nothing a
model says is trusted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from ingestion.extractors.extraction import (
    EVENT,
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    Extraction,
    FoundClaim,
    FoundFragment,
)
from ingestion.extractors.model.locate import Folded, Span, folded, locate, occurs
from ingestion.extractors.model.placing import (
    ClaimDraft,
    EntityDraft,
    Placed,
    RelationDraft,
    placed,
    relation_found,
)
from ingestion.extractors.model.schema import (
    MOST_STRENGTH,
    Answer,
    AnswerWithClaims,
    SaidClaim,
    SaidEntity,
    SaidRelationship,
)
from ingestion.extractors.model.supporting import Passage
from kb_project.text.names import normalise_name

MOST_ENTITIES: Final = 100
MOST_RELATIONS: Final = 150
MOST_CLAIMS: Final = 50
LONGEST_NAME: Final = 300
LONGEST_DESCRIPTION: Final = 2_000
LONGEST_KEYWORD: Final = 80
LONGEST_TYPE: Final = 40
OTHER: Final = "other"

NAME_NOT_USABLE: Final = "name_not_usable"
QUOTE_NOT_FOUND: Final = "quote_not_found"
QUOTE_NOT_SUPPORTING: Final = "quote_not_supporting"
UNKNOWN_END: Final = "unknown_end"
SELF_LOOP: Final = "self_loop"
TOO_MANY: Final = "too_many"
NOTHING_SAID: Final = "nothing_said"

# Synonyms of the types that extraction with and without a model share.
_SAME_TYPE: Final = {
    "human": PERSON, "people": PERSON, "individual": PERSON, "character": PERSON, "per": PERSON,
    "organisation": ORGANIZATION, "org": ORGANIZATION, "company": ORGANIZATION,
    "institution": ORGANIZATION,
    "location": PLACE, "geo": PLACE, "gpe": PLACE, "loc": PLACE, "geography": PLACE,
    "geographical location": PLACE,
    "events": EVENT,
}  # fmt: skip
_NO_LETTER: Final = re.compile(r"[^\w &/+-]|_")
_STAND_FOR_NAMES: Final = frozenset(
    (
        "i me my he him his she her hers it its we us our you your they them their who whose this "
        "that these those and but or what 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 谁 这 那"
    ).split()
)
"""Weak models take these for names."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What is kept of a model's answers, and how much was rejected, by reason."""

    extraction: Extraction = field(default_factory=Extraction)
    rejected: dict[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> int:
        """How much was learned; unchanged by an answer that adds nothing."""
        found = self.extraction
        said = len(found.relations) + len(found.fragments) + len(found.claims)
        return said + len({mention.name or mention.surface for mention in found.mentions})


def read(answers: Sequence[Answer], text: str, types: Collection[str] = ()) -> Findings:
    """Read the answers of one conversation about a text; offsets are the text's.

    If ``types`` are given, an entity of any other type gets the type "other".
    """
    draft = _Draft(Passage(folded(text)), frozenset(known_type(one) for one in types))
    for answer in answers:
        for entity in answer.entities:
            draft.add_entity(entity)
        for relationship in answer.relationships:
            draft.add_relation(relationship)
        if isinstance(answer, AnswerWithClaims):
            for claim in answer.claims:
                draft.add_claim(claim)
    return Findings(draft.extraction(), dict(draft.rejected))


def known_type(name: str) -> str:
    """A type as one short name in lower case.

    >>> known_type("ORGANISATION"), known_type("Natural  Object!"), known_type("")
    ('organization', 'natural object', 'other')
    """
    plain = " ".join(_NO_LETTER.sub(" ", name.lower()).split())
    plain = plain[:LONGEST_TYPE].strip()
    return _SAME_TYPE.get(plain, plain) or OTHER


@dataclass(slots=True)
class _Draft:
    """A reading in progress. Whatever is said twice counts once, kept or rejected."""

    passage: Passage
    types: frozenset[str]
    entities: dict[str, EntityDraft] = field(default_factory=dict)
    relations: dict[tuple[str, str, Span], RelationDraft] = field(default_factory=dict)
    claims: dict[tuple[str, str, Span], ClaimDraft] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    said: set[tuple[object, ...]] = field(default_factory=set)

    @property
    def text(self) -> Folded:
        return self.passage.text

    def add_entity(self, said: SaidEntity) -> None:
        if self._is_repeated(said):
            return None
        key = key_of(said.name)
        if not key:
            return self._reject(NAME_NOT_USABLE)
        if key not in self.entities and len(self.entities) >= MOST_ENTITIES:
            return self._reject(TOO_MANY)
        span = locate(said.quote, self.text)
        if span is None:
            return self._reject(QUOTE_NOT_FOUND)
        entity = self._entity(key, said.name, self._type(said.type), span)
        if said.description:
            entity.fragments[cut(said.description), span] = None
        return None

    def add_relation(self, said: SaidRelationship) -> None:
        if self._is_repeated(said):
            return None
        if len(self.relations) >= MOST_RELATIONS:
            return self._reject(TOO_MANY)
        span = locate(said.quote, self.text)
        if span is None:
            return self._reject(QUOTE_NOT_FOUND)
        source, target = self._end(said.source, span), self._end(said.target, span)
        if not source or not target:
            return self._reject(UNKNOWN_END)
        if source == target:
            return self._reject(SELF_LOOP)
        if not self.passage.supports(span, said.source, said.target):
            return self._reject(QUOTE_NOT_SUPPORTING)
        relation = self.relations.setdefault((source, target, span), RelationDraft())
        relation.strength = max(relation.strength, said.strength / MOST_STRENGTH)
        relation.add(cut(said.description), keywords_of(said.keywords))
        return None

    def add_claim(self, said: SaidClaim) -> None:
        if self._is_repeated(said):
            return None
        if len(self.claims) >= MOST_CLAIMS:
            return self._reject(TOO_MANY)
        span = locate(said.quote, self.text)
        if span is None:
            return self._reject(QUOTE_NOT_FOUND)
        subject = self._end(said.subject, span)
        if not subject:
            return self._reject(UNKNOWN_END)
        if not said.description:
            return self._reject(NOTHING_SAID)
        if not self.passage.supports(span, said.subject, *filter(None, [said.object])):
            return self._reject(QUOTE_NOT_SUPPORTING)
        of = self._end(said.object, span) if said.object else ""
        self.claims[subject, said.description, span] = ClaimDraft(of, said)
        return None

    def extraction(self) -> Extraction:
        places = placed(self.entities, self.text)
        return Extraction(
            places.mentions,
            tuple(
                relation_found(places, ends[:2], ends[2], relation)
                for ends, relation in self.relations.items()
            ),
            tuple(
                FoundFragment(places.mention_of(key, span), description, *span)
                for key, entity in self.entities.items()
                for description, span in entity.fragments
            ),
            tuple(_claim(places, ends, claim) for ends, claim in self.claims.items()),
        )

    def _entity(self, key: str, name: str, type_name: str, span: Span) -> EntityDraft:
        entity = self.entities.setdefault(key, EntityDraft(name, type_name, span))
        if entity.type in (NAME, OTHER):
            entity.type = type_name
        return entity

    def _end(self, name: str, span: Span) -> str:
        """The key of a named end; "" if it is neither a known entity nor in the text."""
        key = key_of(name)
        if not key or key in self.entities:
            return key
        if len(self.entities) >= MOST_ENTITIES or not occurs(name, self.text):
            return ""
        self._entity(key, name, NAME, span)
        return key

    def _type(self, said: str) -> str:
        type_name = known_type(said)
        return type_name if not self.types or type_name in self.types else OTHER

    def _is_repeated(self, said: SaidEntity | SaidRelationship | SaidClaim) -> bool:
        what = (type(said), *map(str, said.__dict__.values()))
        is_repeated = what in self.said
        self.said.add(what)
        return is_repeated

    def _reject(self, reason: str) -> None:
        self.rejected[reason] += 1


def key_of(name: str) -> str:
    """The name's key; "" if it is too long to be a name, has no letter or digit, or only stands
    for one.

    >>> key_of("The Lamp"), key_of("They"), key_of("WHO")
    ('lamp', '', 'who')
    """
    if len(name) > LONGEST_NAME:
        return ""
    word = name.strip()
    is_acronym = len(word) > 1 and word.isascii() and word.isupper()
    stands_for_name = word.lower() in _STAND_FOR_NAMES and not is_acronym
    return "" if stands_for_name else normalise_name(name)


def keywords_of(said: Sequence[str]) -> list[str]:
    return [word for word in dict.fromkeys(said) if len(word) <= LONGEST_KEYWORD]


def cut(description: str) -> str:
    """A description within the limit, cut at a word.

    >>> cut("word " * 1000)[-6:]
    'word …'
    """
    if len(description) <= LONGEST_DESCRIPTION:
        return description
    return description[: LONGEST_DESCRIPTION - 2].rsplit(" ", 1)[0].rstrip() + " …"


def _claim(places: Placed, ends: tuple[str, str, Span], claim: ClaimDraft) -> FoundClaim:
    subject, description, span = ends
    return FoundClaim(
        subject=places.mention_of(subject, span),
        object=places.mention_of(claim.object, span) if claim.object else None,
        type=claim.said.type[:LONGEST_KEYWORD] or OTHER,
        status=claim.said.status,
        period_start=claim.said.period_start,
        period_end=claim.said.period_end,
        description=cut(description),
        start=span[0],
        end=span[1],
    )
