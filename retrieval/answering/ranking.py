"""Gather the statements that may answer a question, rank them by how well they do, and estimate how
probable it is that any does.

A passage is found by its subject, so the statements of the passages found are joined by the single
sentences nearest to the question, anywhere in the scope, with their passages.

Score and probability are linear in features and fitted by ``benchmarks/fit_answers.py``: the score
as a conditional logit (softmax over all candidates of a question), the probability as a logistic
regression on features of the best statements and the question. The scores of a cross-encoder, if
there is one, are further features of both, fitted by ``benchmarks/fit_cross_encoder.py``.
``weights.json`` has the weights, how they were made, and for which sentence model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ingestion.knowledge import corpus
from kb_project.llm.ports import CrossEncoder, Told
from kb_project.sql import run_sql
from kb_project.text.languages import HAN
from kb_project.text.regions import bare
from kb_project.text.statements import StatementKind
from kb_project.text.values import SPELT_OTHERWISE
from kb_project.text.words import terms
from retrieval.answering import features, minutes
from retrieval.answering.candidates import Candidate, candidates, groups_of, with_term
from retrieval.answering.features import SCALE, Matrix, Rarity
from retrieval.search import as_of, query_features, scope_entities, sentences, sql
from retrieval.search.answer_kinds import (
    TOLD,
    Kind,
    compared_in,
    defined_in,
    defines,
    is_about,
    spans_of_kind,
)
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.query_features import QuestionFeatures
from retrieval.search.results import Hit, hydrate
from retrieval.search.sentences import Cosines

NEAREST_SENTENCES: Final = 40
"""The passages of this many sentences join those found."""
BY_WORDS: Final = 40
"""Statements with the best words that are considered besides the nearest ones."""
WHY: Final = ("Has a sentence close to the question",)
FILE: Final = Path(__file__).with_name("weights.json")
FEW: Final = 20
"""With fewer statements than this, one always stands out, whatever is asked: assume the usual …"""
USUAL_ENTROPY: Final = 1.7
USUAL_GAP: Final = 2.3
"""… the means over answered and unanswered questions."""
READ: Final = 8
"""The best statements by words and vectors, which the cross-encoder reads. Measured: 12 answer no
more questions."""
DEFINES: Final = 2.0
"""What a definition gains, in parts of what a statement about the same subject does."""
TINY: Final = 1e-12

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gathered:
    """``hits`` are the passages found, then those that joined them; ``candidates`` all their
    statements. ``statements`` has a candidate for each row of ``matrix``, of shape
    ``(len(statements), len(features.NAMES))``."""

    sought: QuestionFeatures
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
    sought = query_features.read(query.question)
    values = {"workspace": query.workspace_id, "documents": query.document_list}
    spelt = [*sought.terms, *map(SPELT_OTHERWISE.get, sought.terms)]
    wanted = list(filter(None, spelt))
    if query.documents is None:
        frequencies = corpus.passages_with(wanted, workspace_id=query.workspace_id)
        chunks = corpus.counts(workspace_id=query.workspace_id).passages
    else:
        frequencies = dict(run_sql(sql.PASSAGES_IN_SCOPE_WITH, values | {"terms": wanted}))
        [(chunks,)] = run_sql(sql.PASSAGES_IN_SCOPE, values)
    cosines = Cosines()
    if vector is not None:
        cosines = sentences.cosines(query, vector, [hit.chunk_id for hit in found], chunks)
    hits = [*found, *_passages_of_nearest(query, found, cosines)]
    said = [one for one in candidates(hits) if as_of.holds(one.said, query.as_of)]
    return of_candidates(sought, hits, said, cosines, Rarity(frequencies, chunks))


def _passages_of_nearest(query: Query, found: Sequence[Hit], cosines: Cosines) -> list[Hit]:
    """Return the passages of the nearest sentences that were not found themselves."""
    known = {hit.chunk_id for hit in found}
    joining: dict[UUID, ScoredChunk] = {}
    for place in cosines.best[:NEAREST_SENTENCES]:
        if place[0] not in known:
            joining.setdefault(place[0], ScoredChunk(place[0], cosines.of[place], WHY))
    out = scope_entities.left_out(query, list(joining))
    return hydrate(query.workspace_id, [one for id_, one in joining.items() if id_ not in out])


def joined(query: Query, found: Sequence[Hit], passages: Iterable[UUID]) -> list[Hit]:
    """Return the hits, then the passages that are not among them, without those that the question
    leaves out. Call in a transaction."""
    known = {one.chunk_id for one in found}
    beside = [id_ for id_ in dict.fromkeys(passages) if id_ not in known]
    out = scope_entities.left_out(query, beside)
    new = [ScoredChunk(id_, 0.0, WHY) for id_ in beside if id_ not in out]
    return [*found, *hydrate(query.workspace_id, new)]


def of_candidates(
    sought: QuestionFeatures,
    hits: Sequence[Hit],
    found: Sequence[Candidate],
    cosines: Cosines,
    rarity: Rarity,
) -> Gathered:
    """Keep the candidates nearest in meaning and those with the best words."""
    indexed = [features.indexed(one) for one in found]
    # *5000* and *subprocessors* stand in none where all have *5,000* and *sub-processors*.
    said = {term: 1 for one in indexed for term in sought.terms if term in one.counts}
    rarity = replace(rarity, frequencies=said | {**rarity.frequencies})
    scores = features.bm25(indexed, sought.terms, rarity)
    by_words = sorted(range(len(found)), key=lambda index: -scores[index])[:BY_WORDS]
    if cosines.best and by_words and scores[by_words[0]] > 0:
        # A new document has no vectors yet: beside those of others, its statements would all lose.
        with_vectors = {chunk for chunk, _, _ in cosines.of}
        if found[by_words[0]].hit.chunk_id not in with_vectors:
            cosines = Cosines()
    nearest = set(cosines.best)
    kept = {index for index, one in enumerate(found) if one.vector_key in nearest}
    kept |= {index for index in by_words if scores[index] > 0}
    asked = set(sought.terms)
    rows = sorted(
        index for index in kept if found[index].stands_alone and found[index].adds_to(asked)
    )
    return Gathered(
        sought=sought,
        hits=hits,
        candidates=found,
        statements=[found[index] for index in rows],
        matrix=features.matrix(
            [indexed[index] for index in rows],
            sought,
            rarity,
            cosines,
            [scores[index] for index in rows],
        ),
        cosines=cosines,
        rarity=rarity,
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """``share`` is this candidate's part of the probability that any candidate answers."""

    candidate: Candidate
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first, and the probability that the documents answer the question."""

    ranked: Sequence[Ranked]
    probability: float


def read(gathered: Gathered, encoder: CrossEncoder | None, most: int = READ) -> Numbers | None:
    """Return the cross-encoder's score of each statement, the lowest for those that it does not
    read: all but the ``most`` best. It sees what words and vectors do not: a statement that answers
    in other words.

    None without one, and for statements without vectors. Call outside transactions. Raises
    UnavailableError.
    """
    if encoder is None or gathered.cosines.highest is None or not gathered.statements:
        return None
    scores, _ = before_reading(gathered)
    best = np.argsort(-scores, kind="stable")[:most]
    statements = texts_to_read([gathered.statements[index] for index in best], gathered.candidates)
    found = encoder.scores(gathered.sought.text, statements)
    every = np.full(len(scores), float(found.min()))
    every[best] = found
    return every


def texts_to_read(statements: Sequence[Candidate], among: Sequence[Candidate]) -> list[Told]:
    """Return what the cross-encoder reads: a line that introduces a list goes on with its entries,
    which are looked for among the candidates."""
    groups = groups_of(among) if any(one.introduces for one in statements) else {}
    found = []
    for one in statements:
        entries = groups.get(one.introduces, ()) if one.introduces else ()
        said = "; ".join(with_term(entry).said for entry in entries)
        heading = one.path[-1] if one.path else ""
        found.append(Told(one.hit.title, heading, one.before, f"{one.said} {said}".rstrip()))
    return found


def before_reading(gathered: Gathered) -> tuple[Numbers, float]:
    """Return the statements' scores, and the logit of being answered, by words and vectors."""
    weights = weights_for(gathered)
    scores = gathered.matrix @ column(weights["statement"])
    name = "answered" if gathered.cosines.highest is not None else "answered_by_words"
    signs = evidence(gathered.matrix, scores, of_question(gathered))
    return scores, logit(signs, weights[name])


