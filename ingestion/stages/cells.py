"""Cells: group the vectors of a large workspace, so that a question is compared with few of them.

In: the vectors of the model that is searched.  Out: cells, the cell of each vector, and how many
cells a search has to read. Nothing to do below ten thousand vectors, or if each has its cell. What
a search by words asks of a large workspace, its common terms, is counted here, too.
Safe to repeat: each step goes on where it was, and a search is exact until the last has ended.

The inverted file of Jégou, Douze and Schmid ("Product quantization for nearest neighbor search",
2011), which Faiss and pgvector call IVFFlat, inside one workspace: k-means groups the vectors, and
a search reads the cells whose centres are nearest to the question. Cells with many vectors are
split, since they are near many questions. Vectors stay where they are, with the number of their
cell, so that there is no second copy, and no table or index of a tenant's own. How many cells a
search reads is measured on the workspace's own passages.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, LiteralString

import numpy as np
from django.db.models import QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from ingestion.knowledge import corpus
from ingestion.models import Cell, CellIndex, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.vectors.chunks import literals, vectors_of
from kb_project.llm.ports import Embedder, Vectors
from kb_project.ports import Ports
from kb_project.sql import run_sql, run_sql_count
from workspaces import access

SMALLEST: Final = 10_000
"""Vectors from which on there are cells: comparing fewer takes some ten milliseconds."""
GROWN: Final = 4
"""New cells are made when there are so many times the vectors that there were."""
CELLS: Final = 4
"""Cells for each root of the number of vectors: with more, a search reads fewer vectors, and more
centres. Of 100,000 vectors 14 % instead of 55 % with one for each (``docs/benchmarks.md``)."""
SAMPLED: Final = 40
"""Vectors for each cell that the centres are made from. Faiss asks for 39 to 256."""
FULL: Final = 2
"""Times the mean of what cells hold from which on one is split: of 100,251 vectors, a search reads
3.5 % instead of 15 %, and finds more (``docs/benchmarks.md``)."""
SPLITS: Final = 3
"""Times that cells are split: what is alike stays together, however often."""
AT_ONCE: Final = 2_000
QUESTIONS: Final = 100
"""Passages whose words are asked to measure how many cells to read."""
WORDS: Final = 12
CHARACTERS: Final = 80
"""Of such a question, at most."""
NEAREST: Final = 10
RECALL: Final = 0.995
"""Asked for with such questions: others find less, .98 for those of another kind of document."""
ROUNDS: Final = 10
SEED: Final = 7

Indexes = NDArray[np.intp]

# In an order of chance that is the same each time.
SAMPLE: Final[LiteralString] = """
SELECT halfvec_send(vector) FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
 ORDER BY hashtextextended(chunk_id::text, 0), chunk_id LIMIT %(count)s
"""
TEXTS: Final[LiteralString] = """
SELECT text FROM ingestion_chunk
 WHERE workspace_id = %(workspace)s
 ORDER BY hashtextextended(id::text, 0), id LIMIT %(count)s
"""
PAGE: Final[LiteralString] = """
SELECT chunk_id, halfvec_send(vector), cell FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
   AND chunk_id > %(after)s
 ORDER BY chunk_id LIMIT %(count)s
"""
ADD_CELLS: Final[LiteralString] = """
INSERT INTO ingestion_cell (workspace_id, fingerprint, number, centre)
SELECT %(workspace)s, %(fingerprint)s, t.number, t.centre::halfvec
  FROM unnest(%(centres)s::text[]) WITH ORDINALITY AS t (centre, number)
"""
CENTRES: Final[LiteralString] = """
SELECT number, halfvec_send(centre) FROM ingestion_cell
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s ORDER BY number
"""
WITHOUT_CELL: Final[LiteralString] = """
SELECT chunk_id, halfvec_send(vector) FROM ingestion_chunkembedding
 WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s AND cell IS NULL
 LIMIT %(count)s
"""
# The array finds the rows by their keys, whatever the planner expects of the join.
ASSIGN: Final[LiteralString] = """
UPDATE ingestion_chunkembedding AS e SET cell = t.number
  FROM unnest(%(chunks)s::uuid[], %(numbers)s::int[]) AS t (chunk_id, number)
 WHERE e.workspace_id = %(workspace)s AND e.fingerprint = %(fingerprint)s
   AND e.chunk_id = t.chunk_id AND e.chunk_id = ANY(%(chunks)s::uuid[])
