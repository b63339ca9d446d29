"""Weigh entities by how well keywords name them: by their names, and by their passages' meaning.

LightRAG compares a keyword with the vectors of entities' names and descriptions. Alone, those found
less, and making them takes minutes on a small machine (``docs/benchmarks.md``). Here an entity is
as near to a keyword as the passages that mention it, each weighted by its share in them (the
columns of the walk's matrices); names also count directly, in full or by the words they share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property

from kb_project.graph import walk as walking
from kb_project.graph.walk import Seeds, Within
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.text.words import terms, words
from retrieval.search import dense, walk
from retrieval.search.query import Query

NEAREST: Final = 100
"""Passages near a keyword; the last of them counts nothing."""
NAMED: Final = 1.0
MEANING: Final = 0.25
QUESTION: Final = 0.25
"""Weight of the passages near the whole question, against one keyword."""
SHARED: Final = 0.5
"""Share of a name's and a keyword's words that must be common to both; less is coincidence."""

Closeness = Mapping[UUID, float]


@dataclass(frozen=True)
class GraphView:
    """The graph as one question sees it: where to look, and how close passages are to the
    question and to each keyword.

    Closeness is from 0 to 1; passages that are not near are left out. ``within`` marks passages of
    the scope by position; ``names`` are the question's names, with their entities' positions.
    """

    index: WalkIndex
    within: Within | None
    question: Closeness
    keywords: Mapping[str, Closeness] = field(default_factory=dict)
    names: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @cached_property
    def close(self) -> Closeness:
        """Each passage's closeness to the question, or to the nearest keyword."""
        found = defaultdict(float, self.question)
        for near in self.keywords.values():
            for chunk_id, closeness in near.items():
                found[chunk_id] = max(found[chunk_id], MEANING * closeness)
        return dict(found)

    @cached_property
    def close_by_position(self) -> Floats:
        return on_chunks(self.index, self.close)

    def closeness(self, chunk_id: UUID) -> float:
        return self.close.get(chunk_id, 0.0)


def view_of(query: Query, index: WalkIndex, vectors: Mapping[str, str]) -> GraphView:
    """Look at the graph for a query; ``vectors`` maps keywords to theirs."""
    return GraphView(
        index=index,
        within=walk.within(query, index),
        question=scaled(walk.nearest(query)),
        keywords=_near_each(query, vectors),
        names=begun(query, index, walking.seeds(index, query.question)).names,
    )


def begun(query: Query, index: WalkIndex, start: Seeds) -> Seeds:
    """Adjust the seeds by the entities the person included and excluded."""
    without = set(known_places(index, query.exclude))
    added = known_places(index, query.include)
    weights = {**start.entities, **{place: float(index.salience[place]) for place in added}}
    names = {
        name: [place for place in places if place not in without]
        for name, places in start.names.items()
    }
    return Seeds(
        {place: weight for place, weight in weights.items() if place not in without},
        start.chunks,
        {name: places for name, places in names.items() if places},
    )


def _near_each(query: Query, vectors: Mapping[str, str]) -> dict[str, Closeness]:
    found = dense.nearest_to_each(query, list(vectors.values()), NEAREST)
    return {keyword: scaled(near) for keyword, near in zip(vectors, found, strict=True)}


def scaled(nearest: Sequence[tuple[UUID, float]]) -> Closeness:
    if not nearest:
        return {}
    top, bottom = nearest[0][1], nearest[-1][1]
    if top <= bottom:
        return {chunk_id: 1.0 for chunk_id, _ in nearest}
    return {chunk_id: (likeness - bottom) / (top - bottom) for chunk_id, likeness in nearest}


def weigh(query: Query, view: GraphView, keywords: Iterable[str]) -> Floats:
    """Weigh every entity, by position: by the mean of the keywords, and a little by the question.

    Zero outside the scope and for excluded entities; included ones come first.
    """
    index, wanted = view.index, list(keywords)
    weights = QUESTION * _by_passages(index, view.question)
    for keyword in wanted:
        near = view.keywords.get(keyword, {})
        weights += NAMED / len(wanted) * _by_names(index, keyword)
        weights += MEANING / len(wanted) * _by_passages(index, near)
    return steered(query, view, weights)


