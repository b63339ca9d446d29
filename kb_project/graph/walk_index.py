"""The graph for the walk: chunks and the entities they mention, as sparse matrices.

Built from rows by the snapshot stage, stored as one versioned blob without pickles, loaded by
search. Nodes are chunks and entities; the edge between them weighs ``(1 + ln mentions) · idf``, and
``NAMING`` times as much from an entity to a document whose title names it; the columns of each
matrix sum to one, so that each is a step of a random walk (HippoRAG 2 and LinearRAG build similar
graphs).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID
from zipfile import BadZipFile

import numpy as np
from django.utils.functional import cached_property
from numpy.typing import NDArray
from scipy import sparse

from kb_project.errors import UnavailableError

FORMAT: Final = 1
NAMING: Final = 20.0
"""A document is about what its title names. With 1 instead, all evidence is within the first 5 for
0.92 instead of 0.96 of 51 multi-hop questions."""
GENERIC: Final = 0.2
"""Weight of nationalities, creeds and languages, which connect otherwise unrelated things. Made no
measurable difference on the questions above; it keeps them from crowding the display."""
NO_ENTITY: Final = UUID(int=0)
"""The id of a name in a title that no text mentions: a node of the walk, not of the graph."""

Floats = NDArray[np.float32]


class ChunkRow(NamedTuple):
    """A chunk and the key of the name in its document's title."""

    chunk_id: UUID
    naming_key: str


class EntityRow(NamedTuple):
    """``is_generic``: a nationality, creed or language. ``is_common``: spelled in lower case."""

    entity_id: UUID
    key: str
    is_generic: bool = False
    is_common: bool = False


class MentionRow(NamedTuple):
    """How often a chunk mentions an entity."""

    chunk_id: UUID
    entity_id: UUID
    times: int


class AliasRow(NamedTuple):
    """Another key of an entity."""

    key: str
    entity_id: UUID


@dataclass(frozen=True, eq=False)
class WalkIndex:
    """The walk's matrices. ``to_entities`` has a column per chunk, ``to_chunks`` one per entity;
    columns sum to 1.

    ``name_keys[i]`` is a key of entity ``name_entities[i]``; an entity has one key or more.
    """

    chunk_ids: tuple[UUID, ...]
    entity_ids: tuple[UUID, ...]
    salience: Floats
    """The idf of each entity, lower for generic ones: its value as a seed."""
    is_common: NDArray[np.bool_]
    name_keys: tuple[str, ...]
    name_entities: NDArray[np.int32]
    to_entities: sparse.csr_array
    to_chunks: sparse.csr_array

    @cached_property
    def chunk_positions(self) -> dict[UUID, int]:
        return {chunk_id: position for position, chunk_id in enumerate(self.chunk_ids)}

    @cached_property
    def entities_by_key(self) -> dict[str, tuple[int, ...]]:
        # Unlike lists, tuples of numbers cost the garbage collector nothing.
        found: dict[str, tuple[int, ...]] = {}
        for key, entity in zip(self.name_keys, self.name_entities.tolist(), strict=True):
            found[key] = (*found.get(key, ()), entity)
        return found

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        np.savez(
            buffer,
            format=np.array(FORMAT),
            chunk_ids=_packed_ids(self.chunk_ids),
            entity_ids=_packed_ids(self.entity_ids),
            salience=self.salience,
            is_common=self.is_common,
            name_keys=np.frombuffer("\n".join(self.name_keys).encode(), np.uint8),
            name_entities=self.name_entities,
            **_packed_matrix("to_entities", self.to_entities),
            **_packed_matrix("to_chunks", self.to_chunks),
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, payload: bytes) -> WalkIndex:
        """Raise UnavailableError for a snapshot of another format, or data that is no snapshot."""
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except (ValueError, OSError, EOFError, BadZipFile) as error:
            raise _outdated() from error
        if int(arrays.get("format", -1)) != FORMAT:
            raise _outdated()
        keys = arrays["name_keys"].tobytes().decode()
        chunk_ids = _unpacked_ids(arrays["chunk_ids"])
        entity_ids = _unpacked_ids(arrays["entity_ids"])
        return cls(
            chunk_ids=chunk_ids,
            entity_ids=entity_ids,
            salience=arrays["salience"],
            is_common=arrays["is_common"],
            name_keys=tuple(keys.split("\n")) if keys else (),
            name_entities=arrays["name_entities"],
            to_entities=_matrix(arrays, "to_entities", (len(entity_ids), len(chunk_ids))),
            to_chunks=_matrix(arrays, "to_chunks", (len(chunk_ids), len(entity_ids))),
        )


