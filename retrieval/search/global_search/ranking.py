"""Rank reports by a question: by their words and by the passages they rest on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, overload
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property
from numpy.typing import NDArray

from kb_project.text.terms import terms
from retrieval.search import dense, lexical
from retrieval.search.global_search.reports import Library, Part, Topic, Visible
from retrieval.search.query import Note, Query, ScoredChunk
from retrieval.search.results import ModeResult, Record, RecordKind, Seed

NEAREST: Final = 200
"""Passages whose closeness to the question counts; others count as far."""
TELLING: Final = 3
"""A report's closeness is the mean over this many passages."""
RATING: Final = 0.1
"""Weight of a report's own rating: it decides if a question has few telling words, as global ones
do."""
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
    """``near`` are the passages close to the question, ``by_part`` the scores of report parts by
    the question's words; both for the whole library."""

    topic: Topic
    score: float
    near: Mapping[UUID, float] = field(default_factory=dict, repr=False, compare=False)
    by_part: Mapping[Part, float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def chunks(self) -> tuple[tuple[UUID, float], ...]:
        """The passages the report rests on with scores, best first.

        The score combines how well the statement on a passage matches the question and how near the
        passage itself is. Equal scores keep the report's own order. Computed on demand: most
        reports are never returned.
        """
        scores: dict[UUID, float] = {}
        for number in sorted(self.topic.parts - {0}):
            by_words = self.by_part.get((self.topic.place, number), 0.0)
            for chunk in self.topic.report.statements[number - 1].chunks:
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


class Ranking(Sequence[Ranked]):
    """Topics by their scores, best first. Each is put together when it is asked for: most never
    are."""

    def __init__(
        self,
        topics: Sequence[Topic],
        scores: NDArray[np.float64],
        near: Mapping[UUID, float],
        by_part: Mapping[Part, float],
    ) -> None:
        self._topics, self._scores, self._near, self._by_part = topics, scores, near, by_part
        # Stable: equal scores keep the library's order.
        self._order = np.argsort(-scores, kind="stable")

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> list[Ranked]: ...
    def __getitem__(self, place: int | slice) -> Ranked | list[Ranked]:
        if isinstance(place, slice):
            return [self._ranked(position) for position in self._order[place].tolist()]
        return self._ranked(int(self._order[place]))

    def _ranked(self, position: int) -> Ranked:
        score = float(self._scores[position])
        return Ranked(self._topics[position], score, self._near, self._by_part)


def rank(query: Query, library: Library, visible: Visible) -> Ranking:
    """Rank every topic, best first; the same question gives the same order."""
    wanted = list(dict.fromkeys(terms(query.question)))
    by_words, by_parts = library.words.scores(wanted, visible.seen)
    most = max(by_words.values(), default=0.0) or 1.0
    best = max(by_parts.values(), default=0.0) or 1.0
    by_part = {part: score / best for part, score in by_parts.items()}
    near = closeness(query)
    scores = RATING / 10 * visible.ratings
    for place, score in by_words.items():
        scores[visible.positions[place]] += score / most
    for place, score in _by_passages(library, visible.seen.parts, near).items():
        scores[visible.positions[place]] += score
    return Ranking(visible.topics, scores, near, by_part)


def _by_passages(
    library: Library, shown: Mapping[int, frozenset[int]], near: Mapping[UUID, float]
) -> dict[int, float]:
    """Compute reports' closeness: the mean over their ``TELLING`` nearest passages."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    for chunk, score in near.items():
        places = {
            place for place, part in library.resting.get(chunk, ()) if part in shown.get(place, ())
        }
        for place in places:
            found[place].append(score)
    return {
        place: sum(sorted(scores, reverse=True)[:TELLING]) / TELLING
        for place, scores in found.items()
    }


def closeness(query: Query) -> dict[UUID, float]:
    """Score passages near the question by meaning and by words, from 0 to 2."""
    by_meaning = dict(dense.nearest(query, NEAREST))
    dense.note_pending(query)
    low, high = min(by_meaning.values(), default=0.0), max(by_meaning.values(), default=0.0)
    found = {chunk: (cosine - low) / ((high - low) or 1.0) for chunk, cosine in by_meaning.items()}
    if terms(query.question):
        best = lexical.best(query, NEAREST)
        most = max((score for _, score, _ in best), default=0.0) or 1.0
        for chunk, score, _ in best:
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
