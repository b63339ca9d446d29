"""Compares the walk's snapshot, the graph projection, summary trees and postings with
their rows.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence, Set
from typing import Any, Final, LiteralString

from scipy import sparse

from ingestion.health.report import NOTHING, Found
from ingestion.health.scope import Scope, found_in
from ingestion.knowledge import projection
from ingestion.models import Chunk, WalkSnapshot
from ingestion.stages import snapshot, tree
from ingestion.stages.situate.words import MOST_FREQUENT, situated, term_counts
from ingestion.stages.tree import rows
from kb_project.errors import UnavailableError
from kb_project.graph.stores import graph_store
from kb_project.graph.walk_index import WalkIndex
from kb_project.sql import run_sql

# Sums of small numbers, added in another order.
TOLERANCE: Final = 1e-3


def find_in_walk(scope: Scope) -> Found:
    """Find passages, entities, names and matrix entries that only one of the two has.

    Order is ignored: it depends on titles, and a renamed document is no drift.
    """
    rows = WalkSnapshot.objects.in_workspace(scope.workspace_id).order_by("-number")
    payload = rows.values_list("payload", flat=True).first()
    now = snapshot.read(scope.workspace_id)
    if payload is None:
        return Found(len(now.chunk_ids), ("no snapshot",)) if now.chunk_ids else NOTHING
    try:
        stored = WalkIndex.from_bytes(bytes(payload))
    except UnavailableError:
        return Found(1, ("a snapshot of another format",))
    return found_in([(str(one), None) for one in differences(stored, now)])


def differences(stored: WalkIndex, now: WalkIndex) -> Set[Hashable]:
    if _is_alike(stored, now):
        return frozenset()
    before, after = _entries(stored), _entries(now)
    moved = {
        pair
        for pair in before.keys() | after.keys()
        if abs(before.get(pair, 0.0) - after.get(pair, 0.0)) > TOLERANCE
    }
    return moved | (frozenset(_content(stored)) ^ frozenset(_content(now)))


def _is_alike(stored: WalkIndex, now: WalkIndex) -> bool:
    """Whether both are equal in the same order, the common case, which is quick to see."""
    ids = (stored.chunk_ids, stored.entity_ids, stored.name_keys)
    if ids != (now.chunk_ids, now.entity_ids, now.name_keys):
        return False
    if stored.name_entities.tolist() != now.name_entities.tolist():
        return False
    pairs = ((stored.to_chunks, now.to_chunks), (stored.to_entities, now.to_entities))
    return not any((abs(one - other).data > TOLERANCE).any() for one, other in pairs)


def _content(index: WalkIndex) -> Iterator[Hashable]:
    """Yield an index's content regardless of order; a name from a title is identified
    by its key.
    """
    entities = _identities(index)
    yield from (("passage", str(one)) for one in index.chunk_ids)
    yield from (("entity", one) for one in entities)
    yield from (
        ("name", key, entities[place])
        for key, place in zip(index.name_keys, index.name_entities.tolist(), strict=True)
    )


def _entries(index: WalkIndex) -> dict[Hashable, float]:
    """Return the weight of each step from a passage to an entity and back."""
    chunks, entities = [str(one) for one in index.chunk_ids], _identities(index)
    back = _steps(index.to_chunks, chunks, entities)
    return {**back, **_steps(index.to_entities, entities, chunks)}


def _steps(
    matrix: sparse.csr_array, rows: Sequence[str], columns: Sequence[str]
) -> dict[Hashable, float]:
    found: Any = matrix.tocoo()
    places = zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True)
    return {(columns[column], rows[row]): weight for row, column, weight in places}


def _identities(index: WalkIndex) -> list[str]:
    found = [str(one) for one in index.entity_ids]
    for key, place in zip(index.name_keys, index.name_entities.tolist(), strict=True):
        if index.entity_ids[place].int == 0:
            found[place] = key
    return found


def find_in_projection(scope: Scope) -> Found:
    """Find entities and relationships that differ between tables and projection, except marked
    ones.
    """
    difference = projection.compare(scope.workspace_id, graph_store())
    return found_in([(str(one), None) for one in sorted(difference.settled)])


def find_in_summaries(scope: Scope) -> Found:
    """Find documents whose tree is missing or outdated; if there are none, check the workspace's
    tree.
    """
    values = {"workspace": scope.workspace_id, "fingerprint": scope.fingerprint, "writer": None}
    stale = [(str(row[0]), None) for row in run_sql(rows.STALE_DOCUMENTS, values)]
    if stale:
        return found_in(stale)
    if tree.is_missed(scope.workspace_id, scope.fingerprint):
        return Found(1, ("all documents",))
    return NOTHING


SOME: Final = 20
"""Passages sampled by each check; different ones each time, so that a few nights cover many."""

# Start at a random id and take what follows: cheaper than sorting everything randomly.
SAMPLE: Final[LiteralString] = """
WITH beginning AS MATERIALIZED (SELECT gen_random_uuid() AS id)
(SELECT id FROM ingestion_chunk
  WHERE workspace_id = %(workspace)s AND id >= (SELECT id FROM beginning)
    AND version_id = ANY (%(situate)s::uuid[])
  ORDER BY id LIMIT %(most)s)
UNION
(SELECT id FROM ingestion_chunk
  WHERE workspace_id = %(workspace)s AND version_id = ANY (%(situate)s::uuid[])
  ORDER BY id LIMIT %(most)s)
LIMIT %(most)s
"""
# Passages with too many or too few terms are found by counting instead.
INDEXED: Final[LiteralString] = """
SELECT c.id, c.document_id, c.context, c.text,
       coalesce(jsonb_object_agg(p.term, p.frequency) FILTER (WHERE p.term IS NOT NULL), '{}')
  FROM ingestion_chunk AS c
  LEFT JOIN ingestion_posting AS p ON p.workspace_id = %(workspace)s AND p.chunk_id = c.id
 WHERE c.workspace_id = %(workspace)s AND c.version_id = ANY (%(situate)s::uuid[])
   AND c.terms IS NOT NULL AND (%(all)s OR c.id = ANY (%(chunks)s::uuid[]))
 GROUP BY c.workspace_id, c.id
HAVING coalesce(sum(p.frequency), 0) = c.terms OR max(p.frequency) = 32767
"""


def find_in_words(scope: Scope, *, most: int | None = None) -> Found:
    """Find passages whose postings differ from their text: all of them, or in a sample
    of ``most``.
    """
    values = {**scope.values, "all": most is None, "chunks": []}
    if most is not None:
        values["chunks"] = [row[0] for row in run_sql(SAMPLE, {**values, "most": most})]
    return found_in(
        [
            (str(id_), document_id)
            for id_, document_id, context, text, postings in run_sql(INDEXED, values)
            if json.loads(postings) != expected(context, text)
        ]
    )


def expected(context: str, text: str) -> dict[str, int]:
    counts = term_counts(situated(Chunk(context=context, text=text)))
    return {term: min(number, MOST_FREQUENT) for term, number in counts.items()}