def build(
    chunks: Sequence[ChunkRow],
    entities: Sequence[EntityRow],
    mentions: Iterable[MentionRow],
    aliases: Iterable[AliasRow] = (),
) -> WalkIndex:
    """Build a workspace's index. Mentions of unknown chunks or entities are ignored.

    A name in a title gets a node even if no text mentions it: questions name titles.
    """
    nodes = _Nodes(chunks, entities, aliases)
    counts = _counts(nodes, mentions)
    rows, columns = (
        np.fromiter((pair[side] for pair in counts), np.int32, len(counts)) for side in (0, 1)
    )
    shape = (len(chunks), len(nodes.ids))
    frequency = np.fromiter(counts.values(), np.float32, len(counts))
    spread = np.bincount(columns, minlength=shape[1])
    salience = np.log1p(shape[0] / np.maximum(spread, 1)).astype(np.float32)
    salience *= np.where(nodes.is_generic, np.float32(GENERIC), np.float32(1))
    weights = (1 + np.log(frequency)) * salience[columns]
    boosts = np.where(columns == nodes.named[rows], np.float32(NAMING), np.float32(1))
    return WalkIndex(
        chunk_ids=tuple(row.chunk_id for row in chunks),
        entity_ids=tuple(nodes.ids),
        salience=salience,
        is_common=np.array(nodes.is_common, bool),
        name_keys=tuple(key for key, _ in nodes.names),
        name_entities=np.array([entity for _, entity in nodes.names], np.int32),
        to_entities=_steps(weights, columns, rows, shape[::-1]),
        to_chunks=_steps(weights * boosts, rows, columns, shape),
    )


class _Nodes:
    """Positions of chunks and entities, and the entity each chunk's title names (-1: none)."""

    def __init__(
        self,
        chunks: Sequence[ChunkRow],
        entities: Sequence[EntityRow],
        aliases: Iterable[AliasRow],
    ) -> None:
        self.chunk_positions = {row.chunk_id: position for position, row in enumerate(chunks)}
        self.positions = {row.entity_id: position for position, row in enumerate(entities)}
        self.ids = [row.entity_id for row in entities]
        self.is_generic = [row.is_generic for row in entities]
        self.is_common = [row.is_common for row in entities]
        names = {(row.key, self.positions[row.entity_id]): None for row in entities}
        for alias in aliases:
            if alias.entity_id in self.positions and alias.key:
                names[alias.key, self.positions[alias.entity_id]] = None
        self.names = list(names)
        self._by_key: dict[str, int] = {}
        for key, entity in self.names:
            self._by_key.setdefault(key, entity)
        self.named = np.array([self._named(row.naming_key) for row in chunks], np.int32)

    def _named(self, key: str) -> int:
        if not key:
            return -1
        if key not in self._by_key:
            self._by_key[key] = len(self.ids)
            self.names.append((key, len(self.ids)))
            self.ids.append(NO_ENTITY)
            self.is_generic.append(False)
            self.is_common.append(False)
        return self._by_key[key]


def _counts(nodes: _Nodes, mentions: Iterable[MentionRow]) -> dict[tuple[int, int], int]:
    """Count mentions of each entity in each chunk; a title counts as one more."""
    counts: dict[tuple[int, int], int] = {}
    for row in mentions:
        chunk = nodes.chunk_positions.get(row.chunk_id)
        entity = nodes.positions.get(row.entity_id)
        if chunk is not None and entity is not None:
            counts[chunk, entity] = counts.get((chunk, entity), 0) + row.times
    for chunk, entity in enumerate(nodes.named.tolist()):
        if entity >= 0:
            counts[chunk, entity] = counts.get((chunk, entity), 0) + 1
    return counts


def _steps(
    weights: Floats, rows: NDArray[np.int32], columns: NDArray[np.int32], shape: tuple[int, ...]
) -> sparse.csr_array:
    """Build a matrix whose columns sum to one; a column without entries stays empty."""
    sums = np.bincount(columns, weights, minlength=shape[1])
    shares = (weights / sums[columns]).astype(np.float32)
    return sparse.csr_array((shares, (rows, columns)), shape=shape)


def _packed_ids(ids: Sequence[UUID]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(item.bytes for item in ids), np.uint8)


def _unpacked_ids(packed: NDArray[np.uint8]) -> tuple[UUID, ...]:
    raw = packed.tobytes()
    return tuple(UUID(bytes=raw[position : position + 16]) for position in range(0, len(raw), 16))


def _packed_matrix(name: str, matrix: sparse.csr_array) -> dict[str, NDArray[np.generic]]:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
    }


def _matrix(
    arrays: dict[str, NDArray[np.generic]], name: str, shape: tuple[int, int]
) -> sparse.csr_array:
    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=shape)


def _outdated() -> UnavailableError:
    return UnavailableError(
        "The stored graph snapshot was written by another version.",
        code="snapshot_outdated",
        kept="Search by keywords and meaning still works.",
        next_step="It is rebuilt with the next change to a document, or now with rebuildgraph.",
    )
