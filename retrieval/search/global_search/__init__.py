"""Global: answer questions about the documents as a whole from the reports of their topics."""

from __future__ import annotations

from collections.abc import Callable

from ingestion.knowledge import corpus
from kb_project.errors import PauseError
from kb_project.llm.ports import ChatModel
from retrieval.search import hybrid
from retrieval.search.global_search import map_reduce, ranking
from retrieval.search.global_search.ranking import RankedReports
from retrieval.search.hybrid import INSTEAD
from retrieval.search.query import Note, Query
from retrieval.search.results import ModeResult
from workspaces import access


def search(query: Query) -> ModeResult:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, map_reduce.found, map_reduce.extractive, ranking.INSTEAD)


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
