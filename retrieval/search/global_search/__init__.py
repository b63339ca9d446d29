"""Global: answer questions about the documents as a whole from the reports of their topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from ingestion.knowledge import corpus
from kb_project.errors import PauseError
from kb_project.llm.ports import ChatModel, Role
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.words import terms
from retrieval.search import hybrid, sql
from retrieval.search.global_search import model_calls, ranking, reports, selecting
from retrieval.search.global_search.model_calls import (
    MOST_POINTS,
    Batch,
    MapReply,
    cited_labels,
    clean,
)
from retrieval.search.global_search.ranking import Ranked, RankedReports
from retrieval.search.global_search.selecting import DEEPEST, Forest, Selection
from retrieval.search.hybrid import INSTEAD
from retrieval.search.query import Note, Query, ScoredChunk
from retrieval.search.results import ModeResult, Point, Record, Seed
from workspaces import access

# --- with a chat model ----------------------------------------------------------------------------
ROLE: Final = Role.ANSWER
READ: Final = 2_000
"""Reports looked up for a model to read, from the roots down: about as many as all its calls can
read."""
MOST_CHUNKS: Final = 3
"""Passages a point is shown to rest on."""


@dataclass(frozen=True, slots=True)
class GroundedPoint:
    """A point with the reports it rests on, in the order they are named."""

    point: Point
    reports: tuple[Ranked, ...]


@dataclass(slots=True)
class MapResult:
    """``points`` is sorted by score. ``counts``: batches, batches_lost, reports_read,
    labels_foreign, points_ungrounded and points_zero."""

    points: list[GroundedPoint] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read. ``total`` counts the reports to choose from, ``of_level`` what would be read
    without selection."""

    packed: Sequence[Batch]
    total: int
    of_level: int
    selection: Selection


def found(query: Query, chat: ChatModel, nearest: RankedReports) -> ModeResult:
    """Read the reports that ``query.topics`` names, or a selection of them. Raises StoppedError
    and PauseError."""
    plan = _plan(query, chat, nearest)
    reading = read(query, chat, plan.packed)
    lost, asked = reading.counts["batches_lost"], reading.counts["batches"]
    if lost:
        query.note(
            "reports_lost",
            f"The model gave no usable answer to {lost:,} of {asked:,} calls that read topics,"
            " so what those topics say is missing.",
        )
    figures = _figures(plan, reading)
    if reading.points:
        return _answered(query, nearest, reading.points, figures)
    if lost:
        # The unread reports may have had the answer.
        return replace(extractive(query, nearest), figures=figures)
    query.note(
        "no_data",
        "None of your topics says anything about this question:"
        f" {reading.counts['reports_read']:,} of their reports were read.",
    )
    passages = ranking.passages(nearest.ranked, query.top_k)
    return ModeResult(passages, figures=(*figures, ("no_data", 1)))


def extractive(query: Query, nearest: RankedReports) -> ModeResult:
    """Search without a model: the reports nearest to the question, of the chosen level if there is
    one and the question may see reports of it."""
    ranked = nearest.ranked
    if query.topics.level is not None:
        with access.in_workspace(query.workspace_id):
            found = reports.nearest(query, nearest.near, ranking.RANKED, query.topics.level)
            ranked = ranking.ranked(query, found, nearest.near).ranked or ranked
    return ranking.extractive_result(query, ranked)


