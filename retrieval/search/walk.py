"""Walk: personalised PageRank over passages and the names they share.

Starts at the names in the question and, with little weight, at the passages nearest to it; reaches
passages that share no word with the question through the names between. See
``kb_project.graph.walk``.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ingestion.models import Entity, WalkSnapshot
from kb_project.errors import UnavailableError
from kb_project.graph import walk as walking
from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.sql import run_sql
from retrieval.search import dense, hybrid, lexical, sql
from retrieval.search.query import Query, ScoredChunk

NEAREST: Final = 100
"""Passages whose similarity sets the scale of those the walk starts from."""
CANDIDATES: Final = 200
"""At least this many passages have their score raised by similarity to the question."""
MEANING: Final = 2.0
WORDS: Final = 1.0
"""Measured: without words 0.70 of single-passage evidence is within the first 5, with them 0.76,
and the evidence of multi-hop questions stays within the first 8."""
PART: Final = 4 * 1024**2
"""Bytes of a snapshot that are read at once: a connection keeps the memory of its largest row."""
RENEWED: Final = "snapshot_renewed"
SHOWN: Final = 3
"""Names given as the reason for a passage."""


def search(query: Query) -> list[ScoredChunk]:
    index = newest_index(query)
    if index is None:
        return hybrid.search(query)
    start = walking.seeds(index, query.question, nearest(query))
    scores = walking.walk(index, start, within=within(query, index), walk_on=walking.WALK_ON)
    return best(query, index, start, scores)


def best(query: Query, index: WalkIndex, start: Seeds, scores: Floats) -> list[ScoredChunk]:
    """Return the ``top_k`` passages by their scores and their similarity to the question."""
    candidates = walking.ranked(index, scores, max(CANDIDATES, query.top_k))
    found = nearer_first(query, candidates)[: query.top_k]
    return explained(query, index, start, scores, found)


def nearest(query: Query) -> list[tuple[UUID, float]]:
    """Return passages near the question by their vectors, or by its words while there are none."""
    found = dense.nearest(query, NEAREST)
    dense.note_pending(query)
    return found or [(chunk_id, score) for chunk_id, score, *_ in lexical.best(query, NEAREST)]


def within(query: Query, index: WalkIndex) -> NDArray[np.bool_] | None:
    """Return a mask of the index's chunks in the scope; None if all are."""
    if query.documents is None:
        return None
    rows = run_sql(sql.CHUNKS_OF_DOCUMENTS, query.parameters())
    return index.chunk_ids.mask([chunk_id for (chunk_id,) in rows])


def nearer_first(query: Query, found: list[tuple[UUID, float]]) -> list[tuple[UUID, float]]:
    """Raise scores by ``exp(2 · cosine + BM25 / best BM25)``.

    A passage without a vector counts as the farthest, one that shares no word as zero.
    """
    cosines = dense.cosines(query, [chunk_id for chunk_id, _ in found])
    farthest = min(cosines.values(), default=0.0)
    by_words = {chunk_id: score for chunk_id, score, *_ in lexical.best(query, CANDIDATES)}
    most = max(by_words.values(), default=1.0)

    def raised(chunk_id: UUID, score: float) -> float:
        meaning = MEANING * cosines.get(chunk_id, farthest)
        return score * math.exp(meaning + WORDS * by_words.get(chunk_id, 0.0) / most)

    ranked = [(chunk_id, raised(chunk_id, score)) for chunk_id, score in found]
    return sorted(ranked, key=lambda one: (-one[1], one[0]))


# --- the matrices, cached in the process ----------------------------------------------------------


def newest_index(query: Query) -> WalkIndex | None:
    """Return the latest graph from the snapshot stage; None, with a note, if there is none.

    Every search looks up the newest number, so a process never walks an old graph; what it loads
    for a number never changes.
    """
    try:
        index = _newest(query.workspace_id)
    except UnavailableError as error:
        query.note(error.code, f"{error.happened} {hybrid.INSTEAD}")
        return None
    if index is None:
        query.note("graph_pending", f"The graph of names is still being built. {hybrid.INSTEAD}")
    return index


def _newest(workspace_id: UUID, *, is_again: bool = False) -> WalkIndex | None:
    numbers = WalkSnapshot.objects.in_workspace(workspace_id).order_by("-number")
    number = numbers.values_list("number", flat=True).first()
    if number is None:
        return None
    load = partial(_load, workspace_id, number)
    try:
        return CACHE.get(workspace_id, number, load, lambda index: index.nbytes)
    except UnavailableError as error:
        if is_again or error.code != RENEWED:
            raise
    return _newest(workspace_id, is_again=True)