def steered(query: Query, view: GraphView, weights: Floats) -> Floats:
    """Adjust weights by the included and excluded entities, and set those outside the scope to
    zero."""
    index = view.index
    for place in known_places(index, query.include):
        weights[place] += 1.0 + weights.max()
    weights[known_places(index, query.exclude)] = 0.0
    if view.within is not None:
        weights = weights * (index.to_entities @ view.within.astype(np.float32) > 0)
    return np.asarray(weights, np.float32)


def strongest(index: WalkIndex, weights: Floats, count: int) -> list[tuple[UUID, float]]:
    """Return the heaviest entities of the graph with their weights; ties go by position."""
    best = walking.highest(weights, count * 2, above=0.0)
    found = [(index.entity_ids[place], float(weights[place])) for place in best]
    return [(one, weight) for one, weight in found if one != NO_ENTITY][:count]


def known_places(index: WalkIndex, entities: Collection[UUID]) -> list[int]:
    """Return the positions of those entities that are in the index."""
    found: list[int] = [one for one in index.entity_ids.places(entities).tolist() if one >= 0]
    return found


def passages_of(view: GraphView, place: int, most: int | None = None) -> list[UUID]:
    """Return the scope's passages that mention an entity, those closest to the question first."""
    matrix = view.index.to_entities
    first, last = matrix.indptr[place : place + 2].tolist()
    mentioning, shares = matrix.indices[first:last], matrix.data[first:last]
    if view.within is not None:
        inside = view.within[mentioning]
        mentioning, shares = mentioning[inside], shares[inside]
    # Sorted in numpy: a hub is mentioned in a third of all passages.
    order = np.lexsort((mentioning, -shares, -view.close_by_position[mentioning]))[:most]
    ids = view.index.chunk_ids
    return [ids[one] for one in mentioning[order].tolist()]


def on_chunks(index: WalkIndex, near: Closeness) -> Floats:
    """Return every passage's closeness, by position."""
    found = np.zeros(len(index.chunk_ids), np.float32)
    places = index.chunk_ids.places(near)
    is_here = places >= 0
    found[places[is_here]] = np.fromiter(near.values(), np.float32, len(near))[is_here]
    return found


def _by_passages(index: WalkIndex, near: Closeness) -> Floats:
    found = np.asarray(index.to_entities @ on_chunks(index, near), np.float32)
    most = found.max(initial=0.0)
    return found / most if most else found


def _by_names(index: WalkIndex, keyword: str) -> Floats:
    """Return 1 for the entity the keyword names, less if others share the name or only words
    match."""
    weights = np.zeros(len(index.entity_ids), np.float32)
    for place, share in _alike(index, keyword).items():
        weights[place] = share
    for places in walking.names_in(index, keyword).values():
        for place in places:
            weights[place] = max(float(weights[place]), 1.0 / len(places))
    return weights


def _alike(index: WalkIndex, keyword: str) -> dict[int, float]:
    """Map entities to the share of words common to a name and the keyword, if at least half."""
    asked = {word.folded for word in words(keyword) if terms(word.folded)}
    known = (index.keys_by_word.place(word) for word in asked)
    having = [index.keys_by_word.at(place) for place in known if place is not None]
    if not having:
        return {}
    keys, shared = np.unique(np.concatenate(having), return_counts=True)
    shares = shared / (index.words_of_keys[keys] + len(asked) - shared)
    found: dict[int, float] = {}
    for at in np.flatnonzero(shares >= SHARED).tolist():
        for entity in index.entities_by_key.at(int(keys[at])).tolist():
            found[entity] = max(found.get(entity, 0.0), float(shares[at]))
    return found
