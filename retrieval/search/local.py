"""Local: from the entities a question is about to their passages, facts and reports.

After GraphRAG's local search: the entities come first, then their text, their relationships
(between two of them before others) and the reports of their communities, in the shares of its
context budget, 50, 35 and 15 %. Those shares weigh the three lists of passages when they are fused.
GraphRAG finds entities by the vectors of their descriptions; here the question's names and the
passages nearest to it point to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
DEPTH: Final = 50
SHARES: Final = (0.5, 0.35, 0.15)
FACT: Final = ("Holds facts on what the question names",)


def search(query: Query) -> list[ScoredChunk]:
    index = snapshots.newest(query)
    if index is None:
        return fuse.search(query)
    start = walking.seeds(index, query.question, walk.nearest(query))
    entities, chunks = walking.local(index, start, within=walk.within(query, index))
    texts = [chunk_id for chunk_id, _ in walking.ranked(index, chunks, max(DEPTH, query.top_k))]
    chosen = strongest(index, entities)
    facts, reports = _facts(query, chosen), _reports(query, chosen)
    fused = fuse.fuse([_as_found(one) for one in (texts, facts, reports)], SHARES)[: query.top_k]
    known = [hit.chunk_id for hit in fused if hit.chunk_id in index.chunk_positions]
    why = reasons(query.workspace_id, index, start, chunks, known)
    told = dict.fromkeys(reports, ("Behind a topic's report",)) | dict.fromkeys(facts, FACT)
    return [
        replace(hit, why=why.get(hit.chunk_id, ()) + told.get(hit.chunk_id, ())) for hit in fused
    ]


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
        "count": DEPTH,
    }


def _as_found(chunk_ids: Sequence[UUID]) -> list[ScoredChunk]:
    return [ScoredChunk(chunk_id, 0.0) for chunk_id in chunk_ids]
