"""Compare derived data with its sources where a statement alone cannot; functions return drift.

The walk's snapshot, the graph projection, summary trees and postings are compared with their rows;
documents' names and facts with their extractions and the active overrides.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, LiteralString

from scipy import sparse

from ingestion.health.state import DriftRow, WorkspaceState
from ingestion.knowledge import projection
from ingestion.models import Chunk, WalkSnapshot
from ingestion.resolution.keys import entity_id, link_id
from ingestion.stages import snapshot, tree
from ingestion.stages.resolve import applying
from ingestion.stages.resolve.applying import PREDICATE_LENGTH
from ingestion.stages.resolve.names import Resolution
from ingestion.stages.situate import MOST_FREQUENT, term_counts
from ingestion.stages.tree import sql
from ingestion.vectors.chunks import situated
from kb_project.errors import UnavailableError
from kb_project.graph.walk_index import NO_ENTITY, WalkIndex
from kb_project.ports import graph_store
from kb_project.sql import run_sql

# --- the walk's snapshot --------------------------------------------------------------------------
# Sums of small numbers, added in another order.
TOLERANCE: Final = 1e-3


def in_snapshot(state: WorkspaceState) -> Iterable[DriftRow]:
    """Find passages, entities, names and matrix entries that only one of the two has.

    Order is ignored: it depends on titles, and a renamed document is no drift.
    """
    stored_rows = WalkSnapshot.objects.in_workspace(state.workspace_id).order_by("-number")
    payload = stored_rows.values_list("payload", flat=True).first()
    now = snapshot.read(state.workspace_id)
    if payload is None:
        return [(str(one), None) for one in now.chunk_ids]
    try:
        stored = WalkIndex.from_bytes(bytes(payload))
    except UnavailableError:
        return [("a snapshot of another format", None)]
    return [(str(one), None) for one in differences(stored, now)]


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
    tables = (stored.chunk_ids, stored.entity_ids, stored.entities_by_key)
    if tables != (now.chunk_ids, now.entity_ids, now.entities_by_key):
        return False
    pairs = ((stored.to_chunks, now.to_chunks), (stored.to_entities, now.to_entities))
    return not any((abs(one - other).data > TOLERANCE).any() for one, other in pairs)


def _content(index: WalkIndex) -> Iterator[Hashable]:
    """Yield an index's content regardless of order."""
    entities = _identities(index)
    yield from (("passage", str(one)) for one in index.chunk_ids)
    yield from (("entity", one) for one in entities)
    for key, places in index.entities_by_key.items():
        yield from (("name", key, entities[place]) for place in places)


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
    """Return what identifies each entity; a name from a title has no id, but a key."""
    found = [str(one) for one in index.entity_ids]
    for key, places in index.entities_by_key.items():
        for place in places:
            if found[place] == str(NO_ENTITY):
                found[place] = key
    return found


# --- the graph projection and the summaries -------------------------------------------------------
def in_projection(state: WorkspaceState) -> Iterable[DriftRow]:
    """Find entities and relationships that differ between tables and projection.

    Those that wait for a refresh are left out.
    """
    difference = projection.compare(state.workspace_id, graph_store())
    return [(str(one), None) for one in difference.lasting]


def in_summaries(state: WorkspaceState) -> Iterable[DriftRow]:
    """Find documents whose tree is missing or outdated; without any, check the workspace's tree."""
    values = {"workspace": state.workspace_id, "fingerprint": state.fingerprint, "writer": None}
    if stale := run_sql(sql.STALE_DOCUMENTS, values):
        return [(str(row[0]), None) for row in stale]
    is_missed = tree.is_missed(state.workspace_id, state.fingerprint)
    return [("all documents", None)] if is_missed else []


# --- words ----------------------------------------------------------------------------------------
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


def in_words(state: WorkspaceState, *, most: int = SOME) -> Iterable[DriftRow]:
    """Find passages whose postings differ from their text: among a sample, or all if deep."""
    values = {**state.values, "all": state.is_deep, "chunks": []}
    if not state.is_deep:
        values["chunks"] = [row[0] for row in run_sql(SAMPLE, {**values, "most": most})]
    return [
        (str(chunk_id), document_id)
        for chunk_id, document_id, context, text, postings in run_sql(INDEXED, values)
        if json.loads(postings) != expected_terms(context, text)
    ]


