"""Search as of a date: leave out what the documents date otherwise.

A passage is left out if all that it states is dated, and nothing of it holds then; one that also
states something without a date stays. Of a passage that stays, an answer does not rest on sentences
dated otherwise. Dates are those of the text (``ingestion.extractors.periods``), not of the
document.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from uuid import UUID

from ingestion.extractors.periods import periods_in
from kb_project.sql import run_sql
from kb_project.text.sentences import sentence_spans
from kb_project.text.values import holds_at
from retrieval.search import sql
from retrieval.search.query import Query

LEFT_OUT: Final = "[…]"
"""Stands for a sentence that does not hold."""
SENTENCES_CACHED: Final = 20_000


def not_holding(query: Query, chunks: Sequence[UUID]) -> set[UUID]:
    """Return the passages of which nothing holds at the query's date; call in the workspace's
    scope."""
    if not (query.as_of and chunks):
        return set()
    rows = run_sql(sql.NOT_HOLDING, query.parameters(chunks=list(chunks)))
    return {chunk_id for (chunk_id,) in rows}


@lru_cache(maxsize=SENTENCES_CACHED)
def holds(sentence: str, date: str) -> bool:
    """Return whether a sentence holds at a date: it gives no period, or one that contains it.

    >>> holds("Ada kept the light from 1902 to 1911.", "1905"), holds("Ada kept it.", "1905")
    (True, True)
    >>> holds("Ada kept the light until 1911.", "1920"), holds("Ada kept it until 1911.", "")
    (False, True)
    """
    if not date:
        return True
    periods = periods_in(sentence)
    return not periods or any(holds_at(one.start, one.end, date) for one in periods)


def holding(text: str, date: str) -> str:
    """Return a text with every sentence that does not hold at a date left out.

    >>> holding("Ada kept it until 1911. Bo keeps it since 1911.", "1920")
    '[…] Bo keeps it since 1911.'
    """
    if not date:
        return text
    parts, place = [], 0
    for start, end in sentence_spans(text):
        if not holds(text[start:end], date):
            parts += [text[place:start], LEFT_OUT]
            place = end
    return "".join([*parts, text[place:]])