def signs_of_reading(before: float, scores: Numbers, read: Numbers) -> dict[str, float]:
    """Return the signs that a question is answered once statements were read: the logit from
    before, and what the cross-encoder gave the best statement."""
    return {"before": before, "read_best": float(read[np.argmax(scores)])}


def rank(gathered: Gathered, read: Numbers | None = None) -> Ranking:
    """Rank the candidates, ``read`` if a cross-encoder did; with none, the probability is 0."""
    if not gathered.statements:
        return Ranking((), 0.0)
    weights = weights_for(gathered)
    scores, answered = before_reading(gathered)
    if read is not None:
        parts = weights["read"]
        scores = parts["scores"] * scores + parts["read"] * read
        answered = logit(signs_of_reading(answered, scores, read), weights["answered_read"])
    scores = scores + _telling(gathered, weights["statement"])
    shares = softmax(scores)
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    ranked = [
        Ranked(gathered.statements[index], float(scores[index]), float(shares[index]))
        for index in order
    ]
    return Ranking(ranked, share_of(answered))


def _telling(gathered: Gathered, weights: Mapping[str, float]) -> Numbers:
    """Return what each statement gains by saying what to do, why something is so or what something
    is where the question asks for that: as much as other questions' statements by the kind of thing
    asked for.

    It shows which statement answers, not whether any does: the imperatives of manuals are many.
    """
    kind, subjects = gathered.sought.kind, defined_in(gathered.sought.text)
    label = minutes.label_for(gathered.sought.text)
    tells = [
        float(kind in TOLD and bool(spans_of_kind(one.said, kind)))
        + max((_says_what(one, it) for it in subjects), default=0.0)
        + DEFINES * minutes.has_label(one.said, label)
        for one in gathered.statements
    ]
    return np.array(tells, np.float64) * (weights["has_kind"] - weights["lacks_kind"])


