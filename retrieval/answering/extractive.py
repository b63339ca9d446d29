"""Answers on the local tier: statements of the documents, chosen and cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from retrieval.answering import choosing, gathering, ranking
from retrieval.answering.candidates import Candidate
from retrieval.answering.choosing import Choice
from retrieval.answering.drafts import Check, SpanOf, WrittenSentence
from retrieval.answering.numbering import Numbering
from retrieval.models import Outcome
from retrieval.search import sentences
from retrieval.search.hits import Hit
from retrieval.search.query import Query, QuestionVector

AS_WRITTEN: Final = Check("supported", "quote")


@dataclass(frozen=True, slots=True)
class Extract:
    """``choice`` was made among ``read`` statements of ``hits``: the passages found, and those that
    joined them."""

    query: Query
    choice: Choice
    hits: Sequence[Hit]
    read: int


@dataclass(frozen=True, slots=True)
class Part:
    """One of the questions in a question. ``vector`` is by the model of the sentences, None where
    that is not the one whose cosines were learnt to be read."""

    question: str
    vector: QuestionVector | None


def extract(query: Query, found: Sequence[Hit], parts: Sequence[Part]) -> Extract:
    """Call in a transaction; ``parts`` were ``prepared`` before."""
    made = [_extracted(query, found, part) for part in parts]
    hits = {hit.chunk_id: hit for one in made for hit in one.hits}
    choice = choosing.together([one.choice for one in made])
    return Extract(query, choice, list(hits.values()), sum(one.read for one in made))


def prepared(query: Query) -> list[Part]:
    """Call outside transactions: a model makes the vectors."""
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
    return Extract(query, choice, gathered.hits, len(gathered.statements))


def numbered(made: Extract, found: Sequence[Hit]) -> Numbering:
    """A passage that only joined those found gets a number when it is cited."""
    return Numbering(found, sources={hit.chunk_id: hit for hit in made.hits})


def written(made: Extract, numbering: Numbering) -> list[WrittenSentence]:
    return [_written(one, numbering) for one in made.choice.chosen]


def _written(one: Candidate, numbering: Numbering) -> WrittenSentence:
    span = SpanOf(numbering.number_of(one.hit.chunk_id), one.start, one.end)
    return WrittenSentence(one.said, (span,), AS_WRITTEN)


def nearest(made: Extract) -> list[dict[str, Any]]:
    """As ``Answer.nearest`` keeps them."""
    return [
        {
            "chunk": str(one.candidate.hit.chunk_id),
            "document": str(one.candidate.hit.document_id),
            "start": one.candidate.start,
            "end": one.candidate.end,
            "score": round(one.share, 4),
        }
        for one in made.choice.nearest
    ]


def figures(made: Extract) -> dict[str, Any]:
    """How the answer came about, in figures; no text of any document."""
    return {
        "outcome": made.choice.outcome.value,
        "probability": round(made.choice.probability, 4),
        "passages": len(made.hits),
        "sentences_read": made.read,
        "sentences_chosen": len(made.choice.chosen),
    }


def is_answered(made: Extract) -> bool:
    return made.choice.outcome is Outcome.ANSWERED
