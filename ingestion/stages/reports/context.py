"""Load the records that a community's report is written from, and choose them for a token budget.

The order and the substitution are those of the GraphRAG paper (Edge et al. 2024, section 3.1.5):
relationships by the summed degree of their ends, each after its entities and the claims about them.
If a community does not fit, its largest parts are represented by their reports, one after the
other, until it does. Unlike in the paper, entities without relationships take part, so does every
relationship of an entity, and parts that are not replaced keep their links to those that are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from ingestion.stages.reports import sql
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.sql import Row, run_sql
from kb_project.text.words import one_line

BUDGET: Final = 8_000
"""Tokens of records in one prompt: GraphRAG's own limit."""
LONGEST_RECORD: Final = 500
"""Tokens of one entity, relationship or claim, so that no endless description fills a prompt."""
LONGEST_REPORT: Final = 2_000
LONGEST_PASSAGE: Final = 1_000
SUBSTITUTED: Final = 0.5
"""Share of a prompt for reports on the parts of a topic whose passages do not all fit."""

# A letter and up to six digits, at three per token.
_LABEL_TOKENS: Final = 3
_MANY_CHARACTERS: Final = 10


class Kind(StrEnum):
    """The kind of a record, as stored in references to it."""

    ENTITY = "entity"
    RELATIONSHIP = "relationship"
    CLAIM = "claim"
    REPORT = "report"
    PASSAGE = "passage"


LETTERS: Final[Mapping[Kind, str]] = {
    Kind.ENTITY: "E",
    Kind.RELATIONSHIP: "R",
    Kind.CLAIM: "C",
    Kind.REPORT: "T",
    Kind.PASSAGE: "P",
}


_LONGEST: Final[Mapping[Kind, int]] = {
    Kind.REPORT: LONGEST_REPORT,
    Kind.PASSAGE: LONGEST_PASSAGE,
}


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a prompt; ``names`` are those of the entities it is about."""

    kind: Kind
    id: UUID
    text: str
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: Kind, id_: UUID, text: str, names: tuple[str, ...] = ()) -> Record:
        """A record with its text on one line, cut if it is too long."""
        longest = _LONGEST.get(kind, LONGEST_RECORD)
        line = one_line(text)
        if len(line) > longest:
            line = truncate_tokens(line[: longest * _MANY_CHARACTERS], longest).rstrip()
        return cls(kind, id_, line, names)

    def as_json(self) -> dict[str, str]:
        """The record as a finding refers to it."""
        return {"kind": self.kind.value, "id": str(self.id)}

    @property
    def tokens(self) -> int:
        """The most that the line costs, including label and line break."""
        return count_tokens(f" {self.text}\n") + _LABEL_TOKENS

    @property
    def size(self) -> int:
        """Never less than ``tokens``: no token is shorter than a byte."""
        return len(self.text.encode("utf-8", "replace")) + 2 + _LABEL_TOKENS


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity; ``degree`` counts its neighbours in the whole workspace."""

    record: Record
    name: str
    degree: int = 0
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class RelationshipRecord:
    """A relationship between two entities of the community."""

    record: Record
    source: UUID
    target: UUID


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim about an entity."""

    record: Record
    subject: UUID


@dataclass(frozen=True, slots=True)
class SubTopic:
    """A sub-community: its members and its report."""

    members: frozenset[UUID]
    report: Record | None


@dataclass(frozen=True, slots=True)
class TopicRecords:
    """All the records of a community; its parts share no members. With ``passages``, a report is
    written from these alone."""

    entities: tuple[EntityRecord, ...]
    relationships: tuple[RelationshipRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    parts: tuple[SubTopic, ...] = ()
    passages: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The records of a prompt in order. ``labels`` maps "E1" to the record."""

    labels: Mapping[str, Record] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(f"{label} {record.text}\n" for label, record in self.labels.items())

    @property
    def substituted(self) -> int:
        """Sub-communities represented by their report."""
        return sum(record.kind is Kind.REPORT for record in self.labels.values())


# --- choosing records -----------------------------------------------------------------------------
def build(topic: TopicRecords, budget: int = BUDGET) -> Context:
    """Choose the records within the budget; nothing that would still fit is left out."""
    if topic.passages:
        return _of_passages(topic, budget)
    records = list(_owned(topic))
    if sum(record.size for record, _ in records) <= budget:
        return labelled(record for record, _ in records)  # most communities need no counting
    # Tokens of each part's own records.
    sizes: Counter[int] = Counter()
    for record, owner in records:
        if owner is not None:
            sizes[owner] += record.tokens
    total = sum(record.tokens for record, _ in records)
    reports: dict[int, Record] = {}
    for place in _largest_first(topic.parts, sizes):
        report = topic.parts[place].report
        if total <= budget:
            break
        # A report longer than what it replaces would make matters worse.
        if report is not None and report.tokens < sizes[place]:
            total += report.tokens - sizes[place]
            reports[place] = report
    own = (record for record, owner in records if owner is None or owner not in reports)
    return labelled(_fitting([*reports.values(), *own], budget))


def _of_passages(topic: TopicRecords, budget: int) -> Context:
    """Take the passages in order; if they do not all fit, after reports on the topic's parts."""
    if sum(one.tokens for one in topic.passages) <= budget:
        return labelled(topic.passages)
    parts = sorted(topic.parts, key=lambda part: -len(part.members))
    found = [part.report for part in parts if part.report is not None]
    reports = list(_fitting(found, int(budget * SUBSTITUTED)))
    return labelled(_fitting([*reports, *topic.passages], budget))