def _load(workspace_id: UUID, number: int) -> WalkIndex:
    payload = bytearray()
    while len(payload) % PART == 0:
        values = {"workspace": workspace_id, "number": number, "first": len(payload) + 1}
        part = run_sql(sql.SNAPSHOT_PART, values | {"length": PART})
        if not part:  # replaced since the number was read
            raise UnavailableError(
                "The graph was rebuilt while you were searching.",
                code=RENEWED,
                next_step="Ask again.",
            )
        if not part[0][0]:
            break
        payload += part[0][0]
    return WalkIndex.from_bytes(bytes(payload))


# --- why a passage was reached --------------------------------------------------------------------


def explained(
    query: Query,
    index: WalkIndex,
    start: Seeds,
    scores: Floats,
    found: Sequence[tuple[UUID, float]],
) -> list[ScoredChunk]:
    """Give each passage its reason: the question's names it mentions, else the name that led to
    it."""
    asked = {place: name for name, places in start.names.items() for place in places}
    places = index.chunk_ids.places([chunk_id for chunk_id, _ in found]).tolist()
    rows = {
        chunk_id: _mentioned(index, place)
        for (chunk_id, _), place in zip(found, places, strict=True)
    }
    near = np.fromiter({place for row in rows.values() for place in row}, np.int64)
    entities = dict(zip(near.tolist(), index.to_entities[near] @ scores, strict=True))
    bridges = {
        chunk_id: max(row, key=lambda place: row[place] * float(entities[place]))
        for chunk_id, row in rows.items()
        if row and not asked.keys() & row.keys()
    }
    names = _names(query, index, bridges)

    def reason(chunk_id: UUID) -> str:
        mentioned = dict.fromkeys(name for place, name in asked.items() if place in rows[chunk_id])
        if mentioned:
            return f"Mentions “{'”, “'.join(list(mentioned)[:SHOWN])}”"
        bridge = names.get(chunk_id)
        return f"Reached through “{bridge}”" if bridge else "Close to the question"

    return [ScoredChunk(chunk_id, score, (reason(chunk_id),)) for chunk_id, score in found]


def _mentioned(index: WalkIndex, place: int) -> dict[int, float]:
    """Return a chunk's entities, each with the share of its walk that leads here."""
    first, last = index.to_chunks.indptr[place : place + 2].tolist()
    entities = index.to_chunks.indices[first:last].tolist()
    return dict(zip(entities, index.to_chunks.data[first:last].tolist(), strict=True))


def _names(query: Query, index: WalkIndex, bridges: dict[UUID, int]) -> dict[UUID, str]:
    """Return the name of each chunk's entity."""
    ids = {chunk_id: index.entity_ids[place] for chunk_id, place in bridges.items()}
    rows = Entity.objects.in_workspace(query.workspace_id)
    wanted = set(ids.values()) - {NO_ENTITY}
    names = dict(rows.filter(pk__in=wanted).values_list("pk", "name"))
    return {chunk_id: names[one] for chunk_id, one in ids.items() if one in names}


# --- what is kept in a process --------------------------------------------------------------------
MOST_BYTES: Final = 256 * 1024**2
"""A workspace of 100,000 passages takes some 65 MB of matrices and names, one of 700 a hundredth of
that: counting workspaces would bound nothing."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: Hashable
    value: Any
    size: int


class ProcessCache:
    """Values by workspace. The least recently used leave first; the one just made stays,
    however large."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._making: defaultdict[UUID, threading.Lock] = defaultdict(threading.Lock)

    @property
    def size(self) -> int:
        """The bytes of what is kept, as estimated when it was made."""
        with self._lock:
            return sum(one.size for one in self._kept.values())

    def get(
        self,
        workspace_id: UUID,
        stamp: Hashable,
        make: Callable[[], Value],
        size: Callable[[Value], int],
    ) -> Value:
        """Return the value with this stamp, made now unless it is kept; ``size`` is in bytes.

        Of several threads that ask for the same, one makes it and the others wait.
        """
        found = self._find(workspace_id)
        if found is None or found.stamp != stamp:
            with self._lock:
                making = self._making[workspace_id]
            with making:
                found = self._find(workspace_id)
                if found is None or found.stamp != stamp:
                    value = make()
                    found = _Kept(stamp, value, size(value))
                    self._keep(workspace_id, found)
        kept: Value = found.value
        return kept

    def _find(self, workspace_id: UUID) -> _Kept | None:
        with self._lock:
            found = self._kept.get(workspace_id)
            if found is not None:
                self._kept.move_to_end(workspace_id)
            return found

    def _keep(self, workspace_id: UUID, made: _Kept) -> None:
        with self._lock:
            self._kept[workspace_id] = made
            self._kept.move_to_end(workspace_id)
            held = sum(one.size for one in self._kept.values())
            while held > self._most and len(self._kept) > 1:
                gone, left = self._kept.popitem(last=False)
                held -= left.size
                self._making.pop(gone, None)


CACHE: Final = ProcessCache(MOST_BYTES)
