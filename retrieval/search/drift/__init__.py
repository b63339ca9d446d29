"""Drift: from the topics a question touches to follow-up questions, and on from there.

After GraphRAG's DRIFT search: first answers from reports, then local searches for the questions
they raise. Theirs makes some 67 calls in random order; this one has a budget and takes the best
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from retrieval.search import hybrid, sql
from retrieval.search.drift import follow_ups, with_chat
from retrieval.search.global_search import searched
from retrieval.search.global_search.ranking import Ranked, RankedReports
from retrieval.search.query import Note, Query, ScoredChunk
from retrieval.search.results import ModeResult, Record, Seed
from workspaces import access

# --- without a model ------------------------------------------------------------------------------
INSTEAD: Final = Note(
    "extractive_follow_ups",
    "the search followed the names that topics and passages share instead of asking follow-up"
    " questions.",
)
REPORTS: Final = 5
PASSAGES: Final = 12
"""Best reports and passages whose names are followed."""
FOLLOWED: Final = 4
"""Names followed: each costs a search."""
DEPTH: Final = 50
"""Passages taken from each search."""
FIRST: Final = 2.0
"""Weight of the question's own list, against 1 for a name's."""


def found_by_names(query: Query, reports: RankedReports) -> ModeResult:
    """Search outside transactions. The same documents and question give the same searches."""
    ranked = reports.ranked
    deeper = replace(query, top_k=max(query.top_k, DEPTH))
    first = follow_ups.local_search(deeper)
    names = _names(query, ranked, first.chunks)
    lists = [first.chunks]
    for name in names:
        query.reporter.check()
        way = f"Found on the way to “{name}”"
        hits = follow_ups.local_toward(deeper, name)
        lists.append([replace(hit, why=(*hit.why, way)) for hit in hits])
    fused = hybrid.fuse(lists, [FIRST, *(1.0 for _ in names)])
    return ModeResult(
        chunks=fused[: query.top_k],
        records=_records(first, ranked),
        seeds=tuple(Seed("entity", name, 1.0) for name in names),
        figures=(("follow_ups", len(names)), ("reports_total", len(ranked))),
    )


def _names(query: Query, ranked: Sequence[Ranked], chunks: Sequence[ScoredChunk]) -> list[str]:
    parameters = query.parameters(
        chunks=[hit.chunk_id for hit in chunks[:PASSAGES]],
        topics=[one.topic.report.community for one in ranked[:REPORTS]],
        count=4 * FOLLOWED,
    )
    with access.in_workspace(query.workspace_id):
        rows = run_sql(sql.NAMES_IN_BOTH, parameters)
    asked = f" {normalise_name(query.question)} "
    new = [name for (name,) in rows if f" {normalise_name(name)} " not in asked]
    return new[:FOLLOWED]


def _records(first: ModeResult, ranked: Sequence[Ranked]) -> tuple[Record, ...]:
    """Return the reports nearest to the question, then the first search's other records, each
    once."""
    reports = [one.record(one.score, ("Close to the question",)) for one in ranked[:REPORTS]]
    known = {one.id for one in reports}
    return (*reports, *(one for one in first.records if one.id not in known))


# --- the mode -------------------------------------------------------------------------------------
def search(query: Query) -> ModeResult:
    """Search. Call outside transactions. Raises StoppedError."""
    return searched(query, with_chat.found, found_by_names, INSTEAD)
