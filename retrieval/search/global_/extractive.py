"""Global search that asks no model: the reports a question is about, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kb_project.errors import PauseError
from retrieval.search.found import Found, Seed
from retrieval.search.global_.ranking import Ranked, passages
from retrieval.search.query import Query

INSTEAD: Final = (
    "the topics were ranked by their words and their passages instead of being read as a whole."
)
REPORTS: Final = 10
"""Reports given as records."""


def found(query: Query, ranked: Sequence[Ranked]) -> Found:
    best = ranked[:REPORTS]
    why = ("Close to the question",)
    return Found(
        chunks=passages(ranked, query.top_k),
        records=tuple(one.record(one.score, why) for one in best),
        seeds=tuple(
            Seed("report", one.topic.title, one.score, one.topic.report.id) for one in best
        ),
        figures=(("reports_total", len(ranked)), ("reports_read", 0)),
    )


def note_no_model(query: Query) -> None:
    why = "No chat model is chosen" if query.chat is None else "No call of the chat model is left"
    query.note("extractive_reports", f"{why}, so {INSTEAD}")


def note_paused(query: Query, error: PauseError) -> None:
    query.note("extractive_reports", f"{error.happened} For now {INSTEAD}")
