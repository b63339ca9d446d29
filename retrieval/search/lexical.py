"""Lexical: the passages that share the question's telling words, by BM25."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final
from uuid import UUID

from ingestion.knowledge import corpus
from kb_project.sql import run_sql
from kb_project.text.words import terms, words
from retrieval.search import sql
from retrieval.search.query import Query, ScoredChunk

LENGTH: Final = 0.4
"""BM25's b. Chunks have similar lengths, so length matters less than the usual 0.75 assumes."""
BESIDE: Final = 0.3
"""Share of its better neighbour's score that a passage gets. Both measured on questions about
source code and multi-hop questions, fused with vectors: see ``docs/benchmarks.md``."""
READ: Final = 15_000
"""Postings read before the commonest of a question's words are only looked up."""
USUAL: Final = 200
"""Passages found at least: several steps of one search ask for the best."""
NEIGHBOUR: Final = "Next to a passage that shares words with the question"

Matched = tuple[UUID, float, bool, list[str]]
"""A chunk, its score, whether it shares terms with the question, and these, rarest first, if they
are to be named."""


def search(query: Query, *, wordless: bool = False) -> list[ScoredChunk]:
    """Search; ``wordless`` includes passages that share no words but are next to those that do."""
    surfaces = surfaces_of(query.question)
    return [
        ScoredChunk(chunk_id, score, (shared_words(matched, surfaces) if matched else NEIGHBOUR,))
        for chunk_id, score, _, matched in best(query, query.top_k, wordless=wordless, named=True)
    ]


def best(query: Query, count: int, *, wordless: bool = False, named: bool = False) -> list[Matched]:
    """Return the best chunks by the question's words, best first. To name the words of each takes a
    fifth of the time."""
    wanted = dict.fromkeys(terms(query.question))
    if not wanted:
        query.note(
            "no_search_words",
            "The question has only stop words, such as “the”, which keyword search skips.",
        )
        return []
    key = ("words", query.question, query.documents)
    lists: dict[tuple[bool, bool], tuple[int, list[Matched]]] = query.kept.setdefault(key, {})
    # What includes passages without words may have enough of those with words.
    for kept in set(product((wordless, True), (named, True))) & lists.keys():
        asked, found = lists[kept]
        fitting = [one for one in found if wordless or one[2]]
        if len(fitting) >= count or len(found) < asked:
            return fitting[:count]
    asked = max(count, USUAL) * (2 if wordless else 1)
    having = _passages_with(query, wanted)
    parameters = query.parameters(
        terms=list(having),
        passages=list(having.values()),
        count=asked,
        length=LENGTH,
        beside=BESIDE,
        wordless=wordless,
        named=named,
        read=READ,
    )
    rows = run_sql(sql.BEST_BY_WORDS, parameters)
    found = [(chunk_id, float(score), *words) for chunk_id, score, *words in rows]
    lists[wordless, named] = asked, found
    return found[:count]


def _passages_with(query: Query, wanted: Iterable[str]) -> dict[str, int]:
    """Count once for all lists of a search how many passages have each of the question's terms."""
    key = ("passages with", query.question)
    if key not in query.kept:
        query.kept[key] = corpus.passages_with(wanted, workspace_id=query.workspace_id)
    found: dict[str, int] = query.kept[key]
    return found


def surfaces_of(question: str) -> dict[str, str]:
    """Map each index term to the question's spelling of it.

    >>> surfaces_of("Scrooge's partners")
    {'scroog': "Scrooge's", 'partner': 'partners'}
    """
    found: dict[str, str] = {}
    for word in words(question):
        surface = question[word.start : word.end]
        own = terms(surface)
        for term in own:
            found.setdefault(term, surface if len(own) == 1 else term)
    return found


def shared_words(matched: Sequence[str], surfaces: dict[str, str]) -> str:
    names = list(dict.fromkeys(surfaces.get(term, term) for term in matched))
    return "Shares “" + "”, “".join(names[:5]) + "”"
