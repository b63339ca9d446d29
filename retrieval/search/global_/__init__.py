"""Global: questions about the documents as a whole, answered from the reports of their topics."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from kb_project.errors import PauseError
from kb_project.sql import bulk_plans, run_sql
from retrieval import reports_sql as sql
from retrieval.search import fuse
from retrieval.search.found import Found
from retrieval.search.global_ import extractive, library, modelled, ranking
from retrieval.search.global_.library import Topic
from retrieval.search.global_.modelled import Shelf
from retrieval.search.query import Query
from workspaces import access

INSTEAD: Final = "This looked for meaning and words instead."


def search(query: Query) -> Found:
    """Called outside transactions. Raises StoppedError."""
    with access.in_workspace(query.workspace_id):
        shelf = take(query)
        if shelf is None:
            return Found(fuse.search(query), mode="hybrid")
    if query.chat is None or query.calls < 1:
        extractive.note_no_model(query)
        return extractive.found(query, shelf.ranked)
    try:
        return modelled.found(query, query.chat, shelf)
    except PauseError as error:
        extractive.note_paused(query, error)
        return extractive.found(query, shelf.ranked)


def take(query: Query) -> Shelf | None:
    """The reports to search; None, with a note, where there are none. Inside a transaction."""
    kept = library.load(query)
    shown = library.topics(query, kept)
    if shown:
        if kept.waiting:
            some = "One topic has" if kept.waiting == 1 else f"{kept.waiting:,} topics have"
            query.note("reports_pending", f"{some} no report yet and took no part.")
        weights = {} if query.chat is None else _weights(query, shown)
        return Shelf(kept, tuple(ranking.rank(query, kept, shown)), weights)
    if kept.reports:
        query.note("no_report_in_scope", f"No topic's report rests on these documents. {INSTEAD}")
    else:
        query.note("reports_pending", f"No topic has a report yet. {INSTEAD}")
    return None


def _weights(query: Query, shown: list[Topic]) -> dict[UUID, float]:
    parameters = {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "topics": [topic.report.community for topic in shown],
    }
    with bulk_plans():
        counts: dict[UUID, int] = dict(run_sql(sql.PASSAGES_OF_TOPICS, parameters))
    most = max(counts.values(), default=1)
    return {topic: count / most for topic, count in counts.items()}
