"""Global search by a chat model: choose the reports, read each once, gather the points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from kb_project.llm.ports import ChatModel
from retrieval.search.found import Found, Record, Seed
from retrieval.search.global_ import batches, extractive, mapping, ranking, selecting
from retrieval.search.global_.batches import Batch
from retrieval.search.global_.levels import DEEPEST, Forest
from retrieval.search.global_.library import Library
from retrieval.search.global_.mapping import Drawn, Reading
from retrieval.search.global_.ranking import Ranked
from retrieval.search.global_.selecting import Selection
from retrieval.search.query import Query, ScoredChunk


@dataclass(frozen=True, slots=True)
class Shelf:
    """The reports of a workspace, ranked by a question as far as it may see them.

    ``weights`` of communities: in how many passages their members are named, against the most.
    """

    library: Library
    ranked: tuple[Ranked, ...]
    weights: Mapping[UUID, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read. ``of_level`` counts what would be read without selection."""

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
    """Reads the reports of ``level``; None is the deepest that fits.

    Where that is more than one call reads, the reports worth reading are selected first, unless
    told otherwise. Raises StoppedError and PauseError.
    """
    plan = _plan(query, chat, shelf, level, is_dynamic=is_dynamic)
    reading = mapping.read(query, chat, plan.packed)
    _note_lost(query, reading)
    figures = _figures(shelf, plan, reading)
    if reading.drawn:
        return _answered(query, shelf, reading.drawn, figures)
    if reading.counts["batches_lost"]:
        # What was not read may have held the answer.
        return replace(extractive.found(query, shelf.ranked), figures=figures)
    query.note(
        "no_data",
        "None of the topics of your documents says anything on this question:"
        f" {reading.counts['reports_read']:,} of their reports were read.",
    )
    nearest = ranking.passages(shelf.ranked, query.top_k)
    return Found(nearest, figures=(*figures, ("no_data", 1)))


def _plan(
    query: Query, chat: ChatModel, shelf: Shelf, level: int | None, *, is_dynamic: bool
) -> Plan:
    forest = Forest(shelf.library.reports, shelf.ranked)
    budget = mapping.room(query, chat)
    whole = forest.cut(DEEPEST if level is None else level)
    packed = batches.pack(batches.shuffled(whole), budget, shelf.weights)
    selection = Selection()
    if level is None and len(packed) > 1:
        if is_dynamic:
            selection = selecting.select(query, chat, forest, query.calls // 2)
            # Whatever was kept is read; where nothing was, what the question is nearest to.
            kept = list(selection.kept.values())
            chosen = batches.shuffled(kept) if kept else _best(whole)
            packed = batches.pack(chosen, budget, shelf.weights)[: None if kept else 1]
        else:
            packed = _deepest_fitting(forest, budget, shelf.weights, query.calls)
    left = query.calls - selection.calls
    return Plan(_fitting(query, packed, budget, shelf.weights, left), len(whole), selection)


def _deepest_fitting(
    forest: Forest, budget: int, weights: Mapping[UUID, float], calls: int
) -> list[Batch]:
    """The reports of the deepest level that so many calls can read, else those of the roots."""
    packed: list[Batch] = []
    for level in range(DEEPEST, -1, -1):
        packed = batches.pack(batches.shuffled(forest.cut(level)), budget, weights)
        if len(packed) <= calls:
            break
    return packed


def _fitting(
    query: Query, packed: list[Batch], budget: int, weights: Mapping[UUID, float], calls: int
) -> list[Batch]:
    """As many batches as there are calls left: of what the question is nearest to."""
    if len(packed) <= calls:
        return packed
    chosen = [one for batch in packed for one in batch.labels.values()]
    fitting = batches.pack(_best(chosen), budget, weights)[:calls]
    left_out = len(chosen) - sum(len(batch.labels) for batch in fitting)
    query.note(
        "reports_left_out",
        f"{left_out:,} of {len(chosen):,} topics were not read: finding may take {query.calls:,}"
        " calls of the model.",
    )
    return fitting


def _best(reports: Iterable[Ranked]) -> list[Ranked]:
    return sorted(reports, key=lambda one: (-one.score, one.topic.place))


def _note_lost(query: Query, reading: Reading) -> None:
    lost, asked = reading.counts["batches_lost"], reading.counts["batches"]
    if lost:
        query.note(
            "reports_lost",
            f"{lost:,} of {asked:,} calls that were to read topics got no usable answer of the"
            " model; what those topics say is missing.",
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
    """The reports behind points, those of the best points first."""
    records: dict[UUID, Record] = {}
    for one in drawn:
        for report in one.reports:
            record = report.record(one.point.score, ("Behind a point of the answer",))
            records.setdefault(record.id, record)
    return tuple(records.values())


def _passages(query: Query, shelf: Shelf, drawn: Sequence[Drawn]) -> list[ScoredChunk]:
    """What the points rest on, the best points first; then what the question is nearest to.

    What no point rests on counts less than whatever one does.
    """
    hits: dict[UUID, ScoredChunk] = {}
    for one in drawn:
        for report in one.reports:
            why = (f"Behind the topic “{report.topic.title}”",)
            held = [chunk for chunk, _ in report.chunks]
            behind = [chunk for chunk in one.point.chunks if chunk in held] or held[:1]
            for chunk in behind:
                hits.setdefault(chunk, ScoredChunk(chunk, one.point.score / 100, why))
    least = min((hit.score for hit in hits.values()), default=1.0)
    nearest = ranking.passages(shelf.ranked, query.top_k)
    most = max((hit.score for hit in nearest), default=0.0) or 1.0
    for hit in nearest:
        hits.setdefault(hit.chunk_id, replace(hit, score=least * hit.score / (2 * most)))
    return list(hits.values())[: query.top_k]


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
