"""Global: answer questions about the documents as a whole from the reports of their topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb_project.errors import PauseError
from kb_project.llm.ports import ChatModel
from retrieval.search import hybrid
from retrieval.search.found import Found
from retrieval.search.global_search import extractive, map_reduce, ranking, reports
from retrieval.search.global_search.map_reduce import Shelf
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.hybrid import INSTEAD
from retrieval.search.query import Note, Query
from workspaces import access


def search(query: Query) -> Found:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, map_reduce.found, extractive.found, extractive.INSTEAD)


def searched(
    query: Query,
    by_model: Callable[[Query, ChatModel, Shelf], Found],
    without: Callable[[Query, Sequence[Ranked]], Found],
    instead: Note,
) -> Found:
    """Search from the reports: with a chat model if one is available, else without.

    ``instead`` ends the sentence on why no model was called. Outside transactions; raises
    StoppedError.
    """
    with access.in_workspace(query.workspace_id):
        shelf = take(query)
        if shelf is None:
            return hybrid.instead(query)
    if query.chat is None or query.calls < 1:
        why = "chat model is chosen" if query.chat is None else "call to the chat model is left"
        query.note(instead.code, f"No {why}, so {instead.sentence}")
        return without(query, shelf.ranked)
    try:
        return by_model(query, query.chat, shelf)
    except PauseError as error:
        query.note(instead.code, f"{error.happened} For now {instead.sentence}")
        return without(query, shelf.ranked)


def take(query: Query) -> Shelf | None:
    """Return the reports to search; None, with a note, if there are none. Call in a transaction."""
    kept = reports.load(query)
    shown = reports.topics(query, kept)
    if shown:
        if kept.waiting:
            some = "One topic has" if kept.waiting == 1 else f"{kept.waiting:,} topics have"
            query.note("reports_pending", f"{some} no report yet and could not be searched.")
        return Shelf(kept, tuple(ranking.rank(query, kept, shown)))
    if kept.reports:
        query.note("no_report_in_scope", f"No topic's report cites these documents. {INSTEAD}")
    else:
        query.note("reports_pending", f"No topic has a report yet. {INSTEAD}")
    return None