def _plan(query: Query, chat: ChatModel, nearest: RankedReports) -> Plan:
    choice = query.topics
    deepest = DEEPEST if choice.level is None else choice.level
    with access.in_workspace(query.workspace_id):
        found = reports.down_to(query, deepest, READ + 1)
        if len(found) > READ:
            query.note(
                "reports_left_out",
                f"There are so many topics that only the {READ:,} widest could be read.",
            )
            found = found[:READ]
        if query.documents is not None:
            # Of a few documents, deeper topics may be all that speaks of nothing else.
            known = {report.id for report in found}
            found += [report for report in nearest.reports if report.id not in known]
        wide = ranking.ranked(query, found, nearest.near)
    forest = Forest(wide.reports, wide.ranked)
    weights = _weights(query, wide.ranked)
    empty = model_calls.filled("global_map", query.question, "")
    budget = model_calls.room(chat, ROLE, empty, MapReply)
    whole = forest.cut(deepest)
    packed = model_calls.pack(model_calls.shuffled(whole), budget, weights)
    selection = Selection()
    if choice.selects(is_much=len(packed) > 1):
        selection = selecting.select(query, chat, forest, query.calls // 2, deepest)
        # Read everything selected; if nothing was, the reports nearest to the question.
        kept = list(selection.kept.values())
        chosen = model_calls.shuffled(kept) if kept else _best(whole)
        packed = model_calls.pack(chosen, budget, weights)[: None if kept else 1]
    elif choice.level is None and len(packed) > 1:
        packed = _deepest_fitting(forest, budget, weights, query.calls)
    left = query.calls - selection.calls
    packed = _fitting(query, packed, budget, weights, left)
    return Plan(packed, len(wide.ranked), len(whole), selection)


def _weights(query: Query, ranked: Sequence[Ranked]) -> dict[UUID, float]:
    """Map communities to the number of passages naming their members, relative to the highest."""
    parameters = query.parameters(topics=[one.topic.report.community for one in ranked])
    with access.in_workspace(query.workspace_id), bulk_plans():
        counts: dict[UUID, int] = dict(run_sql(sql.PASSAGES_OF_TOPICS, parameters))
    most = max(counts.values(), default=1)
    return {topic: count / most for topic, count in counts.items()}


def _deepest_fitting(
    forest: Forest, budget: int, weights: Mapping[UUID, float], calls: int
) -> list[Batch]:
    """Return the reports of the deepest level that so many calls can read, else of the roots."""
    packed: list[Batch] = []
    for level in range(DEEPEST, -1, -1):
        packed = model_calls.pack(model_calls.shuffled(forest.cut(level)), budget, weights)
        if len(packed) <= calls:
            break
    return packed


def _fitting(
    query: Query, packed: list[Batch], budget: int, weights: Mapping[UUID, float], calls: int
) -> list[Batch]:
    """Return as many batches as calls are left, of the reports nearest to the question."""
    if len(packed) <= calls:
        return packed
    chosen = [one for batch in packed for one in batch.labels.values()]
    fitting = model_calls.pack(_best(chosen), budget, weights)[:calls]
    left_out = len(chosen) - sum(len(batch.labels) for batch in fitting)
    query.note(
        "reports_left_out",
        f"{left_out:,} of {len(chosen):,} topics were not read: the search may make at most"
        f" {query.calls:,} model calls.",
    )
    return fitting


def _best(reports: Iterable[Ranked]) -> list[Ranked]:
    return sorted(reports, key=lambda one: (-one.score, one.topic.place))


def read(query: Query, chat: ChatModel, packed: Sequence[Batch]) -> MapResult:
    """Read the batches. Raises StoppedError and PauseError.

    After GraphRAG's global search, with two defects fixed: scores are compared as numbers, and a
    point may only rest on reports in its batch.
    """
    count = sum(len(batch.labels) for batch in packed)
    query.step("read", f"Reading {count:,} topics." if count > 1 else "Reading one topic.")
    prompts = [model_calls.filled("global_map", query.question, batch.text) for batch in packed]
    replies = model_calls.ask_all(query, chat, ROLE, MapReply, prompts)
    found = MapResult()
    for batch, reply in zip(packed, replies, strict=True):
        found.counts["batches"] += 1
        if reply is None:
            found.counts["batches_lost"] += 1
        else:
            found.counts["reports_read"] += len(batch.labels)
            found.points += _grounded(batch, reply, found.counts)
    # Equal scores keep the order of the batches, whichever reply came first.
    found.points.sort(key=lambda one: -one.point.score)
    return found


def _grounded(batch: Batch, reply: MapReply, counts: Counter[str]) -> Iterator[GroundedPoint]:
    for given in reply.points[:MOST_POINTS]:
        text = clean(given.description)
        if not given.score or not text:
            counts["points_zero"] += 1
            continue
        named = cited_labels(given.description, given.records)
        reports = tuple(batch.labels[label] for label in named if label in batch.labels)
        counts["labels_foreign"] += len(named) - len(reports)
        if not reports:
            counts["points_ungrounded"] += 1
            continue
        yield GroundedPoint(point(text, given.score, reports), reports)


def point(text: str, score: float, reports: Sequence[Ranked]) -> Point:
    """Build a point with the passages behind the most similar statements of its reports."""
    own = set(terms(text))
    similarity: dict[UUID, float] = {}
    for report in reports:
        for statement in report.topic.statements:
            shared = len(own & set(terms(statement.text))) / (len(own) or 1)
            for chunk in statement.chunks if shared else ():
                similarity[chunk] = max(shared, similarity.get(chunk, 0.0))
    # Equal similarity keeps the order of the reports and their statements.
    nearest = sorted(similarity, key=lambda chunk: -similarity[chunk])[:MOST_CHUNKS]
    records = tuple(report.topic.report.id for report in reports)
    return Point(text, score, records=records, chunks=tuple(nearest))


def _answered(
    query: Query,
    nearest: RankedReports,
    points: Sequence[GroundedPoint],
    figures: tuple[tuple[str, float], ...],
) -> ModeResult:
    # The reports behind points, those of the best points first.
    records: dict[UUID, Record] = {}
    for one in points:
        for report in one.reports:
            record = report.record(one.point.score, ("Source of a point in the answer",))
            records.setdefault(record.id, record)
    return ModeResult(
        chunks=_passages(query, nearest, points),
        records=tuple(records.values()),
        points=tuple(one.point for one in points),
        seeds=tuple(Seed("report", one.title, one.score / 100, one.id) for one in records.values()),
        figures=figures,
    )


def _passages(
    query: Query, nearest: RankedReports, points: Sequence[GroundedPoint]
) -> list[ScoredChunk]:
    """Return the passages that points rest on, best points first, then those nearest to the
    question."""
    hits: dict[UUID, ScoredChunk] = {}
    for one in points:
        for report in one.reports:
            why = (f"Source of the topic “{report.topic.title}”",)
            held = [chunk for chunk, _ in report.chunks]
            behind = [chunk for chunk in one.point.chunks if chunk in held] or held[:1]
            for chunk in behind:
                hits.setdefault(chunk, ScoredChunk(chunk, one.point.score / 100, why))
    beside = ranking.passages(nearest.ranked, query.top_k)
    return ranking.with_nearest(hits, beside)[: query.top_k]


def _figures(plan: Plan, reading: MapResult) -> tuple[tuple[str, float], ...]:
    selection, counts = plan.selection, reading.counts
    return (
        ("reports_total", plan.total),
        ("reports_of_level", plan.of_level),
        ("reports_rated", selection.rated),
        ("reports_read", counts["reports_read"]),
        ("ratings_invalid", selection.invalid),
        ("batches", counts["batches"]),
        ("batches_lost", counts["batches_lost"]),
        ("find_calls", selection.calls + counts["batches"]),
        ("points", len(reading.points)),
        ("points_ungrounded", counts["points_ungrounded"]),
        ("labels_foreign", counts["labels_foreign"]),
    )


# --- the mode -------------------------------------------------------------------------------------
def search(query: Query) -> ModeResult:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, found, extractive, ranking.INSTEAD)


