"""The graph for the walk: chunks and the entities they mention, as sparse matrices.

Built from rows by the snapshot stage, stored as one versioned blob without pickles, loaded by
search. Nodes are chunks and entities; the edge between them weighs ``(1 + ln mentions) · idf``, and
``NAMING`` times as much from an entity to a document whose title names it; the columns of each
matrix sum to one, so that each is a step of a random walk (HippoRAG 2 and LinearRAG build similar
graphs).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple
from uuid import UUID
from zipfile import BadZipFile

import numpy as np
from django.utils.functional import cached_property
from numpy.typing import NDArray
from scipy import sparse

from kb_project.errors import UnavailableError
from kb_project.graph import compact
from kb_project.graph.compact import Filed, Ids, Places

FORMAT: Final = 2
FORMAT_BEFORE: Final = 1
NAMING: Final = 20.0
"""A document is about what its title names. With 1 instead, all evidence is within the first 5 for
0.92 instead of 0.96 of 51 multi-hop questions."""
GENERIC: Final = 0.2
"""Weight of nationalities, creeds and languages, which connect otherwise unrelated things. Made no
measurable difference on the questions above; it keeps them from crowding the display."""
NO_ENTITY: Final = UUID(int=0)
"""The id of a name in a title that no text mentions: a node of the walk, not of the graph."""

Floats = NDArray[np.float32]
Steps = NDArray[np.int32]


class ChunkRow(NamedTuple):
    """A chunk and the key of the name in its document's title."""

    chunk_id: UUID
    naming_key: str


class Entities(NamedTuple):
    """The entities, by columns; each id is sixteen bytes.

    ``are_generic``: a nationality, creed or language. ``are_common``: spelled in lower case.
    """

    ids: bytes
    keys: Sequence[str]
    are_generic: Sequence[bool] | NDArray[np.bool_]
    are_common: Sequence[bool] | NDArray[np.bool_]


class Mentions(NamedTuple):
    """How often chunks mention entities, by columns; each id is sixteen bytes.

    What is mentioned by a chunk several times may have as many rows.
    """

    chunk_ids: bytes
    entity_ids: bytes
    times: Sequence[int] | NDArray[np.int32]


class Aliases(NamedTuple):
    """Keys of entities, by columns: others than their own count; each id is sixteen bytes."""

    keys: Sequence[str]
    entity_ids: bytes


NO_ALIASES: Final = Aliases((), b"")


