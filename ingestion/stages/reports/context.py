"""The records that a community's report is written from, chosen for a budget of tokens.

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
from typing import Final
from uuid import UUID

from kb_project.llm.tokens import count_tokens, truncate_tokens

BUDGET: Final = 8_000
"""Tokens of records in one prompt: GraphRAG's own limit."""
LONGEST_RECORD: Final = 500
"""Tokens of one entity, relationship or claim, so that no endless description fills a prompt."""
LONGEST_REPORT: Final = 2_000
# A letter and up to six digits, at three per token.
_LABEL_TOKENS: Final = 3
_MANY_CHARACTERS: Final = 10


class Kind(StrEnum):
    """The kind of a record, as stored in references to it."""

    ENTITY = "entity"
    RELATIONSHIP = "relationship"
    CLAIM = "claim"
    REPORT = "report"


LETTERS: Final[Mapping[Kind, str]] = {
    Kind.ENTITY: "E",
    Kind.RELATIONSHIP: "R",
    Kind.CLAIM: "C",
    Kind.REPORT: "T",
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
        longest = LONGEST_REPORT if kind is Kind.REPORT else LONGEST_RECORD
        line = " ".join(text.replace("\0", "").split())
        if len(line) > longest:
            line = truncate_tokens(line[: longest * _MANY_CHARACTERS], longest).rstrip()
        return cls(kind, id_, line, names)

    @property
    def tokens(self) -> int:
        """The most that the line costs, including label and line break."""
        return count_tokens(f" {self.text}\n") + _LABEL_TOKENS

    @property
    def size(self) -> int:
        """Never less than ``tokens``: no token is shorter than a byte."""
        return len(self.text.encode("utf-8", "replace")) + 2 + _LABEL_TOKENS


@dataclass(frozen=True, slots=True)
class Node:
    """An entity; ``degree`` counts its neighbours in the whole workspace."""

    record: Record
    name: str
    degree: int = 0
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship between two nodes of the community."""

    record: Record
    source: UUID
    target: UUID


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim about a node."""

    record: Record
    subject: UUID


@dataclass(frozen=True, slots=True)
class Part:
    """A sub-community: its members and its report."""

    members: frozenset[UUID]
    report: Record | None


@dataclass(frozen=True, slots=True)
class Material:
    """All the records of a community; its parts share no members."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    claims: tuple[Statement, ...] = ()
    parts: tuple[Part, ...] = ()


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


def build(material: Material, budget: int = BUDGET) -> Context:
    """Choose the records within the budget; nothing that would still fit is left out."""
    records = list(_owned(material))
    if sum(record.size for record, _ in records) <= budget:
        return labelled(record for record, _ in records)  # most communities need no counting
    sizes = _sizes(records)
    total = sum(record.tokens for record, _ in records)
    reports: dict[int, Record] = {}
    for place in _largest_first(material.parts, sizes):
        report = material.parts[place].report
        if total <= budget:
            break
        # A report longer than what it replaces would make matters worse.
        if report is not None and report.tokens < sizes[place]:
            total += report.tokens - sizes[place]
            reports[place] = report
    own = (record for record, owner in records if owner is None or owner not in reports)
    return labelled(_fitting([*reports.values(), *own], budget))


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


def _owned(material: Material) -> Iterator[Owned]:
    """Every record in order, with the index of the part that it lies in."""
    owners = {member: place for place, part in enumerate(material.parts) for member in part.members}
    nodes = {node.record.id: node for node in material.nodes}
    claims: defaultdict[UUID, list[Record]] = defaultdict(list)
    for claim in material.claims:
        claims[claim.subject].append(claim.record)
    seen: set[UUID] = set()
    for edge in _by_degree(material.edges, nodes):
        new = [end for end in (edge.source, edge.target) if end not in seen]
        seen.update(new)
        yield from _introduced(new, nodes, claims, owners)
        source, target = owners.get(edge.source), owners.get(edge.target)
        yield edge.record, source if source == target else None
    alone = [(-node.degree, -node.mentions, node.name, node.record.id) for node in nodes.values()]
    for *_, id_ in sorted(alone):
        if id_ not in seen:
            yield from _introduced([id_], nodes, claims, owners)


def _introduced(
    ids: Sequence[UUID],
    nodes: Mapping[UUID, Node],
    claims: Mapping[UUID, Sequence[Record]],
    owners: Mapping[UUID, int],
) -> Iterator[Owned]:
    """Entities, then the claims about them."""
    for id_ in ids:
        yield nodes[id_].record, owners.get(id_)
    for id_ in ids:
        for claim in claims.get(id_, ()):
            yield claim, owners.get(id_)


def _by_degree(edges: Iterable[Edge], nodes: Mapping[UUID, Node]) -> list[Edge]:
    """By combined degree, ties broken by name, then id: the same documents give the same prompt."""

    def key(edge: Edge) -> tuple[int, str, str, UUID]:
        source, target = nodes[edge.source], nodes[edge.target]
        return -(source.degree + target.degree), source.name, target.name, edge.record.id

    inside = (edge for edge in edges if edge.source in nodes and edge.target in nodes)
    return sorted(inside, key=key)


def _sizes(records: Iterable[Owned]) -> Counter[int]:
    """Tokens of each part's own records."""
    sizes: Counter[int] = Counter()
    for record, owner in records:
        if owner is not None:
            sizes[owner] += record.tokens
    return sizes


def _largest_first(parts: Sequence[Part], sizes: Mapping[int, int]) -> list[int]:
    def key(place: int) -> tuple[int, str, int]:
        report = parts[place].report
        return -sizes.get(place, 0), report.text if report else "", place

    return sorted(range(len(parts)), key=key)
