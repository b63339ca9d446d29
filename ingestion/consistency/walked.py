"""The walk's snapshot against the rows it is made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from typing import Any, Final

from scipy import sparse

from ingestion.consistency.report import NOTHING, Found
from ingestion.consistency.scope import Scope, found_in
from ingestion.models import WalkSnapshot
from ingestion.stages import snapshot
from kb_project.errors import UnavailableError
from kb_project.graph.walk_index import WalkIndex

# Sums of small numbers, added up in another order.
TOLERANCE: Final = 1e-3


def find(scope: Scope) -> Found:
    """Passages, entities, names and entries of the matrices that one has and the other has not.

    In whatever order: titles decide it, and a renamed document is no drift.
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
    """Whether the two are the same in the same order, as they mostly are: seen at a glance."""
    ids = (stored.chunk_ids, stored.entity_ids, stored.name_keys)
    if ids != (now.chunk_ids, now.entity_ids, now.name_keys):
        return False
    if stored.name_entities.tolist() != now.name_entities.tolist():
        return False
    pairs = ((stored.to_chunks, now.to_chunks), (stored.to_entities, now.to_entities))
    return not any((abs(one - other).data > TOLERANCE).any() for one, other in pairs)


def _content(index: WalkIndex) -> Iterator[Hashable]:
    """All an index says, without its order: what a title names has no id of its own, but a key."""
    entities = _identities(index)
    yield from (("passage", str(one)) for one in index.chunk_ids)
    yield from (("entity", one) for one in entities)
    yield from (
        ("name", key, entities[place])
        for key, place in zip(index.name_keys, index.name_entities.tolist(), strict=True)
    )


def _entries(index: WalkIndex) -> dict[Hashable, float]:
    """What each step from a passage to an entity weighs, and each step back."""
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
