"""Local: from the entities a question is about to their reports, facts, claims and passages.

GraphRAG's local search with its orders and proportions. Of a context of 12,000 tokens, reports get
15 %, passages 50 %, entities with their relationships and claims the rest. Reports are ordered by
the number of matched entities, then rating. Passages: by the first entity that they mention, in
the entities' order, then by how many of its relationships they state, then by closeness to the
question.

Two things differ. GraphRAG finds entities by the vectors of their descriptions; here the question's
names and the passages nearest to it point to them. And GraphRAG takes passages in this order until
its share is full, which leaves the first entity's passages hardly any room for another's; here the
passages best for the question are found, and a model reads them in this order (all evidence of
multi-hop questions within the first 8: 0.98 instead of 0.71).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from kb_project.graph import walk as walking
from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import Floats, WalkIndex
from kb_project.sql import run_sql
from retrieval.search import hybrid, keywords, records_sql, sql, walk
from retrieval.search.entities import seeds_of
from retrieval.search.global_search.reports import statements_of
from retrieval.search.keywords import GraphView
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.records import (
    SOURCES,
    EntityFacts,
    Relationship,
    entities_of,
    entity_records,
    relationship_ids,
    relationship_records,
    relationships_stated,
    scoped_passages,
    stating,
    with_evidence,
)
from retrieval.search.results import ModeResult, Record, RecordKind, Shares

SHARES: Final = Shares(passages=0.5, records=0.35, reports=0.15)
CONTEXT: Final = 12_000
"""Tokens that the shares divide."""
ENTITIES: Final = 20
"""GraphRAG's ``top_k_mapped_entities`` of 10, oversampled by 2 and never cut back."""
RELATIONSHIPS_READ: Final = 600
"""Relationships that are ordered; a hub has thousands."""
MOST_EACH: Final = 10
"""Relationships to others per chosen entity: GraphRAG's ``top_k_relationships``."""
CLAIMS: Final = 200
UNTITLED: Final = 8
"""Tokens around a record's text: its title and number."""
MOST_REPORTS: Final = 10
"""Reports read; fewer fit into their share of the context."""
TITLE_NAMES: Final = 3


