"""Walking the graph from a question to the chunks that together answer it.

Personalised PageRank over chunks and entities. The walk starts at the entities the question names
and, with less weight, at the passages nearest to it; at each step it continues with probability
``WALK_ON`` and restarts otherwise. So it reaches passages that share no word with the question: the
director named in the passage on the film, and from there the director's own.

Relationship edges, synonym edges, seeds from facts and a cap on hubs were measured and left out:
none of them finds more on either of two sets, see ``docs/benchmarks.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kb_project.graph.walk_index import Floats, WalkIndex
from kb_project.text.names import LONGEST_NAME, name_runs
from kb_project.text.words import Word, is_unspaced, terms, words

WALK_ON: Final = 0.7
"""Chosen on 51 public multi-hop questions and 119 generated from the same passages: 0.5 to 0.8 find
all evidence within the first 8, and 0.95 misses it twice; closer to 1, recall within 5 to 20 on 124
questions about source code falls by 0.02 to 0.07."""
STEPS: Final = 12
"""An even number. By then 99 in 100 walks have restarted; 10 to 20 steps rank alike."""
NEAREST: Final = 20
"""Passages near the question that the walk also starts from."""
FAINT: Final = 0.05
"""Weight of the nearest passage, relative to an entity of idf 1."""

NEAR_SHARE: Final = 0.25
"""In ``local``, total weight of the nearest passages, relative to all entities the
question names."""
FARTHER: Final = 1.0
"""In ``local``, the weight of the second step."""

Within = NDArray[np.bool_]


@dataclass(frozen=True)
class Seeds:
    """Where a walk starts: weights by position, and the names found with their entities."""

    entities: Mapping[int, float]
    chunks: Mapping[int, float]
    names: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entities or self.chunks)


def seeds(index: WalkIndex, question: str, nearest: Sequence[tuple[UUID, float]] = ()) -> Seeds:
    """Return a question's seeds; ``nearest`` are passages with their similarity to it, best first.

    The similarity may be cosines or BM25 scores: it is scaled to 0…1 over the list given, of which
    the first ``NEAREST`` count. Pass a longer list, so that the scale has a bottom.
    """
    names = names_in(index, question)
    entities: dict[int, float] = {}
    for found in names.values():
        for entity in found:
            share = float(index.salience[entity]) / len(found)
            entities[entity] = max(entities.get(entity, 0.0), share)
    return Seeds(entities, _faint(index, nearest), names)


def _faint(index: WalkIndex, nearest: Sequence[tuple[UUID, float]]) -> dict[int, float]:
    if not nearest:
        return {}
    top, bottom = nearest[0][1], nearest[-1][1]
    scale = FAINT / (top - bottom) if top > bottom else 0.0
    places = index.chunk_ids.places([chunk_id for chunk_id, _ in nearest[:NEAREST]]).tolist()
    weights = {
        place: (similarity - bottom) * scale if scale else FAINT
        for place, (_, similarity) in zip(places, nearest, strict=False)
        if place >= 0
    }
    return {place: weight for place, weight in weights.items() if weight > 0}


def walk(
    index: WalkIndex,
    start: Seeds,
    *,
    within: Within | None = None,
    walk_on: float = WALK_ON,
) -> Floats:
    """Return how often the walk is at each chunk, by position; zeros if there is nowhere to start.

    ``within`` marks the chunks in scope: the walk never enters another.
    """
    entities, chunks = _start(index, start, within)
    total = entities.sum() + chunks.sum()
    if not total:
        return chunks
    entity_restart = entities * ((1 - walk_on) / total)
    chunk_restart = chunks * ((1 - walk_on) / total)
    chunks = chunks / total
    # A round is two steps, to names and back: with a step of both lists at once, every other list
    # would never be read.
    for _ in range(STEPS // 2):
        entities = entity_restart + walk_on * (index.to_entities @ chunks)
        chunks = _inside(chunk_restart + walk_on * (index.to_chunks @ entities), within)
    return np.asarray(chunks, np.float32)


def local(index: WalkIndex, start: Seeds, *, within: Within | None = None) -> tuple[Floats, Floats]:
    """Score entities and chunks around what the question names, by position.

    First what the question names and the nearest passages mention; then what the passages on those
    mention in turn. Chunks score by the entities they mention.
    """
    entities, near = _start(index, start, within)
    entities, near = shares(entities), shares(near)
    # Few so far: their columns alone are read.
    few = np.flatnonzero(near)
    mentioned, weights = index.entities_of(few, near[few])
    entities[mentioned] += NEAR_SHARE * weights
    few = np.flatnonzero(entities)
    chunks = _inside(index.chunks_of(few, entities[few]), within)
    entities += FARTHER * (index.to_entities @ chunks)
    chunks = _inside(index.to_chunks @ entities, within) + NEAR_SHARE * near
    return np.asarray(entities, np.float32), np.asarray(chunks, np.float32)


def shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total else weights


def _inside(chunks: Floats, within: Within | None) -> Floats:
    return chunks if within is None else chunks * within


def ranked(
    index: WalkIndex, scores: Floats, count: int, *, at_least: float = 1e-9
) -> list[tuple[UUID, float]]:
    """Return the best ``count`` chunks, best first; ties are broken by position, for
    repeatability.
    """
    best = highest(scores, count, above=at_least)
    return [(index.chunk_ids[place], float(scores[place])) for place in best]


def highest(scores: Floats, count: int, *, above: float) -> list[int]:
    """Return the positions of the highest ``count`` scores above a bound, the first of equal ones
    first."""
    places = np.flatnonzero(scores > above)
    if 0 < count < len(places):
        # Only what can be among them is sorted: a search asks for a few of a million.
        least = np.partition(scores[places], -count)[-count]
        places = places[scores[places] >= least]
    order = np.argsort(-scores[places], kind="stable")[:count]
    found: list[int] = places[order].tolist()
    return found


def names_in(index: WalkIndex, question: str) -> dict[str, tuple[int, ...]]:
    """Return the known names in a question, as it spells them, with their entities.

    The longest name at each place. A name must be capitalised or contain a digit, unless it is a
    common noun in the documents too or the whole question is in lower case.
    """
    question_words = list(words(question))
    known = index.entities_by_key
    lower = not any(question[word.start].isupper() for word in question_words[1:])
    found: dict[str, tuple[int, ...]] = {}
    position = 0
    for first, stop, key in name_runs(question_words):
        if first < position:
            continue
        if stop == first + 1 and is_unspaced(question_words[first].folded):
            found |= _unspaced_names(known, question_words[first])
        entities = known.get(key)
        if not entities or not terms(key):  # "who" in a question is not The Who
            continue
        span = question[question_words[first].start : question_words[stop - 1].end]
        common = all(index.is_common[entity] for entity in entities)
        if lower or common or _is_capitalised(question, question_words[first:stop]):
            found[span] = entities
            position = stop
    return found


def _is_capitalised(question: str, run: Sequence[Word]) -> bool:
    """Whether a word of the run, other than an article, contains a capital or a digit."""
    return any(
        not question[word.start : word.end].islower() and word.folded not in ("the", "a", "an")
        for word in run
    )


def _unspaced_names(known: Mapping[str, tuple[int, ...]], word: Word) -> dict[str, tuple[int, ...]]:
    """Return names inside a run of Chinese or another unspaced script, longest first."""
    run = word.folded
    found: dict[str, tuple[int, ...]] = {}
    start = 0
    while start < len(run):
        stop = next(
            (
                stop
                for stop in range(min(len(run), start + LONGEST_NAME), start + 1, -1)
                if run[start:stop] in known
            ),
            start,
        )
        if stop > start:
            found[run[start:stop]] = known[run[start:stop]]
        start = max(stop, start + 1)
    return found


def _start(index: WalkIndex, start: Seeds, within: Within | None) -> tuple[Floats, Floats]:
    entities = np.zeros(len(index.entity_ids), np.float32)
    chunks = np.zeros(len(index.chunk_ids), np.float32)
    for position, weight in start.entities.items():
        entities[position] = weight
    for position, weight in start.chunks.items():
        chunks[position] = weight
    return entities, _inside(chunks, within)