"""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    moved = renew(job.workspace_id, ports.embedder, progress)
    with access.in_workspace(job.workspace_id):
        corpus.count_common_terms(workspace_id=job.workspace_id)
    return StageOutcome(written=moved)


def renew(workspace_id: uuid.UUID, embedder: Embedder, progress: Progress) -> int:
    """Make, fill or remove the cells of a model's vectors, as their number asks for; return how
    many vectors were put into cells. Call outside transactions.
    """
    fingerprint = embedder.fingerprint
    with access.in_workspace(workspace_id):
        count = corpus.counts(workspace_id=workspace_id, fingerprint=fingerprint).vectors
        indexes = CellIndex.objects.in_workspace(workspace_id)
        # Cells of a model that is no longer used go with its vectors.
        forget(workspace_id, indexes.exclude(fingerprint=fingerprint))
        index = indexes.filter(fingerprint=fingerprint).first()
        if index and count < SMALLEST / 2:
            forget(workspace_id, indexes)
    if count < SMALLEST and (index is None or count < SMALLEST / 2):
        return 0
    if index is None or count > GROWN * index.vectors:
        make(workspace_id, fingerprint, count)
    moved = fill(workspace_id, fingerprint, count, progress)
    with access.in_workspace(workspace_id):
        is_measured = indexes.filter(fingerprint=fingerprint, probes__isnull=False).exists()
    if not is_measured:
        measure(workspace_id, embedder)
    return moved


def forget(workspace_id: uuid.UUID, indexes: QuerySet[CellIndex]) -> None:
    """Remove cells; their vectors are compared with every question again."""
    names = list(indexes.values_list("fingerprint", flat=True))
    Cell.objects.in_workspace(workspace_id).filter(fingerprint__in=names).delete()
    indexes.filter(fingerprint__in=names).delete()


def make(workspace_id: uuid.UUID, fingerprint: str, count: int) -> None:
    """Make the centres from a sample; all vectors are without a cell then."""
    wanted = round(CELLS * count**0.5)
    values = {"workspace": workspace_id, "fingerprint": fingerprint, "count": SAMPLED * wanted}
    with access.in_workspace(workspace_id):
        sample = vectors_of([vector for (vector,) in run_sql(SAMPLE, values)])
    centres = evened(sample, centres_of(sample, wanted))
    with access.in_workspace(workspace_id):
        indexes = CellIndex.objects.in_workspace(workspace_id).filter(fingerprint=fingerprint)
        forget(workspace_id, indexes)
        indexes.create(workspace_id=workspace_id, fingerprint=fingerprint, vectors=count)
        run_sql(ADD_CELLS, {**values, "centres": literals(centres)})


def fill(workspace_id: uuid.UUID, fingerprint: str, count: int, progress: Progress) -> int:
    """Put every vector without a cell into the nearest one."""
    moved = 0
    while part := fill_part(workspace_id, fingerprint):
        moved += part
        progress(min(moved, count), count)
    return moved


def fill_part(workspace_id: uuid.UUID, fingerprint: str) -> int:
    """Put some vectors without a cell into the nearest one; return how many."""
    values = {"workspace": workspace_id, "fingerprint": fingerprint, "count": AT_ONCE}
    with access.in_workspace(workspace_id):
        rows = run_sql(WITHOUT_CELL, values)
        cells = run_sql(CENTRES, values) if rows else []
        if not cells:
            return 0
        vectors = vectors_of([vector for _, vector in rows])
        nearest = nearest_centres(vectors, vectors_of([centre for _, centre in cells]))
        chunks, numbers = [one for one, _ in rows], [cells[place][0] for place in nearest]
        return run_sql_count(ASSIGN, {**values, "chunks": chunks, "numbers": numbers})


def measure_again(workspace_id: uuid.UUID, embedder: Embedder) -> None:
    """Measure what has been measured before: vectors come and go."""
    with access.in_workspace(workspace_id):
        indexes = CellIndex.objects.in_workspace(workspace_id)
        known = indexes.filter(fingerprint=embedder.fingerprint, probes__isnull=False)
        is_known = known.exists()
    if is_known:
        measure(workspace_id, embedder)


def measure(workspace_id: uuid.UUID, embedder: Embedder) -> None:
    """Find out how many cells a search has to read, with words of some passages as questions.

    Passages' own vectors will not do: real questions are further from all of them, and would find
    .96 where they find .995. Questions of a dozen words of a passage are further still.
    """
    values = {"workspace": workspace_id, "fingerprint": embedder.fingerprint}
    with access.in_workspace(workspace_id):
        texts = [text for (text,) in run_sql(TEXTS, {**values, "count": QUESTIONS})]
        rows = run_sql(CENTRES, values)
    if not rows or not texts:
        return
    asked = np.array([embedder.embed_question(question_of(text)) for text in texts], np.float32)
    ranks = ranks_of_cells(asked, vectors_of([centre for _, centre in rows]))
    place = {number: column for column, (number, _) in enumerate(rows)}
    best = np.full((len(asked), NEAREST), -np.inf, np.float32)
    rank = np.zeros(best.shape, np.intp)
    for part in pages(workspace_id, embedder.fingerprint):
        # Vectors without a cell are always read.
        columns = np.array([place.get(cell, -1) for cell in part.cells])
        read_at = np.where(columns < 0, -1, ranks[:, columns])
        cosines = asked @ part.vectors.T
        best, rank = nearest_of(np.hstack([best, cosines]), np.hstack([rank, read_at]))
    probes, recall = probes_for(rank[np.isfinite(best)])
    with access.in_workspace(workspace_id):
        indexes = CellIndex.objects.in_workspace(workspace_id)
        indexes.filter(fingerprint=embedder.fingerprint).update(
            probes=probes, recall=recall, measured_at=timezone.now()
        )


def pages(workspace_id: uuid.UUID, fingerprint: str) -> Iterator[Part]:
    after = uuid.UUID(int=0)
    values = {"workspace": workspace_id, "fingerprint": fingerprint, "count": AT_ONCE}
    while True:
        with access.in_workspace(workspace_id):
            rows = run_sql(PAGE, {**values, "after": after})
        if not rows:
            return
        yield Part(vectors_of([vector for _, vector, _ in rows]), [cell for _, _, cell in rows])
        after = rows[-1][0]


# --- pure -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Some vectors, with the numbers of their cells."""

    vectors: Vectors
    cells: list[int | None]


