"""Rank reports by a question: by their words and by the passages they rest on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final
from uuid import UUID

from django.utils.functional import cached_property

from kb_project.text.words import terms
from retrieval.search import dense, lexical
from retrieval.search.global_search import reports
from retrieval.search.global_search.reports import RATING, TELLING, Report, Topic
from retrieval.search.query import Note, Query, ScoredChunk
from retrieval.search.results import ModeResult, Record, RecordKind, Seed

NEAREST: Final = 200
"""Passages whose closeness to the question counts; others count as far."""
RANKED: Final = 100
"""Reports that are looked up and ranked, the nearest by their passages: see
``docs/benchmarks.md``."""
SATURATION: Final = 1.2
LENGTH: Final = 0.75
"""k1 and b of BM25."""
TOPICS: Final = 20
"""Reports whose passages are returned."""
LARGEST_SHARE: Final = 1 / 3
"""Largest share of the returned passages from one report."""
REPORTS: Final = 10
"""Reports given as records."""
INSTEAD: Final = Note(
    "extractive_reports",
    "the topics were ranked by their words and passages instead of being read by a model.",
)


@dataclass(frozen=True)
class Ranked:
    """``near`` are the passages close to the question, ``said`` the scores of the topic's
    statements by the question's words."""

    topic: Topic
    score: float
    near: Mapping[UUID, float] = field(repr=False, compare=False)
    said: Sequence[float] = field(repr=False, compare=False)

    @cached_property
    def chunks(self) -> tuple[tuple[UUID, float], ...]:
        """The passages the report rests on with scores, best first.

        The score combines how well the statement on a passage matches the question and how near the
        passage itself is. Equal scores keep the report's own order. Computed on demand: most
        reports are never returned.
        """
        scores: dict[UUID, float] = {}
        for by_words, statement in zip(self.said, self.topic.statements, strict=True):
            for chunk in statement.chunks:
                score = by_words + self.near.get(chunk, 0.0)
                scores[chunk] = max(score, scores.get(chunk, 0.0))
        return tuple(sorted(scores.items(), key=lambda pair: -pair[1]))

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


@dataclass(frozen=True, slots=True)
class RankedReports:
    """Reports looked up for a question, those it may see ranked, and the closeness of passages."""

    reports: Sequence[Report]
    ranked: Sequence[Ranked]
    near: Mapping[UUID, float]


def nearest(query: Query) -> RankedReports:
    """Look up and rank the reports nearest to the question. Call in a transaction."""
    near = closeness(query)
    return ranked(query, reports.nearest(query, near, RANKED), near)


def ranked(query: Query, found: Sequence[Report], near: Mapping[UUID, float]) -> RankedReports:
    """Rank what the question may see of the reports, best first. Call in a transaction."""
    topics = reports.visible(query, found)
    return RankedReports(found, rank(query.question, topics, near), near)


def rank(question: str, topics: Sequence[Topic], near: Mapping[UUID, float]) -> list[Ranked]:
    """Rank every topic, best first; the same question gives the same order."""
    whole, parts = scores_by_words(list(dict.fromkeys(terms(question))), topics)
    most = max(whole, default=0.0) or 1.0
    best = max((max(scores) for scores in parts), default=0.0) or 1.0
    found = [
        Ranked(
            topic,
            by_words / most + _closeness_of(topic, near) + RATING * topic.report.rating,
            near,
            [score / best for score in scores[1:]],
        )
        for topic, by_words, scores in zip(topics, whole, parts, strict=True)
    ]
    # Stable: equal scores keep the order they came in.
    return sorted(found, key=lambda one: -one.score)