def expected_terms(context: str, text: str) -> dict[str, int]:
    counts = term_counts(situated(Chunk(context=context, text=text)))
    return {term: min(number, MOST_FREQUENT) for term, number in counts.items()}


# --- names and facts ------------------------------------------------------------------------------
GROUP: Final = 64
"""Documents resolved at a time."""

VERSIONS: Final[LiteralString] = """
SELECT document_id, id FROM ingestion_documentversion
 WHERE workspace_id = %(workspace)s AND id = ANY (%(resolve)s::uuid[]) ORDER BY document_id
"""
# All rows of the documents' names and facts, each as one text with its document.
FACTS: Final[LiteralString] = """
SELECT document_id, 'mention', concat_ws(' ', entity_id, chunk_id, start, "end")
  FROM ingestion_mention
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'evidence', concat_ws(' ', relationship_id, chunk_id, start, predicate)
  FROM ingestion_evidence
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'fragment', concat_ws(' ', entity_id, chunk_id, start, "end", text)
  FROM ingestion_fragment
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'claim',
       concat_ws(' ', subject_id, coalesce(object_id::text, '-'), chunk_id, start, "end",
                 description)
  FROM ingestion_claim
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'hidden', key
  FROM ingestion_hiddenname
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
"""


def in_facts(state: WorkspaceState) -> Iterable[DriftRow]:
    """Find documents whose rows differ from their extractions under the active overrides.

    Each document is resolved again without writing, so only a deep check does it.
    """
    versions: dict[uuid.UUID, uuid.UUID] = (
        dict(run_sql(VERSIONS, state.values)) if state.is_deep else {}
    )
    documents = sorted(versions)
    for first in range(0, len(documents), GROUP):
        group = {one: versions[one] for one in documents[first : first + GROUP]}
        yield from _differing(state.workspace_id, group)


def _differing(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> Iterator[DriftRow]:
    stored: defaultdict[uuid.UUID, Counter[Hashable]] = defaultdict(Counter)
    values = {"workspace": workspace_id, "documents": list(versions)}
    for document_id, kind, text in run_sql(FACTS, values):
        stored[document_id][kind, text] += 1
    for resolution in applying.read_documents(workspace_id, versions):
        if expected_facts(workspace_id, resolution) != stored[resolution.document_id]:
            yield str(resolution.document_id), resolution.document_id


def expected_facts(workspace_id: uuid.UUID, resolution: Resolution) -> Counter[Hashable]:
    """Return the rows that ``saving`` writes.

    Duplicate mentions or quotes of a place are stored once.
    """
    found: Counter[Hashable] = Counter(
        {
            *_mentions(workspace_id, resolution),
            *_evidence(workspace_id, resolution),
            *(("hidden", key) for key in resolution.hidden),
        }
    )
    for note in resolution.notes:
        entity, quote = entity_id(workspace_id, *note.entity), note.fragment
        text = _text(entity, note.chunk_id, quote.start, quote.end, quote.text)
        found["fragment", text] += 1
    for statement in resolution.statements:
        subject, claim = entity_id(workspace_id, *statement.subject), statement.claim
        other = entity_id(workspace_id, *statement.object) if statement.object else "-"
        span = (statement.chunk_id, claim.start, claim.end)
        found["claim", _text(subject, other, *span, claim.description)] += 1
    return found


def _mentions(workspace_id: uuid.UUID, resolution: Resolution) -> Iterator[Hashable]:
    for name in resolution.names:
        entity = entity_id(workspace_id, *name.entity)
        yield "mention", _text(entity, name.chunk_id, name.start, name.end)


def _evidence(workspace_id: uuid.UUID, resolution: Resolution) -> Iterator[Hashable]:
    for fact in resolution.facts:
        link = link_id(workspace_id, fact.source, fact.target)
        predicate = fact.relation.predicate[:PREDICATE_LENGTH]
        yield "evidence", _text(link, fact.chunk_id, fact.relation.start, predicate)


def _text(*parts: object) -> str:
    return " ".join(map(str, parts))