def searched(
    query: Query,
    by_model: Callable[[Query, ChatModel, RankedReports], ModeResult],
    without: Callable[[Query, RankedReports], ModeResult],
    instead: Note,
) -> ModeResult:
    """Search from the reports: with a chat model if one is available, else without.

    ``instead`` ends the sentence on why no model was called. Outside transactions; raises
    StoppedError.
    """
    with access.in_workspace(query.workspace_id):
        found = ranked_reports(query)
        if found is None:
            return hybrid.instead(query)
    if query.chat is None or query.calls < 1:
        why = "chat model is chosen" if query.chat is None else "call to the chat model is left"
        query.note(instead.code, f"No {why}, so {instead.sentence}")
        return without(query, found)
    try:
        return by_model(query, query.chat, found)
    except PauseError as error:
        query.note(instead.code, f"{error.happened} For now {instead.sentence}")
        return without(query, found)


def ranked_reports(query: Query) -> RankedReports | None:
    """Return the reports to search; None, with a note, if there are none. Call in a transaction."""
    found = ranking.nearest(query)
    counts = corpus.counts(workspace_id=query.workspace_id)
    if found.ranked:
        if waiting := counts.topics - counts.reports:
            some = "One topic has" if waiting == 1 else f"{waiting:,} topics have"
            query.note("reports_pending", f"{some} no report yet and could not be searched.")
        return found
    if counts.reports:
        query.note("no_report_in_scope", f"No topic's report cites these documents. {INSTEAD}")
    else:
        query.note("reports_pending", f"No topic has a report yet. {INSTEAD}")
    return None
