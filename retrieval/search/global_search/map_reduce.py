"""Global search with a chat model: choose the reports, read each once, gather the points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from kb_project.llm.ports import ChatModel
from kb_project.sql import bulk_plans, run_sql
from retrieval.search import reports_sql as sql
from retrieval.search.found import Found, Record, Seed
from retrieval.search.global_search import batches, extractive, mapping, ranking, selecting
from retrieval.search.global_search.batches import Batch
from retrieval.search.global_search.levels import DEEPEST, Forest
from retrieval.search.global_search.mapping import Drawn, Reading
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.reports import Library
from retrieval.search.global_search.selecting import Selection
from retrieval.search.query import Query, ScoredChunk
from workspaces import access


@dataclass(frozen=True, slots=True)
class Shelf:
    """A workspace's reports, and those visible to a question, ranked by it."""

    library: Library
    ranked: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read. ``of_level`` counts what would be read without selection."""

    packed: Sequence[Batch]
    of_level: int
    selection: Selection


def found(
    query: Query,
    chat: ChatModel,
    shelf: Shelf,
    *,
    level: int | None = None,
    is_dynamic: bool = True,
) -> Found:
    """Read the reports of ``level``; None means the deepest that fits.

    If that is more than one call can read, reports worth reading are selected first, unless
    ``is_dynamic`` is false. Raises StoppedError and PauseError.
    """
    plan = _plan(query, chat, shelf, level, is_dynamic=is_dynamic)
    reading = mapping.read(query, chat, plan.packed)
    _note_lost(query, reading)
    figures = _figures(shelf, plan, reading)
    if reading.drawn:
        return _answered(query, shelf, reading.drawn, figures)
    if reading.counts["batches_lost"]:
        # The unread reports may have had the answer.
        return replace(extractive.found(query, shelf.ranked), figures=figures)
    query.note(
        "no_data",
        "None of your topics says anything about this question:"
        f" {reading.counts['reports_read']:,} of their reports were read.",
    )
    nearest = ranking.passages(shelf.ranked, query.top_k)
    return Found(nearest, figures=(*figures, ("no_data", 1)))


def _plan(
    query: Query, chat: ChatModel, shelf: Shelf, level: int | None, *, is_dynamic: bool
) -> Plan:
    forest = Forest(shelf.library.reports, shelf.ranked)
    weights = _weights(query, shelf)
    budget = mapping.room(query, chat)
    whole = forest.cut(DEEPEST if level is None else level)
    packed = batches.pack(batches.shuffled(whole), budget, weights)
    selection = Selection()
    if level is None and len(packed) > 1:
        if is_dynamic:
            selection = selecting.select(query, chat, forest, query.calls // 2)
            # Read everything selected; if nothing was, the reports nearest to the question.
            kept = list(selection.kept.values())
            chosen = batches.shuffled(kept) if kept else _best(whole)
            packed = batches.pack(chosen, budget, weights)[: None if kept else 1]
        else:
            packed = _deepest_fitting(forest, budget, weights, query.calls)
    left = query.calls - selection.calls
    return Plan(_fitting(query, packed, budget, weights, left), len(whole), selection)


def _weights(query: Query, shelf: Shelf) -> dict[UUID, float]:
    """Map communities to the number of passages naming their members, relative to the highest."""
    parameters = {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "topics": [one.topic.report.community for one in shelf.ranked],
    }
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
        packed = batches.pack(batches.shuffled(forest.cut(level)), budget, weights)
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
    fitting = batches.pack(_best(chosen), budget, weights)[:calls]
    left_out = len(chosen) - sum(len(batch.labels) for batch in fitting)
    query.note(
        "reports_left_out",
        f"{left_out:,} of {len(chosen):,} topics were not read: the search may make at most"
        f" {query.calls:,} model calls.",
    )
    return fitting


def _best(reports: Iterable[Ranked]) -> list[Ranked]:
    return sorted(reports, key=lambda one: (-one.score, one.topic.place))


def _note_lost(query: Query, reading: Reading) -> None:
    lost, asked = reading.counts["batches_lost"], reading.counts["batches"]
    if lost:
        query.note(
            "reports_lost",
            f"The model gave no usable answer to {lost:,} of {asked:,} calls that read topics,"
            " so what those topics say is missing.",
        )


def _answered(
    query: Query, shelf: Shelf, drawn: Sequence[Drawn], figures: tuple[tuple[str, float], ...]
) -> Found:
    records = _records(drawn)
    return Found(
        chunks=_passages(query, shelf, drawn),
        records=records,
        points=tuple(one.point for one in drawn),
        seeds=tuple(Seed("report", one.title, one.score / 100, one.id) for one in records),
        figures=figures,
    )


def _records(drawn: Sequence[Drawn]) -> tuple[Record, ...]:
    """Return the reports behind points, those of the best points first."""
    records: dict[UUID, Record] = {}
    for one in drawn:
        for report in one.reports:
            record = report.record(one.point.score, ("Source of a point in the answer",))
            records.setdefault(record.id, record)
    return tuple(records.values())


def _passages(query: Query, shelf: Shelf, drawn: Sequence[Drawn]) -> list[ScoredChunk]:
    """Return the passages that points rest on, best points first, then those nearest to the
    question."""
    hits: dict[UUID, ScoredChunk] = {}
    for one in drawn:
        for report in one.reports:
            why = (f"Source of the topic “{report.topic.title}”",)
            held = [chunk for chunk, _ in report.chunks]
            behind = [chunk for chunk in one.point.chunks if chunk in held] or held[:1]
            for chunk in behind:
                hits.setdefault(chunk, ScoredChunk(chunk, one.point.score / 100, why))
    nearest = ranking.passages(shelf.ranked, query.top_k)
    return ranking.with_nearest(hits, nearest)[: query.top_k]


def _figures(shelf: Shelf, plan: Plan, reading: Reading) -> tuple[tuple[str, float], ...]:
    selection, counts = plan.selection, reading.counts
    return (
        ("reports_total", len(shelf.ranked)),
        ("reports_of_level", plan.of_level),
        ("reports_rated", selection.rated),
        ("reports_read", counts["reports_read"]),
        ("ratings_invalid", selection.invalid),
        ("batches", counts["batches"]),
        ("batches_lost", counts["batches_lost"]),
        ("find_calls", selection.calls + counts["batches"]),
        ("points", len(reading.drawn)),
        ("points_ungrounded", counts["points_ungrounded"]),
        ("labels_foreign", counts["labels_foreign"]),
    )
