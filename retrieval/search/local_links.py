"""The relationships and claims of a local search's context, in GraphRAG's order and limits.

After ``build_relationship_context`` and ``_build_local_context`` of GraphRAG's local search:
relationships between two chosen entities first, by weight; then those to others, by how many chosen
entities the neighbour is related to and by weight, at most ``MOST_EACH`` per entity. Entities are
added one by one; once relationships and claims no longer fit, the previous set is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.search import graph_sql
from retrieval.search.entities_records import Known, places_of
from retrieval.search.found import Record, RecordKind
from retrieval.search.query import Query
from retrieval.search.relations_links import Link

MOST_EACH: Final = 10
"""Relationships to others per chosen entity: GraphRAG's ``top_k_relationships``."""
CLAIMS: Final = 200
UNTITLED: Final = 8
"""Tokens around a record's text: its title and number."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about an entity, in the scope."""

    id: UUID
    subject: UUID
    type: str
    status: str
    period: str
    text: str
    chunk_id: UUID


@dataclass(frozen=True, slots=True)
class Facts:
    links: tuple[Link, ...] = ()
    claims: tuple[Claim, ...] = ()


def ordered(links: Sequence[Link], chosen: Collection[UUID]) -> list[Link]:
    """Return the chosen entities' relationships in order of importance."""
    wanted = set(chosen)
    inside = [link for link in links if wanted.issuperset(link.ends)]
    leading_out = [link for link in links if len(wanted.intersection(link.ends)) == 1]
    linked: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for link in leading_out:
        neighbour = _neighbour(link, wanted)
        linked[neighbour].add(link.other(neighbour))
    inside.sort(key=lambda link: (-link.weight, link.id))
    leading_out.sort(
        key=lambda link: (-len(linked[_neighbour(link, wanted)]), -link.weight, link.id)
    )
    return inside + leading_out[: MOST_EACH * len(wanted)]


def _neighbour(link: Link, wanted: Collection[UUID]) -> UUID:
    return link.target if link.source in wanted else link.source


def within(
    budget: float, chosen: Sequence[UUID], links: Sequence[Link], claims: Sequence[Claim]
) -> Facts:
    """Return the facts of as many entities, in order, as fit into the budget."""
    fitting = Facts()
    for count in range(1, len(chosen) + 1):
        added = chosen[:count]
        facts = Facts(
            tuple(ordered(links, added)), tuple(one for one in claims if one.subject in added)
        )
        said = [link.description or link.evidence[0].predicate for link in facts.links]
        said += [claim.text for claim in facts.claims]
        if sum(tokens(text) for text in said) > budget:
            break
        fitting = facts
    return fitting


def tokens(text: str) -> float:
    """Estimate a record's tokens, at a hundredth of the cost of counting."""
    return UNTITLED + len(text.encode()) / 4


def claims_of(query: Query, entity_ids: Sequence[UUID]) -> list[Claim]:
    """Return the scope's claims about the entities, in the entities' order."""
    rows = run_sql(
        graph_sql.CLAIMS_OF,
        {
            "workspace": query.workspace_id,
            "documents": query.document_list,
            "exclude": list(query.exclude),
            "entities": list(entity_ids),
            "count": CLAIMS,
        },
    )
    return [
        Claim(
            claim,
            subject,
            kind,
            status,
            first if first == last else f"{first} to {last}".strip(),
            text,
            chunk_id,
        )
        for claim, subject, kind, status, first, last, text, chunk_id in rows
    ]


def claim_records(
    query: Query, claims: Sequence[Claim], known: Mapping[UUID, Known]
) -> list[Record]:
    places = places_of(query, [claim.chunk_id for claim in claims], wants_text=False)
    return [
        Record(
            RecordKind.CLAIM,
            claim.id,
            f"{claim.type}: {known[claim.subject].name}",
            " ".join(part for part in (claim.text, f"({_standing(claim)})") if part),
            (claim.chunk_id,),
        )
        for claim in claims
        if claim.chunk_id in places and claim.subject in known
    ]


def _standing(claim: Claim) -> str:
    return ", ".join(part for part in (f"held {claim.status}", claim.period) if part)