@dataclass(frozen=True, slots=True)
class _Neighbourhood:
    """What a question is about: weighted entities, every passage's score, and the best passages by
    it, with theirs."""

    start: Seeds
    view: GraphView
    chosen: Mapping[UUID, float]
    scores: Floats
    candidates: list[tuple[UUID, float]]

    def stating(self, query: Query, relationships: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
        """Return which candidates state which relationships: pairs of both ids."""
        return stating(query, relationships, [chunk_id for chunk_id, _ in self.candidates])


def search(query: Query) -> ModeResult:
    index = walk.newest_index(query)
    if index is None:
        return hybrid.instead(query)
    found = _neighbourhood(query, index)
    view, chosen = found.view, found.chosen
    facts = relationship_ids(query, list(chosen), RELATIONSHIPS_READ)
    relationships = relationships_stated(query, view, facts, is_weighed=False)
    rows = entities_of(query, chosen)
    stated = found.stating(query, [one.id for one in relationships])
    passages = _best(query, found, stated)
    ids = [one.chunk_id for one in passages]
    return ModeResult(
        hybrid.topped_up(query, passages),
        _records(query, view, chosen, relationships, rows),
        seeds=seeds_of((), chosen, rows),
        reading=arranged(ids, by_entity(view, chosen, relationships, stated, ids)),
    )


def passages(query: Query) -> list[ScoredChunk]:
    """Return the passages of ``search`` alone, at a fraction of the work."""
    index = walk.newest_index(query)
    if index is None:
        return hybrid.instead(query).chunks
    found = _neighbourhood(query, index)
    ids = relationship_ids(query, list(found.chosen), RELATIONSHIPS_READ)
    return hybrid.topped_up(query, _best(query, found, found.stating(query, ids)))


def _neighbourhood(query: Query, index: WalkIndex) -> _Neighbourhood:
    near = walk.nearest(query)
    start = keywords.begun(query, index, walking.seeds(index, query.question, near))
    within, closeness = walk.within(query, index), keywords.scaled(near)
    view = GraphView(index, within, closeness, names=start.names)
    weights, scores = walking.local(index, start, within=within)
    weights = keywords.steered(query, view, weights)
    chosen = dict(keywords.strongest(index, weights, ENTITIES))
    candidates = walking.ranked(index, scores, max(walk.CANDIDATES, query.top_k))
    return _Neighbourhood(start, view, chosen, scores, candidates)


def _best(
    query: Query, found: _Neighbourhood, stated: Iterable[tuple[UUID, UUID]]
) -> list[ScoredChunk]:
    """Return the best ``top_k`` passages around the entities, raised by similarity to the question
    and if they state a fact on what it names."""
    stating = {chunk_id for _, chunk_id in stated}
    raised = [
        (one, score * (math.exp(SHARES.records) if one in stating else 1.0))
        for one, score in walk.nearer_first(query, found.candidates)
    ]
    best = sorted(raised, key=lambda one: (-one[1], one[0]))[: query.top_k]
    return walk.explained(query, found.view.index, found.start, found.scores, best)


def arranged(found: Sequence[UUID], order: Sequence[UUID]) -> tuple[UUID, ...]:
    """Order what was found as in ``order``; what is missing there follows."""
    wanted = set(found)
    return tuple(dict.fromkeys([*(one for one in order if one in wanted), *found]))


def by_entity(
    view: GraphView,
    chosen: Collection[UUID],
    relationships: Iterable[Relationship],
    stated: Iterable[tuple[UUID, UUID]],
    passages: Iterable[UUID],
) -> list[UUID]:
    """Order passages by the first entity they mention, then by how many of its relationships they
    state, then by closeness to the question; without those that mention none."""
    view = replace(view, within=view.index.chunk_ids.mask(set(passages)))
    ends = {one.id: one.ends for one in relationships}
    facts = Counter((end, chunk_id) for one, chunk_id in stated for end in ends[one])
    found: dict[UUID, None] = {}
    places = view.index.entity_ids.places(chosen).tolist()
    for entity_id, place in zip(chosen, places, strict=True):
        mentioning = keywords.passages_of(view, place)
        counts = {chunk_id: facts[entity_id, chunk_id] for chunk_id in mentioning}
        found |= dict.fromkeys(sorted(mentioning, key=lambda one: -counts[one]))
    return list(found)


def _records(
    query: Query,
    view: GraphView,
    chosen: Mapping[UUID, float],
    relationships: Sequence[Relationship],
    rows: Mapping[UUID, EntityFacts],
) -> tuple[Record, ...]:
    """Return reports, then entities, their relationships and claims, each within its budget."""
    reports = report_records(query, list(chosen), rows, CONTEXT * SHARES.reports)
    entities = entity_records(query, view, rows, chosen)
    left = CONTEXT * SHARES.records - sum(tokens(one.title + one.text) for one in entities)
    claims = claims_of(query, list(chosen))
    facts = fitting_facts(left, [one.id for one in entities], relationships, claims)
    ends = {end for one in facts.relationships for end in one.ends}
    rows = {**rows, **entities_of(query, ends - rows.keys())}
    known = [one for one in facts.relationships if all(end in rows for end in one.ends)]
    ranked = [(one, one.weight) for one in with_evidence(query, known)]
    return (
        *reports,
        *entities,
        *relationship_records(query, view, ranked, rows),
        *claim_records(query, facts.claims, rows),
    )


def tokens(text: str) -> float:
    """Estimate a record's tokens, at a hundredth of the cost of counting."""
    return UNTITLED + len(text.encode()) / 4


# --- relationships and claims ---------------------------------------------------------------------
#
# After ``build_relationship_context`` and ``_build_local_context`` of GraphRAG's local search:
# relationships between two chosen entities first, by weight; then those to others, by how many
# chosen entities the neighbour is related to and by weight, at most ``MOST_EACH`` per entity.


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


_Numbered = tuple[Relationship, int, int]


@dataclass(frozen=True, slots=True)
class Facts:
    relationships: tuple[Relationship, ...] = ()
    claims: tuple[Claim, ...] = ()


def by_importance(found: Iterable[Relationship], chosen: Sequence[UUID]) -> list[Relationship]:
    """Return the chosen entities' relationships in order of importance."""
    return _of_first(_numbered(found, chosen), len(chosen))


def _numbered(found: Iterable[Relationship], chosen: Iterable[UUID]) -> list[_Numbered]:
    """Return relationships, the heaviest first, with numbers for their ends, the lower one first:
    the chosen entities have the first, in their order. Ids would be hashed a thousand times over.
    """
    numbers = {one: number for number, one in enumerate(chosen)}

    def number(entity_id: UUID) -> int:
        return numbers.setdefault(entity_id, len(numbers))

    heaviest_first = sorted(found, key=lambda one: (-one.weight, one.id.int))
    ends = ((one, number(one.source), number(one.target)) for one in heaviest_first)
    return [(one, min(source, target), max(source, target)) for one, source, target in ends]


def _of_first(numbered: Iterable[_Numbered], count: int) -> list[Relationship]:
    """Return the relationships of the first ``count`` entities in order of importance."""
    inside: list[Relationship] = []
    leading_out: list[tuple[Relationship, int]] = []
    related: defaultdict[int, set[int]] = defaultdict(set)
    for one, first, second in numbered:
        if second < count:
            inside.append(one)
        elif first < count:
            leading_out.append((one, second))
            related[second].add(first)
    leading_out.sort(key=lambda each: -len(related[each[1]]))
    return inside + [one for one, _ in leading_out[: MOST_EACH * count]]


def fitting_facts(
    budget: float, chosen: Sequence[UUID], found: Sequence[Relationship], claims: Sequence[Claim]
) -> Facts:
    """Return the facts of as many entities, in order, as fit into the budget."""
    fitting, numbered = Facts(), _numbered(found, chosen)
    for count in range(1, len(chosen) + 1):
        added = chosen[:count]
        facts = Facts(
            tuple(_of_first(numbered, count)), tuple(one for one in claims if one.subject in added)
        )
        texts = [one.description for one in facts.relationships]
        texts += [claim.text for claim in facts.claims]
        if sum(tokens(text) for text in texts) > budget:
            break
        fitting = facts
    return fitting


def claims_of(query: Query, entity_ids: Sequence[UUID]) -> list[Claim]:
    """Return the scope's claims about the entities, in the entities' order."""
    parameters = query.parameters(entities=list(entity_ids), count=CLAIMS)
    claims = []
    for id_, subject, kind, status, first, last, text, chunk_id in run_sql(
        records_sql.CLAIMS_OF, parameters
    ):
        period = first if first == last else f"{first} to {last}".strip()
        claims.append(Claim(id_, subject, kind, status, period, text, chunk_id))
    return claims


def claim_records(
    query: Query, claims: Sequence[Claim], rows: Mapping[UUID, EntityFacts]
) -> list[Record]:
    inside = scoped_passages(query, [claim.chunk_id for claim in claims], wants_text=False)
    records = []
    for claim in claims:
        if claim.chunk_id in inside and claim.subject in rows:
            standing = ", ".join(filter(None, (f"held {claim.status}", claim.period)))
            text = " ".join(filter(None, (claim.text, f"({standing})")))
            title = f"{claim.type}: {rows[claim.subject].name}"
            records.append(Record(RecordKind.CLAIM, claim.id, title, text, (claim.chunk_id,)))
    return records


# --- reports --------------------------------------------------------------------------------------


def report_records(
    query: Query, chosen: Sequence[UUID], rows: Mapping[UUID, EntityFacts], budget: float
) -> list[Record]:
    """Return reports in order, as many as fit into the budget; at least one.

    For a scoped question a report contains only what rests on the scope, under the names of its
    entities: its title and summary may speak of other documents.
    """
    parameters = query.parameters(entities=list(chosen), count=MOST_REPORTS)
    reports = run_sql(sql.REPORTS_ON, parameters)
    statements = statements_of(query, [row[0] for row in reports])
    records: list[Record] = []
    for report_id, title, summary, rating, members in reports:
        inside = statements[report_id]
        sources = tuple(dict.fromkeys(chunk for one in inside for chunk in one.chunks))[:SOURCES]
        if not sources:
            continue
        if query.documents is not None:
            named = [rows[one].name for one in chosen if one in members and one in rows]
            title, summary = ", ".join(named[:TITLE_NAMES]), ""
        # The summary's own sentences only if it is not included as a whole.
        texts = [one.text for one in inside if not (one.is_summary and summary)]
        text = "\n".join(dict.fromkeys([summary, *texts])).strip()
        budget -= tokens(text)
        if records and budget < 0:
            break
        score = len(members) + float(rating) / 100
        records.append(Record(RecordKind.REPORT, report_id, title, text, sources, score))
    return records
