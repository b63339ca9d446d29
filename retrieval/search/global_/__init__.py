"""Global: questions about the documents as a whole, answered from the reports of their topics."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.search import fuse
from retrieval.search.found import Found
from retrieval.search.global_ import extractive, ranking
from retrieval.search.global_.library import Library, library, topics
from retrieval.search.global_.ranking import Ranked
from retrieval.search.query import Query
from workspaces import access

INSTEAD = "This looked for meaning and words instead."


@dataclass(frozen=True, slots=True)
class Shelf:
    """The reports of a workspace, ranked by a question as far as it may see them."""

    library: Library
    ranked: tuple[Ranked, ...]


def search(query: Query) -> Found:
    with access.in_workspace(query.workspace_id):
        shelf = take(query)
        if shelf is None:
            return Found(fuse.search(query), mode="hybrid")
    extractive.note_no_model(query)
    return extractive.found(query, shelf.ranked)


def take(query: Query) -> Shelf | None:
    """The reports to search; None, with a note, where there are none. Inside a transaction."""
    kept = library(query)
    shown = topics(query, kept)
    if shown:
        if kept.waiting:
            query.note(
                "reports_pending",
                f"{kept.waiting:,} topics have no report yet and took no part.",
            )
        return Shelf(kept, tuple(ranking.rank(query, kept, shown)))
    if kept.reports:
        query.note("no_report_in_scope", f"No topic's report rests on these documents. {INSTEAD}")
    else:
        query.note("reports_pending", f"No topic has a report yet. {INSTEAD}")
    return None
