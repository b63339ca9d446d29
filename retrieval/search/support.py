"""Support: whether what was found answers the question at all.

Two signals, measured on questions that the documents answer, on some that they nearly answer and
on some about other things. How much of the question the documents know: a telling word that no
document holds is the best sign that they are about something else. And how near the nearest
passage is, by how much it is nearer than the nearest passages to a few questions about everyday
things, which makes the figure comparable across embedding models, languages and collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kb_project.sql import run_sql
from retrieval import sql
from retrieval.search.answer import Scored
from retrieval.search.query import Query, QuestionVector
from retrieval.search.weights import Weights

# With these, 97 % of the answerable questions of four collections get an answer, 1 % of those that
# belong to another collection, and one in seven of those made to be nearly answerable.
NEARNESS_WORTH: Final = 7.5
ENOUGH: Final = 1.09
LEAST_COVERAGE: Final = 0.1
# Without vectors.
ENOUGH_KNOWN: Final = 0.8
LEAST_COVERAGE_BY_WORDS: Final = 0.3

_HAN: Final = regex.compile(r"\p{Han}")
_EVERYDAY: Final = {
    "en": (
        "What is the capital of France?",
        "How do I bake bread at home?",
        "Who won the football match yesterday?",
        "How far away is the moon?",
        "Which medicine helps against a headache?",
        "When was the telephone invented?",
    ),
    "zh": (
        "法国的首都是哪里？",
        "怎样在家里烤面包？",
        "昨天的足球比赛谁赢了？",
        "月亮离地球有多远？",
        "头疼应该吃什么药？",
        "电话是什么时候发明的？",
    ),
}
# By fingerprint and language: a few hundred numbers each.
_made: dict[tuple[str, str], tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Support:
    """``nearness`` is None where there are no vectors to tell it by; ``known`` from 0 to 1."""

    is_enough: bool
    known: float
    coverage: float
    nearness: float | None


def judge(chosen: Sequence[Scored], weights: Weights, nearness: float | None) -> Support:
    coverage = max((one.coverage for one in chosen), default=0.0)
    if nearness is None:
        enough = weights.known >= ENOUGH_KNOWN and coverage >= LEAST_COVERAGE_BY_WORDS
    else:
        enough = weights.known + NEARNESS_WORTH * nearness >= ENOUGH and coverage >= LEAST_COVERAGE
    return Support(bool(chosen) and enough, weights.known, coverage, nearness)


def everyday_vectors(query: Query) -> tuple[str, ...]:
    """Vectors of everyday questions in the question's script, to compare with.

    They are made once in a process and model; call outside a transaction.
    """
    embedder = query.vector.embedder
    language = "zh" if _HAN.search(query.question) else "en"
    known = (embedder.fingerprint, language)
    if known not in _made:
        questions = _EVERYDAY[language]
        _made[known] = tuple(QuestionVector(embedder, each).literal for each in questions)
    return _made[known]


def nearness(query: Query, everyday: Sequence[str]) -> float | None:
    """How much nearer the nearest passage is to the question than to the everyday ones, as a
    difference of cosines; None where no passage in the scope has a vector."""
    rows = run_sql(
        sql.NEAREST_COSINES,
        {
            "workspace": query.workspace_id,
            "fingerprint": query.vector.fingerprint,
            "documents": query.document_list,
            "vectors": [query.vector.literal, *everyday],
        },
    )
    if not rows:
        return None
    own, *others = (float(cosine) for (cosine,) in rows)
    return own - sum(others) / len(others)


def frequencies(query: Query, terms: Sequence[str]) -> dict[str, int]:
    """How many passages in the scope hold each term; terms that none holds are left out."""
    rows = run_sql(
        sql.TERM_FREQUENCIES,
        {
            "workspace": query.workspace_id,
            "documents": query.document_list,
            "terms": list(terms),
        },
    )
    return dict(rows)
