"""Global search without a model: the reports a question is about, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retrieval.search.found import Found, Seed
from retrieval.search.global_search.ranking import Ranked, passages
from retrieval.search.query import Note, Query

INSTEAD: Final = Note(
    "extractive_reports",
    "the topics were ranked by their words and passages instead of being read by a model.",
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
