"""Measure one question in one mode: what was found, what was answered, and how good both are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from ingestion.models import Chunk
from kb_project.errors import InputError
from retrieval.answering import flow
from retrieval.answering.drafts import Asking
from retrieval.evaluation import evidence, judging, metrics
from retrieval.evaluation.evidence import FoundPassage, Names
from retrieval.evaluation.judging import Judge
from retrieval.models import SetQuestion
from retrieval.search import services
from retrieval.search.modes import mode_named
from retrieval.search.query import QuestionVector, checked_top_k
from retrieval.search.reporting import EventKind
from retrieval.search.results import Hit
from workspaces import access
from workspaces.models import Workspace

MOST_PASSAGES: Final = 60
"""Passages kept with a result, by id."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """What all questions of a run share. Without a ``judge``, nothing is answered."""

    workspace: Workspace
    names: Names
    ks: tuple[int, ...]
    judge: Judge | None
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements, as in ``EvaluationResult``."""

    metrics: dict[str, float]
    passages: list[dict[str, Any]]
    answer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)


class Listening:
    """Records the passages an answer is made from, and lets the run stop between steps."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.passages: Sequence[Mapping[str, Any]] = ()

    def emit(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        if kind == EventKind.PASSAGES:
            self.passages = payload["passages"]
        self.check()


def measure(
    measuring: Measuring, question: SetQuestion, mode: str, vector: QuestionVector
) -> Measured:
    """Measure one question. Raises ReplyError and InputError if this question alone cannot be
    measured."""
    found = _found(measuring, question, mode, vector)
    if measuring.judge is None:
        return found
    said = answered(
        measuring.workspace,
        measuring.judge,
        measuring.check,
        asked=(question.pk, question.text, mode),
        expected=question.answer,
    )
    return replace(said, metrics=found.metrics | said.metrics, passages=found.passages)


def answered(
    workspace: Workspace,
    judge: Judge,
    check: Callable[[], None],
    *,
    asked: tuple[UUID, str, str],
    expected: str,
) -> Measured:
    """Answer a question, and judge the answer if the expected one is known.

    ``asked`` is the question's id, its text and the mode.
    """
    question_id, question, mode = asked
    started = time.perf_counter()
    listening = Listening(check)
    draft = flow.draft_answer(Asking(workspace, question_id, question, mode), listening)
    seconds = time.perf_counter() - started
    answer = " ".join(sentence.text for sentence in draft.sentences) if draft.is_supported else ""
    figures = {"answered": float(bool(answer)), "answer_ms": round(seconds * 1000, 2)}
    if not expected:
        return Measured(figures, [], answer)
    judged = judging.judge_answer(
        judge,
        question=question,
        expected=expected,
        answer=answer,
        passages=[str(passage["text"]) for passage in listening.passages],
    )
    return Measured(figures | metrics.measure(judged.found), [], answer, judged.as_json())


def _found(
    measuring: Measuring, question: SetQuestion, mode: str, vector: QuestionVector
) -> Measured:
    found = services.search(
        workspace=measuring.workspace,
        question=question.text,
        mode=mode,
        top_k=max(measuring.ks),
        vector=vector,
    )
    passages = passages_of(measuring.workspace, found.hits)
    places = evidence.places_of(question.evidence, measuring.names)
    covered = evidence.cover(places, passages)
    return Measured(
        {
            **ranking(covered, len(places), measuring.ks),
            "search_ms": round(found.search_seconds * 1000, 2),
            "embed_ms": round(vector.seconds * 1000, 2),
        },
        [
            {"document": str(hit.document_id), "chunk": str(hit.chunk_id), "covers": sorted(new)}
            for hit, new in zip(found.hits[:MOST_PASSAGES], covered, strict=False)
        ],
    )


def ranking(covered: metrics.Covered, pieces: int, ks: Sequence[int]) -> dict[str, float]:
    """Compute every ranking measure, keyed by name and number of passages.

    >>> ranking([frozenset({0})], 1, [1])
    {'perfect@1': 1.0, 'recall@1': 1.0, 'ndcg@1': 1.0, 'mrr': 1.0}
    """
    found = {
        f"{name}@{k}": round(measure(covered, pieces, k), 4)
        for name, measure in metrics.MEASURES.items()
        for k in ks
    }
    return found | {"mrr": round(metrics.reciprocal_rank(covered), 4)}


def passages_of(workspace: Workspace, hits: Sequence[Hit]) -> list[FoundPassage]:
    ids = [hit.chunk_id for hit in hits]
    with access.in_workspace(workspace.pk):
        rows = Chunk.objects.in_workspace(workspace).filter(pk__in=ids)
        ordinals = dict(rows.values_list("pk", "ordinal"))
    return [FoundPassage(hit.document_id, ordinals.get(hit.chunk_id, -1), hit.text) for hit in hits]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: the modes, and how many of the first passages count."""

    modes: tuple[str, ...]
    ks: tuple[int, ...]

    def __post_init__(self) -> None:
        for mode in self.modes:
            mode_named(mode)
        for k in self.ks:
            checked_top_k(k)
        if not self.modes or not self.ks:
            raise InputError("Choose at least one mode and one number of passages.")
