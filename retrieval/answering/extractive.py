"""Local-tier answers: statements of the documents, chosen and cited, or an overview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from retrieval.answering import choosing, gathering, overview, ranking
from retrieval.answering.choosing import Choice, Chosen
from retrieval.answering.citations.numbering import Numbering
from retrieval.answering.drafts import Check, SpanOf, WrittenSentence
from retrieval.answering.ranking import Ranked
from retrieval.models import Outcome
from retrieval.search import sentences
from retrieval.search.hits import Hit
from retrieval.search.query import Query, QuestionVector
from workspaces import access

AS_WRITTEN: Final = Check("supported", "quote")


@dataclass(frozen=True, slots=True)
class Extract:
    """``choice`` was made among ``read`` statements of ``hits``: the passages found, and those
    added to them."""

    choice: Choice
    hits: Sequence[Hit]
    read: int


@dataclass(frozen=True, slots=True)
class Part:
    """One of a question's parts. ``vector`` is from the sentence model, None if the ranking was not
    fitted for that model's cosines."""

    question: str
    vector: QuestionVector | None


def extract(query: Query, found: Sequence[Hit], parts: Sequence[Part]) -> Extract:
    """Choose the answer's statements. Call in a transaction; ``parts`` are from ``prepared``."""
    made = [_extracted(query, found, part) for part in parts]
    hits = {hit.chunk_id: hit for one in made for hit in one.hits}
    choice = choosing.together([one.choice for one in made])
    return Extract(choice, list(hits.values()), sum(one.read for one in made))


def prepared(query: Query) -> list[Part]:
    """Prepare the question's parts. Call outside transactions: a model makes the vectors."""
    return [Part(one, _made(query, one)) for one in choosing.parts_of(query.question)]


def _made(query: Query, question: str) -> QuestionVector | None:
    vector = sentences.vector_of(query, question)
    if not ranking.can_read(vector.fingerprint):
        return None
    vector.make()
    return vector


def _extracted(query: Query, found: Sequence[Hit], part: Part) -> Extract:
    query = replace(query, question=part.question)
    gathered = gathering.gather(query, found, part.vector)
    choice = choosing.choose(gathered, ranking.rank(gathered))
    return Extract(choice, gathered.hits, len(gathered.statements))


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: sentences whose spans use the numbers of ``numbering``, or the ``nearest``
    passages, as in ``Answer.nearest``. ``figures`` explain how it came about."""

    outcome: Outcome
    sentences: Sequence[WrittenSentence]
    numbering: Numbering
    nearest: Sequence[dict[str, Any]]
    figures: dict[str, Any]


def tell(query: Query, found: Sequence[Hit]) -> Told:
    """Make the answer. Call outside transactions: a model makes the question's vector."""
    with access.in_workspace(query.workspace_id):
        composed = _overview(query, found)
    if composed is not None:
        return composed
    parts = prepared(query)
    with access.in_workspace(query.workspace_id):
        made = extract(query, found, parts)
    numbering = Numbering(found, sources={hit.chunk_id: hit for hit in made.hits})
    choice = made.choice
    return Told(
        outcome=choice.outcome,
        sentences=[_written(one, numbering) for one in choice.chosen],
        numbering=numbering,
        nearest=[_near(one) for one in choice.nearest],
        figures={
            "probability": round(choice.probability, 4),
            "passages": len(made.hits),
            "sentences_read": made.read,
            "sentences_chosen": len(choice.chosen),
        },
    )


def _overview(query: Query, found: Sequence[Hit]) -> Told | None:
    """Compose an overview if the question asks for one of existing documents."""
    target = overview.target(query.workspace_id, query.question, query.documents)
    if target is None:
        return None
    composed, hits = overview.compose(query.workspace_id, target, query.documents)
    if not composed:
        return None
    numbering = Numbering(found, sources={hit.chunk_id: hit for hit in hits})
    sentences = [
        WrittenSentence(
            one.text,
            tuple(
                SpanOf(numbering.number_of(place.chunk_id), place.start, place.end)
                for place in one.places
            ),
            AS_WRITTEN,
            marked=(one.bold,) if one.bold else (),
        )
        for one in composed
    ]
    figures = {"sentences_chosen": len(sentences), "is_overview": True}
    return Told(Outcome.ANSWERED, sentences, numbering, (), figures)


def _written(one: Chosen, numbering: Numbering) -> WrittenSentence:
    candidate = one.candidate
    span = SpanOf(numbering.number_of(candidate.hit.chunk_id), candidate.start, candidate.end)
    return WrittenSentence(candidate.said, (span,), AS_WRITTEN, marked=one.marked)


def _near(one: Ranked) -> dict[str, Any]:
    return {
        "chunk": str(one.candidate.hit.chunk_id),
        "document": str(one.candidate.hit.document_id),
        "start": one.candidate.start,
        "end": one.candidate.end,
        "score": round(one.share, 4),
    }
