"""Local: from the entities a question is about to their passages, facts and reports.

After GraphRAG's local search: the entities come first, then their text, their relationships
(between two of them before others) and the reports of their communities. GraphRAG fills a prompt
with each kind in a share of 50, 35 and 15 %; passages alone rank best by the entities they mention,
so here facts and reports raise the passages they rest on, by their shares. (Three lists fused by
rank find 0.90 of multi-hop evidence within the first 8 and 0.58 of single passages within the first
5; raising finds 0.98 and 0.79.) GraphRAG finds entities by the vectors of their descriptions; here
the question's names and the passages nearest to it point to them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Final
from uuid import UUID

import numpy as np

from kb_project.graph import walk as walking
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.sql import run_sql
from retrieval import sql
from retrieval.search import fuse, snapshots, walk
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.reasons import reasons

ENTITIES: Final = 10
FACTS: Final = 10 * ENTITIES
REPORTS: Final = 5
PASSAGES: Final = 20
"""Passages that facts raise, and that reports raise."""
FACTS_SHARE: Final = 0.35
REPORTS_SHARE: Final = 0.15
REPORT: Final = ("Behind a topic's report",)
FACT: Final = ("Holds facts on what the question names",)


def search(query: Query) -> list[ScoredChunk]:
    index = snapshots.newest(query)
    if index is None:
        return fuse.search(query)
    start = walking.seeds(index, query.question, walk.nearest(query))
    entities, chunks = walking.local(index, start, within=walk.within(query, index))
    chosen = strongest(index, entities)
    facts, reports = _facts(query, chosen), _reports(query, chosen)
    found = walking.ranked(index, chunks, max(walk.CANDIDATES, query.top_k))
    raised = _raised(walk.nearer_first(query, found), facts, reports)[: query.top_k]
    why = reasons(query.workspace_id, index, start, chunks, [chunk_id for chunk_id, _ in raised])
    told = dict.fromkeys(reports, REPORT) | dict.fromkeys(facts, FACT)
    return [
        ScoredChunk(chunk_id, score, why[chunk_id] + told.get(chunk_id, ()))
        for chunk_id, score in raised
    ]


def _raised(
    found: Sequence[tuple[UUID, float]], facts: Container[UUID], reports: Container[UUID]
) -> list[tuple[UUID, float]]:
    raised = [
        (
            chunk_id,
            score
            * math.exp(FACTS_SHARE * (chunk_id in facts) + REPORTS_SHARE * (chunk_id in reports)),
        )
        for chunk_id, score in found
    ]
    return sorted(raised, key=lambda one: (-one[1], one[0]))


def strongest(index: WalkIndex, entities: Floats) -> list[UUID]:
    """Ids of the entities that the question is most about, strongest first."""
    best = np.argsort(-entities, kind="stable")[: ENTITIES * 2].tolist()
    found = [index.entity_ids[place] for place in best if entities[place] > 0]
    return [entity_id for entity_id in found if entity_id != NO_ENTITY][:ENTITIES]


def _facts(query: Query, entities: Sequence[UUID]) -> list[UUID]:
    parameters = _parameters(query, entities) | {"facts": FACTS}
    return [row[0] for row in run_sql(sql.CHUNKS_OF_FACTS, parameters)]


def _reports(query: Query, entities: Sequence[UUID]) -> list[UUID]:
    parameters = _parameters(query, entities) | {"reports": REPORTS}
    return [row[0] for row in run_sql(sql.CHUNKS_OF_REPORTS, parameters)]


def _parameters(query: Query, entities: Sequence[UUID]) -> dict[str, object]:
    return {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "entities": list(entities),
        "count": PASSAGES,
    }