def question_of(text: str) -> str:
    """Some words from the middle of a passage.

    >>> question_of("A B C")
    'B C'
    """
    words = text.split()
    return " ".join(words[len(words) // 2 :][:WORDS])[:CHARACTERS]


def centres_of(vectors: Vectors, wanted: int) -> Vectors:
    """Return at most ``wanted`` centres of length one, by spherical k-means.

    Centres are as long as vectors, and chosen by cosine: means of many vectors are shorter, so that
    with distances the largest groups would take all others' (nine tenths of 100,000 vectors in 8
    of 317 groups).
    """
    chance = np.random.default_rng(SEED)
    centres: Vectors = vectors[chance.permutation(len(vectors))[:wanted]]
    for _ in range(ROUNDS):
        nearest = nearest_centres(vectors, centres)
        groups, counts = np.unique(nearest, return_counts=True)
        ordered = vectors[np.argsort(nearest, kind="stable")]
        sums = np.add.reduceat(ordered, np.cumsum(counts) - counts, axis=0)
        # A group of none takes a vector by chance.
        centres = vectors[chance.integers(len(vectors), size=len(centres))]
        centres[groups] = sums
        lengths = np.linalg.norm(centres, axis=1, keepdims=True)
        centres = centres[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    return centres


def evened(vectors: Vectors, centres: Vectors) -> Vectors:
    """Split the cells that hold many of the vectors, each into about as many as it has times the
    mean; the other centres stay."""
    mean = len(vectors) / len(centres)
    for _ in range(SPLITS):
        nearest = nearest_centres(vectors, centres)
        counts = np.bincount(nearest, minlength=len(centres))
        full = np.flatnonzero(counts > FULL * mean)
        if not len(full):
            break
        parts = [
            np.unique(centres_of(vectors[nearest == cell], math.ceil(counts[cell] / mean)), axis=0)
            for cell in full
        ]
        centres = np.concatenate([np.delete(centres, full, axis=0), *parts])
    return centres


def nearest_centres(vectors: Vectors, centres: Vectors) -> Indexes:
    """Return which centre is nearest to each vector, with few cosines in memory at once."""
    parts = np.array_split(vectors, max(1, len(vectors) // AT_ONCE))
    return np.concatenate([np.argmax(part @ centres.T, axis=1) for part in parts])


def ranks_of_cells(questions: Vectors, centres: Vectors) -> Indexes:
    """At which place a search for each question reads each cell: the nearest one first.

    >>> ranks_of_cells(np.eye(2, dtype=np.float32), np.array([[0, 1], [1, 0]], np.float32))
    array([[1, 0],
           [0, 1]])
    """
    return np.argsort(np.argsort(-(questions @ centres.T), axis=1, kind="stable"), axis=1)


def nearest_of(cosines: Vectors, ranks: Indexes) -> tuple[Vectors, Indexes]:
    """The nearest of each row, with their ranks."""
    kept = np.argpartition(-cosines, NEAREST - 1, axis=1)[:, :NEAREST]
    return np.take_along_axis(cosines, kept, 1), np.take_along_axis(ranks, kept, 1)


def probes_for(ranks: Indexes) -> tuple[int, float]:
    """How many cells have to be read to find ``RECALL`` of some neighbours, whose cells have these
    ranks, and how many are found then.

    >>> probes_for(np.array([0] * 194 + [4] * 5 + [30]))
    (5, 0.995)
    """
    ordered = np.sort(ranks)
    probes = int(ordered[max(0, int(np.ceil(RECALL * len(ordered))) - 1)]) + 1
    return probes, round(float((ranks < probes).mean()), 4)