def labelled(records: Iterable[Record]) -> Context:
    """Label each record with its letter and its number among its kind."""
    numbers: Counter[Kind] = Counter()
    labels: dict[str, Record] = {}
    for record in records:
        numbers[record.kind] += 1
        labels[f"{LETTERS[record.kind]}{numbers[record.kind]}"] = record
    return Context(labels)


def _fitting(records: Iterable[Record], budget: int) -> Iterator[Record]:
    left = budget
    for record in records:
        if record.tokens <= left:
            left -= record.tokens
            yield record


Owned = tuple[Record, int | None]


def _owned(topic: TopicRecords) -> Iterator[Owned]:
    """Every record in order, with the index of the part that it lies in."""
    owners = {member: place for place, part in enumerate(topic.parts) for member in part.members}
    entities = {entity.record.id: entity for entity in topic.entities}
    claims: defaultdict[UUID, list[Record]] = defaultdict(list)
    for claim in topic.claims:
        claims[claim.subject].append(claim.record)
    seen: set[UUID] = set()
    for link in _by_degree(topic.relationships, entities):
        new = [end for end in (link.source, link.target) if end not in seen]
        seen.update(new)
        yield from _introduced(new, entities, claims, owners)
        source, target = owners.get(link.source), owners.get(link.target)
        yield link.record, source if source == target else None
    alone = [
        (-entity.degree, -entity.mentions, entity.name, entity.record.id)
        for entity in entities.values()
    ]
    for *_, id_ in sorted(alone):
        if id_ not in seen:
            yield from _introduced([id_], entities, claims, owners)


def _introduced(
    ids: Sequence[UUID],
    entities: Mapping[UUID, EntityRecord],
    claims: Mapping[UUID, Sequence[Record]],
    owners: Mapping[UUID, int],
) -> Iterator[Owned]:
    """Entities, then the claims about them."""
    for id_ in ids:
        yield entities[id_].record, owners.get(id_)
    for id_ in ids:
        for claim in claims.get(id_, ()):
            yield claim, owners.get(id_)


def _by_degree(
    links: Iterable[RelationshipRecord], entities: Mapping[UUID, EntityRecord]
) -> list[RelationshipRecord]:
    """By combined degree, ties broken by name, then id: the same documents give the same prompt."""

    def key(link: RelationshipRecord) -> tuple[int, str, str, UUID]:
        source, target = entities[link.source], entities[link.target]
        return -(source.degree + target.degree), source.name, target.name, link.record.id

    inside = (link for link in links if link.source in entities and link.target in entities)
    return sorted(inside, key=key)


def _largest_first(parts: Sequence[SubTopic], sizes: Mapping[int, int]) -> list[int]:
    def key(place: int) -> tuple[int, str, int]:
        report = parts[place].report
        return -sizes.get(place, 0), report.text if report else "", place

    return sorted(range(len(parts)), key=key)


# --- loading records ------------------------------------------------------------------------------
def topic_records(workspace_id: UUID, ids: Sequence[UUID]) -> dict[UUID, TopicRecords]:
    """The records of each community."""
    values = {"workspace": workspace_id, "ids": list(ids)}
    entities, relationships, claims, parts = (
        _by_community(run_sql(statement, values))
        for statement in (sql.ENTITIES, sql.RELATIONSHIPS, sql.CLAIMS, sql.PARTS)
    )
    topics = {}
    for id_ in ids:
        members = tuple(_entity(*row) for row in entities[id_])
        names = {one.record.id: one.name for one in members}
        topics[id_] = TopicRecords(
            members,
            tuple(_link(names, *row) for row in relationships[id_]),
            tuple(_claim(names, *row) for row in claims[id_]),
            tuple(SubTopic(frozenset(inside), _report(*report)) for inside, *report in parts[id_]),
        )
    return topics


def _entity(
    id_: UUID, name: str, kind: str, description: str, degree: int, mentions: int
) -> EntityRecord:
    text = f"{name} ({kind}): {description}" if description else f"{name} ({kind})"
    return EntityRecord(Record.of(Kind.ENTITY, id_, text, (name,)), name, degree, mentions)


def _link(
    names: Mapping[UUID, str], id_: UUID, source: UUID, target: UUID, description: str
) -> RelationshipRecord:
    ends = names[source], names[target]
    text = f"{ends[0]} -> {ends[1]}: {description}" if description else " -> ".join(ends)
    return RelationshipRecord(Record.of(Kind.RELATIONSHIP, id_, text, ends), source, target)


def _claim(names: Mapping[UUID, str], id_: UUID, subject: UUID, *fields: str) -> ClaimRecord:
    kind, status, start, end, description = fields
    period = "–".join(dict.fromkeys(part for part in (start, end) if part))
    facts = ", ".join(part for part in (kind, status, period) if part)
    text = f"{names[subject]} ({facts}): {description}"
    return ClaimRecord(Record.of(Kind.CLAIM, id_, text, (names[subject],)), subject)


def _report(id_: UUID | None, title: str, summary: str, findings: str | None) -> Record | None:
    if id_ is None:
        return None
    text = " ".join(part for part in (f"{title}.", summary, findings) if part)
    return Record.of(Kind.REPORT, id_, text)


def _by_community(rows: Iterable[Row]) -> defaultdict[UUID, list[Any]]:
    groups: defaultdict[UUID, list[Any]] = defaultdict(list)
    for community, *row in rows:
        groups[community].append(row)
    return groups