def scores_by_words(
    wanted: Sequence[str], topics: Sequence[Topic]
) -> tuple[list[float], list[list[float]]]:
    """Return the BM25 scores of topics, and those of each topic's parts.

    What is not seen adds nothing, not even to the statistics.
    """
    counted = [[_counts(part) for part in topic.parts] for topic in topics]
    lengths = [sum(counts.total() for counts in parts) for parts in counted]
    mean = max(1.0, sum(lengths) / max(1, len(lengths)))
    whole = [0.0] * len(topics)
    scores = [[0.0] * len(parts) for parts in counted]
    for term in wanted:
        found = [[counts[term] for counts in parts] for parts in counted]
        sums = [sum(counts) for counts in found]
        holding = sum(map(bool, sums))
        rarity = math.log(1 + (len(topics) - holding + 0.5) / (holding + 0.5))
        for place, (counts, total) in enumerate(zip(found, sums, strict=True)):
            if total:
                whole[place] += rarity * _saturated(total, lengths[place] / mean)
                for number, count in enumerate(counts):
                    scores[place][number] += rarity * _saturated(count, 1.0)
    return whole, scores


@lru_cache(maxsize=10_000)
def _counts(text: str) -> Counter[str]:
    return Counter(terms(text))


def _saturated(count: int, length: float) -> float:
    norm = 1 - LENGTH + LENGTH * length
    return count * (SATURATION + 1) / (count + SATURATION * norm)


def _closeness_of(topic: Topic, near: Mapping[UUID, float]) -> float:
    """Return the mean closeness of the ``TELLING`` nearest passages the topic rests on."""
    resting = {chunk for one in topic.statements for chunk in one.chunks}
    nearest_first = sorted((near[chunk] for chunk in resting & near.keys()), reverse=True)
    return sum(nearest_first[:TELLING]) / TELLING


def closeness(query: Query) -> dict[UUID, float]:
    """Score passages near the question by meaning and by words, from 0 to 2."""
    by_meaning = dict(dense.nearest(query, NEAREST))
    dense.note_pending(query)
    low, high = min(by_meaning.values(), default=0.0), max(by_meaning.values(), default=0.0)
    found = {chunk: (cosine - low) / ((high - low) or 1.0) for chunk, cosine in by_meaning.items()}
    if terms(query.question):
        best = lexical.best(query, NEAREST)
        most = max((score for _, score, *_ in best), default=0.0) or 1.0
        for chunk, score, *_ in best:
            found[chunk] = found.get(chunk, 0.0) + score / most
    return found


def passages(ranked: Sequence[Ranked], count: int) -> list[ScoredChunk]:
    """Return passages of the best reports, limiting those from one report; best first."""
    most = max(1, round(count * LARGEST_SHARE))
    chosen: dict[UUID, ScoredChunk] = {}
    spare: dict[UUID, ScoredChunk] = {}
    for one in ranked[:TOPICS]:
        new = [pair for pair in one.chunks if pair[0] not in chosen]
        why = (f"Source of the topic “{one.topic.title}”",)
        for number, (chunk, score) in enumerate(new):
            hit = ScoredChunk(chunk, one.score + score, why)
            (chosen if number < most else spare).setdefault(chunk, hit)
    best = _best(list(chosen.values()), count)
    more = [hit for chunk, hit in spare.items() if chunk not in chosen]
    return _best(best + _best(more, count - len(best)), count)


def with_nearest(
    behind: Mapping[UUID, ScoredChunk], nearest: Sequence[ScoredChunk]
) -> list[ScoredChunk]:
    """Return what points rest on, then the passages nearest to the question.

    A passage that no point rests on scores lower than any that one does.
    """
    least = min((hit.score for hit in behind.values()), default=1.0)
    most = max((hit.score for hit in nearest), default=0.0) or 1.0
    beside = (hit for hit in nearest if hit.chunk_id not in behind)
    return [
        *behind.values(),
        *(replace(hit, score=least * hit.score / (2 * most)) for hit in beside),
    ]


def _best(hits: Sequence[ScoredChunk], count: int) -> list[ScoredChunk]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:count]


def extractive_result(query: Query, ranked: Sequence[Ranked]) -> ModeResult:
    """Answer without a model: the reports nearest to the question, and what they rest on."""
    best = ranked[:REPORTS]
    why = ("Close to the question",)
    return ModeResult(
        chunks=passages(ranked, query.top_k),
        records=tuple(one.record(one.score, why) for one in best),
        seeds=tuple(
            Seed("report", one.topic.title, one.score, one.topic.report.id) for one in best
        ),
        figures=(("reports_total", len(ranked)), ("reports_read", 0)),
    )
