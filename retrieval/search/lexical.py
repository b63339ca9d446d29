"""Lexical: the passages that share the question's telling words, by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kb_project.sql import run_sql
from kb_project.text.terms import terms
from kb_project.text.words import words
from retrieval import sql
from retrieval.search.query import Query, ScoredChunk


def search(query: Query) -> list[ScoredChunk]:
    surfaces = surfaces_of(query.question)
    return [
        ScoredChunk(chunk_id, score, (shared_words(matched, surfaces),))
        for chunk_id, score, matched in best(query, query.top_k)
    ]


def best(query: Query, count: int) -> list[tuple[UUID, float, list[str]]]:
    """Chunks with their score and the terms they share with the question, rarest first."""
    wanted = list(dict.fromkeys(terms(query.question)))
    if not wanted:
        query.note(
            "no_search_words", "The question holds only little words, which are not searched for."
        )
        return []
    parameters = {
        "workspace": query.workspace_id,
        "documents": query.document_list,
        "terms": wanted,
        "count": count,
    }
    return [(row[0], float(row[1]), row[2]) for row in run_sql(sql.BEST_BY_WORDS, parameters)]


def surfaces_of(question: str) -> dict[str, str]:
    """Each index term as the question spells it.

    >>> surfaces_of("Scrooge's partners")
    {'scroog': "Scrooge's", 'partner': 'partners'}
    """
    found: dict[str, str] = {}
    for word in words(question):
        surface = question[word.start : word.end]
        for term in terms(surface):
            found.setdefault(term, surface if len(terms(surface)) == 1 else term)
    return found


def shared_words(matched: Sequence[str], surfaces: dict[str, str]) -> str:
    names = list(dict.fromkeys(surfaces.get(term, term) for term in matched))
    return "Shares “" + "”, “".join(names[:5]) + "”"