@dataclass(frozen=True, eq=False)
class WalkIndex:
    """The walk's matrices. ``to_entities`` has a column per chunk, ``to_chunks`` one per entity;
    columns sum to 1.

    Entities are filed under their names' keys, one or more each, and the places of keys there under
    their words.
    """

    chunk_ids: Ids
    entity_ids: Ids
    salience: Floats
    """The idf of each entity, lower for generic ones: its value as a seed."""
    is_common: NDArray[np.bool_]
    entities_by_key: Filed
    keys_by_word: Filed
    words_of_keys: NDArray[np.uint16]
    """How many different words each key has."""
    to_entities: sparse.csr_array
    to_chunks: sparse.csr_array

    @property
    def nbytes(self) -> int:
        """The bytes it takes in memory, with the matrices by columns."""
        tables = (self.chunk_ids, self.entity_ids, self.entities_by_key, self.keys_by_word)
        arrays: list[NDArray[Any]] = [self.salience, self.is_common, self.words_of_keys]
        for matrix in (self.to_entities, self.to_chunks):
            arrays += 2 * [*_packed_matrix("", matrix).values()]
        return sum(one.nbytes for one in tables) + sum(one.nbytes for one in arrays)

    def entities_of(self, chunks: Places, weights: Floats) -> tuple[Places, Floats]:
        """Return the entities that some chunks mention, by position, with the weights that a step
        from these chunks gives them: the product with all chunks takes ten times as long.
        """
        columns, weights = _chosen(self._entities_by_chunk, chunks, weights)
        places, rows = np.unique(columns.indices, return_inverse=True)
        shape = (len(places), columns.shape[1])
        found = sparse.csc_array((columns.data, rows.astype(np.int32), columns.indptr), shape=shape)
        return places, found @ weights

    def chunks_of(self, entities: Places, weights: Floats) -> Floats:
        """Return the weights that a step from some entities gives to all chunks."""
        columns, weights = _chosen(self._chunks_by_entity, entities, weights)
        found: Floats = columns @ weights
        return found

    @cached_property
    def _entities_by_chunk(self) -> sparse.csc_array:
        return self.to_entities.tocsc()

    @cached_property
    def _chunks_by_entity(self) -> sparse.csc_array:
        return self.to_chunks.tocsc()

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        np.savez(
            buffer,
            format=np.array(FORMAT),
            salience=self.salience,
            is_common=self.is_common,
            words_of_keys=self.words_of_keys,
            **self.chunk_ids.arrays("chunk_ids"),
            **self.entity_ids.arrays("entity_ids"),
            **self.entities_by_key.arrays("entities_by_key"),
            **self.keys_by_word.arrays("keys_by_word"),
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
        number = int(arrays.get("format", -1))
        if number == FORMAT_BEFORE:
            arrays |= _tables_before(arrays)
        elif number != FORMAT:
            raise _outdated()
        chunk_ids, entity_ids = (
            Ids.from_arrays(arrays, name) for name in ("chunk_ids", "entity_ids")
        )
        return cls(
            chunk_ids=chunk_ids,
            entity_ids=entity_ids,
            salience=arrays["salience"],
            is_common=arrays["is_common"],
            entities_by_key=Filed.from_arrays(arrays, "entities_by_key"),
            keys_by_word=Filed.from_arrays(arrays, "keys_by_word"),
            words_of_keys=arrays["words_of_keys"],
            to_entities=_matrix(arrays, "to_entities", (len(entity_ids), len(chunk_ids))),
            to_chunks=_matrix(arrays, "to_chunks", (len(chunk_ids), len(entity_ids))),
        )


def build(
    chunks: Sequence[ChunkRow],
    entities: Entities,
    mentions: Mentions,
    aliases: Aliases = NO_ALIASES,
) -> WalkIndex:
    """Build a workspace's index. Mentions of unknown chunks or entities are ignored.

    A name in a title gets a node even if no text mentions it: questions name titles.
    """
    nodes = _Nodes(chunks, entities, aliases)
    shape = (len(chunks), len(nodes.entity_ids))
    # As soon as they are read: of a large workspace, names alone are a million objects.
    del chunks, entities, aliases
    rows, columns, times = _counts(nodes, mentions)
    del mentions
    spread = np.bincount(columns, minlength=shape[1])
    salience = np.log1p(shape[0] / np.maximum(spread, 1)).astype(np.float32)
    salience *= np.where(nodes.is_generic, np.float32(GENERIC), np.float32(1))
    weights = (1 + np.log(times)) * salience[columns]
    boosts = np.where(columns == nodes.named[rows], np.float32(NAMING), np.float32(1))
    keys_by_word, words_of_keys = _filed_words(nodes.entities_by_key)
    return WalkIndex(
        chunk_ids=nodes.chunk_ids,
        entity_ids=nodes.entity_ids,
        salience=salience,
        is_common=nodes.is_common,
        entities_by_key=nodes.entities_by_key,
        keys_by_word=keys_by_word,
        words_of_keys=words_of_keys,
        to_entities=_steps(weights, columns, rows, shape[::-1]),
        to_chunks=_steps(weights * boosts, rows, columns, shape),
    )


class _Nodes:
    """The nodes with their names, and the entity each chunk's title names (-1: none)."""

    def __init__(
        self,
        chunks: Sequence[ChunkRow],
        entities: Entities,
        aliases: Aliases,
    ) -> None:
        known = Ids.of_bytes(entities.ids)
        places = known.places_packed(aliases.entity_ids).tolist()
        others = {
            (key, place)
            for key, place in zip(aliases.keys, places, strict=True)
            if key and place >= 0 and key != entities.keys[place]
        }
        # Of entities with the same name, the one with the first id comes first.
        also = sorted(others, key=lambda alias: (alias[0], known[alias[1]]))
        titles = dict.fromkeys(row.naming_key for row in chunks)
        first: dict[str, int] = {}
        for key, place in chain(zip(entities.keys, range(len(known)), strict=True), also):
            if key in titles:
                first.setdefault(key, place)
        unnamed = [key for key in titles if key and key not in first]
        new = range(len(known), len(known) + len(unnamed))
        first.update(zip(unnamed, new, strict=True))
        self.chunk_ids = Ids.of(row.chunk_id for row in chunks)
        self.entity_ids = Ids.of_bytes(entities.ids + NO_ENTITY.bytes * len(new))
        self.entities_by_key = Filed.of(
            chain(entities.keys, (key for key, _ in also), unnamed),
            np.array([*range(len(known)), *(place for _, place in also), *new], np.int64),
        )
        nothing = np.zeros(len(new), bool)
        self.is_generic = np.append(np.array(entities.are_generic, bool), nothing)
        self.is_common = np.append(np.array(entities.are_common, bool), nothing)
        self.named = np.array([first.get(row.naming_key, -1) for row in chunks], np.int64)


def _counts(nodes: _Nodes, mentions: Mentions) -> tuple[Steps, Steps, Floats]:
    """Return how often each chunk mentions each entity; a title counts as one more."""
    titled = np.flatnonzero(nodes.named >= 0)
    chunks = nodes.chunk_ids.places_packed(mentions.chunk_ids)
    entities = nodes.entity_ids.places_packed(mentions.entity_ids)
    rows, columns = np.append(chunks, titled), np.append(entities, nodes.named[titled])
    times = np.append(mentions.times, np.ones(len(titled)))
    is_known = (rows >= 0) & (columns >= 0)
    width = len(nodes.entity_ids)
    pairs, which = np.unique(rows[is_known] * width + columns[is_known], return_inverse=True)
    sums = np.bincount(which, times[is_known], minlength=len(pairs))
    # Half the bytes of what numpy counts in: a walk reads all of them at each step.
    rows, columns = (part.astype(np.int32) for part in divmod(pairs, max(width, 1)))
    return rows, columns, sums.astype(np.float32)


def _filed_words(keys: Iterable[str]) -> tuple[Filed, NDArray[np.uint16]]:
    """File the places of keys under their words, and count the different words of each."""
    texts = [*keys]
    counts = np.fromiter((len(key.split()) for key in texts), np.int64, len(texts))
    places = np.repeat(np.arange(len(texts)), counts)
    filed = Filed.of(chain.from_iterable(map(str.split, texts)), places, once=True)
    return filed, np.bincount(filed.numbers, minlength=len(texts)).astype(np.uint16)


def _tables_before(arrays: Mapping[str, NDArray[Any]]) -> compact.Arrays:
    """Return the tables that snapshots of the format before lack."""
    keys = arrays["name_keys"].tobytes().decode().split("\n")
    entities_by_key = Filed.of(keys, arrays["name_entities"].tolist())
    keys_by_word, words_of_keys = _filed_words(entities_by_key)
    made = entities_by_key.arrays("entities_by_key") | keys_by_word.arrays("keys_by_word")
    for name in ("chunk_ids", "entity_ids"):
        made |= Ids.of_bytes(arrays[name].tobytes()).arrays(name)
    return made | {"words_of_keys": words_of_keys}


def _steps(
    weights: Floats, rows: Steps, columns: Steps, shape: tuple[int, ...]
) -> sparse.csr_array:
    """Build a matrix whose columns sum to one; a column without entries stays empty."""
    sums = np.bincount(columns, weights, minlength=shape[1])
    shares = (weights / sums[columns]).astype(np.float32)
    return sparse.csr_array((shares, (rows, columns)), shape=shape)


def _chosen(
    matrix: sparse.csc_array, places: Places, weights: Floats
) -> tuple[sparse.csc_array, Floats]:
    """Return some columns and their weights in the matrix's order, in which they are added up."""
    order = np.argsort(places)
    return matrix[:, places[order]], weights[order]


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
