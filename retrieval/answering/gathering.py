"""Gather every statement that may answer a question, with its features.

A passage is found by its subject. So the statements of the passages found are joined by the single
sentences nearest to the question, anywhere in the scope, and by their surroundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.answering import features
from retrieval.answering.candidates import Candidate, candidates
from retrieval.answering.features import Matrix, Rarity, Read
from retrieval.search import query_features, scope_entities, sentences, sql
from retrieval.search.hits import Hit, hydrate
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.query_features import Sought
from retrieval.search.sentences import Cosines

NEAREST_SENTENCES: Final = 40
"""The passages of this many sentences join those found."""
BY_WORDS: Final = 40
"""Statements with the best words that are considered besides the nearest ones."""
WHY: Final = ("Has a sentence close to the question",)


@dataclass(frozen=True, slots=True)
class Gathered:
    """``hits`` are the passages found, then those that joined them; ``candidates`` all their
    statements. ``statements`` has a candidate for each row of ``matrix``, of shape
    ``(len(statements), len(features.NAMES))``."""

    sought: Sought
    hits: Sequence[Hit]
    candidates: Sequence[Candidate]
    statements: Sequence[Candidate]
    matrix: Matrix
    cosines: Cosines
    rarity: Rarity


def gather(query: Query, found: Sequence[Hit], vector: QuestionVector | None) -> Gathered:
    """Gather candidates; ``vector`` is the question's from the sentence model, None to use words
    alone.

    Call in a transaction, with the vector already made.
    """
    wanted = query_features.read(query.question)
    rarity = rarity_of(query, wanted.terms)
    cosines = Cosines()
    if vector is not None:
        cosines = sentences.cosines(query, vector, [hit.chunk_id for hit in found], rarity.chunks)
    hits = [*found, *_joining(query, found, cosines)]
    return of_candidates(wanted, hits, candidates(hits), cosines, rarity)


def of_candidates(
    wanted: Sought,
    hits: Sequence[Hit],
    found: Sequence[Candidate],
    cosines: Cosines,
    rarity: Rarity,
) -> Gathered:
    """Keep the candidates nearest in meaning and those with the best words."""
    read = [features.read(one) for one in found]
    words = features.by_words(read, wanted.terms, rarity)
    kept = sorted(_kept(read, words, cosines))
    read, words = [read[index] for index in kept], [words[index] for index in kept]
    return Gathered(
        sought=wanted,
        hits=hits,
        candidates=found,
        statements=[one.candidate for one in read],
        matrix=features.matrix(read, wanted, rarity, cosines, words),
        cosines=cosines,
        rarity=rarity,
    )


def rarity_of(query: Query, terms: Sequence[str]) -> Rarity:
    """Return the rarity of a question's terms in its scope."""
    values = {"workspace": query.workspace_id, "documents": query.document_list}
    rows = run_sql(sql.TERM_FREQUENCIES, values | {"terms": list(terms)})
    [(chunks,)] = run_sql(sql.COUNT_PASSAGES, values)
    return Rarity(dict(rows), chunks)


def _joining(query: Query, found: Sequence[Hit], cosines: Cosines) -> list[Hit]:
    known = {hit.chunk_id for hit in found}
    joining: dict[UUID, ScoredChunk] = {}
    for place in cosines.best[:NEAREST_SENTENCES]:
        if place[0] not in known:
            joining.setdefault(place[0], ScoredChunk(place[0], cosines.of[place], WHY))
    out = scope_entities.left_out(query, list(joining))
    return hydrate(query.workspace_id, [one for id_, one in joining.items() if id_ not in out])


def _kept(read: Sequence[Read], words: Sequence[float], cosines: Cosines) -> set[int]:
    nearest = set(cosines.best)
    near = {i for i, one in enumerate(read) if one.candidate.vector_key in nearest}
    ranked = sorted(range(len(read)), key=lambda index: -words[index])
    return near | {index for index in ranked[:BY_WORDS] if words[index] > 0}