def _says_what(one: Candidate, subject: str) -> float:
    """How much a statement says what the subject is: most if it defines it, or is the first below
    the subject as a term; less if it is about it; least if it is a row that does
    not even name it."""
    is_headed = bool(one.term) and bare(one.term).casefold() == subject.casefold()
    if is_headed or defines(one.said, subject):
        return DEFINES
    if one.kind is StatementKind.ROW:
        words = {term for term in terms(subject) if not term.isdigit()}
        if words.isdisjoint(terms(one.said)):
            return -1.0
    return float(is_about(one.said, subject))


def of_each(
    question: str, ranked: Sequence[Ranked], best: Sequence[Candidate]
) -> Sequence[Candidate]:
    """Return what the statements say of each thing that a question asks to tell apart, or the best
    ones if they do not say it of each or if one of the best names them all."""
    things = compared_in(question)
    named = {term for one in things for term in terms(one)}
    if len(things) < 2 or any(named <= set(terms(one.said)) for one in best):
        return best
    found: dict[tuple[UUID, int, int], Candidate] = {}
    for thing in things:
        says = [(_says_what(one.candidate, thing), one.candidate) for one in ranked]
        level, said = max(says, key=lambda pair: pair[0])
        if level <= 0:
            return best
        found[said.key] = said
    return list(found.values()) if len(found) == len(things) else best


def lacks_number(sought: QuestionFeatures, said: Iterable[Candidate]) -> bool:
    """Return whether a number is asked for and none of the statements has one: no answer then."""
    is_asked = sought.kind in (Kind.NUMBER, Kind.MONEY)
    return is_asked and not any(spans_of_kind(one.said, Kind.NUMBER) for one in said)


def of_question(gathered: Gathered) -> dict[str, float]:
    """Return the features of a question relative to its candidates.

    ``nearest`` is the cosine of the nearest sentence, in twentieths; ``unknown`` the share of the
    question's terms, by rarity, that no document contains.
    """
    highest = gathered.cosines.highest
    return {
        "nearest": 0.0 if highest is None else SCALE * highest,
        "unknown": gathered.rarity.unknown(gathered.sought.terms),
    }


def evidence(matrix: Matrix, scores: Numbers, question: Mapping[str, float]) -> dict[str, float]:
    """Return the signs that a question is answered: how near it is to any sentence, whether its
    words are known, whether one statement stands out, and the share of its names in that one."""
    order = np.argsort(-scores, kind="stable")
    shares = softmax(scores)
    are_few = len(order) < FEW
    entropy = USUAL_ENTROPY if are_few else float(-(shares * np.log(shares + TINY)).sum())
    gap = USUAL_GAP if are_few else float(scores[order[0]] - scores[order[1]])
    return {
        **question,
        "entropy": entropy,
        "gap": gap,
        "names": float(matrix[order[0], features.NAMES.index("names")]),
    }


def probability(signs: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return share_of(logit(signs, weights))


def share_of(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def logit(signs: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weight * signs.get(name, 1.0) for name, weight in weights.items())
    return max(-30.0, min(30.0, total))


def softmax(scores: Numbers) -> Numbers:
    powers: Numbers = np.exp(scores - scores.max())
    shares: Numbers = powers / powers.sum()
    return shares


def column(weights: Mapping[str, float]) -> Numbers:
    """Return the weights in the order of the features, 0 for a feature without one."""
    return np.array([weights.get(name, 0.0) for name in features.NAMES], np.float64)


def is_fitted_to(fingerprint: str) -> bool:
    """Return whether the weights were fitted to this model's cosines: other models' scales
    differ."""
    return bool(_weights()["sentences_by"] == fingerprint)


def weights_for(gathered: Gathered) -> Mapping[str, Mapping[str, float]]:
    """Return the weights for the language of the question."""
    found: Mapping[str, Mapping[str, float]]
    found = _weights()["zh" if HAN.search(gathered.sought.text) else "any"]
    return found


@cache
def _weights() -> dict[str, Any]:
    weights: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return weights
