"""Which reports a question is about: by their words and by the passages they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.text.terms import terms
from retrieval.search import dense, lexical
from retrieval.search.found import Record, RecordKind
from retrieval.search.global_.library import Library, Topic
from retrieval.search.query import Query, ScoredChunk

NEAREST: Final = 200
"""Passages whose closeness to the question counts; others count as far."""
TELLING: Final = 3
"""Passages of a report that its closeness is the mean of."""
RATING: Final = 0.1
"""Share of a report's own rating: it decides where a question says little, as global ones do."""
TOPICS: Final = 20
"""Reports whose passages are given."""
LARGEST_SHARE: Final = 1 / 3
"""Of the passages given, those of one report."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """``chunks`` are those the report rests on, the most telling first, each with a score."""

    topic: Topic
    score: float
    chunks: tuple[tuple[UUID, float], ...]

    def record(self, score: float, why: tuple[str, ...] = ()) -> Record:
        return Record(
            kind=RecordKind.REPORT,
            id=self.topic.report.id,
            title=self.topic.title,
            text=self.topic.text,
            sources=tuple(chunk for chunk, _ in self.chunks),
            score=score,
            why=why,
        )


def rank(query: Query, shelf: Library, topics: Sequence[Topic]) -> list[Ranked]:
    """Every topic, best first; the same question gives the same order."""
    wanted = list(dict.fromkeys(terms(query.question)))
    shown = {topic.place: topic.parts for topic in topics}
    by_words, by_parts = shelf.words.scores(wanted, shown)
    near = closeness(query)
    most = max(by_words.values(), default=0.0) or 1.0
    told = max(by_parts.values(), default=0.0) or 1.0
    ranked = []
    for topic in topics:
        parts = {number: by_parts.get((topic.place, number), 0) / told for number in topic.parts}
        chunks = _chunks(topic, parts, near)
        nearest = sorted((near.get(chunk, 0.0) for chunk, _ in chunks), reverse=True)[:TELLING]
        score = (
            by_words.get(topic.place, 0.0) / most
            + sum(nearest) / TELLING
            + RATING * topic.report.rating / 10
        )
        ranked.append(Ranked(topic, score, chunks))
    return sorted(ranked, key=lambda one: (-one.score, one.topic.place))


def closeness(query: Query) -> dict[UUID, float]:
    """Passages near the question by meaning and by words, from 0 to 2."""
    by_meaning = dict(dense.nearest(query, NEAREST))
    dense.note_pending(query)
    found = _scaled(by_meaning)
    if terms(query.question):
        best = lexical.best(query, NEAREST)
        most = max((score for _, score, _ in best), default=0.0) or 1.0
        for chunk, score, _ in best:
            found[chunk] = found.get(chunk, 0.0) + score / most
    return found


def _scaled(cosines: Mapping[UUID, float]) -> dict[UUID, float]:
    low, high = min(cosines.values(), default=0.0), max(cosines.values(), default=0.0)
    return {chunk: (cosine - low) / ((high - low) or 1.0) for chunk, cosine in cosines.items()}


def _chunks(
    topic: Topic, parts: Mapping[int, float], near: Mapping[UUID, float]
) -> tuple[tuple[UUID, float], ...]:
    """By what the statement on them has of the question and how near they are themselves."""
    scores: dict[UUID, float] = {}
    numbers = sorted(number for number in parts if number)
    for number in numbers:
        for chunk in topic.report.statements[number - 1].chunks:
            score = parts[number] + near.get(chunk, 0.0)
            scores[chunk] = max(score, scores.get(chunk, 0.0))
    # Equal scores keep the report's own order.
    return tuple(sorted(scores.items(), key=lambda pair: -pair[1]))


def passages(ranked: Sequence[Ranked], count: int) -> list[ScoredChunk]:
    """Passages of the best reports, not too many of one; best first."""
    most = max(1, round(count * LARGEST_SHARE))
    chosen: dict[UUID, ScoredChunk] = {}
    spare: dict[UUID, ScoredChunk] = {}
    for one in ranked[:TOPICS]:
        new = [pair for pair in one.chunks if pair[0] not in chosen]
        why = (f"Behind the topic “{one.topic.title}”",)
        for number, (chunk, score) in enumerate(new):
            hit = ScoredChunk(chunk, one.score + score, why)
            (chosen if number < most else spare).setdefault(chunk, hit)
    best = _best(list(chosen.values()), count)
    more = [hit for chunk, hit in spare.items() if chunk not in chosen]
    return _best(best + _best(more, count - len(best)), count)


def _best(hits: Sequence[ScoredChunk], count: int) -> list[ScoredChunk]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:count]
