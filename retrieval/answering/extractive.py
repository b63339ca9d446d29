"""Answers on the local tier: sentences of the documents, chosen and cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from retrieval.answering import topical
from retrieval.answering.drafts import Check, SpanOf, WrittenSentence
from retrieval.answering.numbering import Numbering
from retrieval.search import answer as answering
from retrieval.search import assemble, cite, sought, support
from retrieval.search.answer import Scored
from retrieval.search.found import Record
from retrieval.search.hits import Hit
from retrieval.search.query import Query
from retrieval.search.sought import Sought
from retrieval.search.support import Support
from retrieval.search.weights import weigh

AS_WRITTEN: Final = Check("supported", "quote")


@dataclass(frozen=True, slots=True)
class Choice:
    """The sentences chosen, or the nearest ones where none is enough; ``read`` were looked at."""

    sought: Sought
    hits: Sequence[Hit]
    chosen: Sequence[Scored]
    nearest: Sequence[Scored]
    support: Support
    read: int


def choose(
    query: Query, hits: Sequence[Hit], everyday: Sequence[str], records: Sequence[Record] = ()
) -> Choice:
    """Choose from the passages found. Reads what the words and names are worth, writes nothing.

    A question about the documents as a whole is answered by ``records``, if there are reports.
    """
    wanted = sought.read(query.question)
    sentences = assemble.sentences(hits, assemble.mentions_in(query.workspace_id, hits))
    weights = weigh(wanted, sentences, support.frequencies(query, wanted.terms))
    chosen = answering.choose(sentences, wanted, weights)
    nearness = support.nearness(query, everyday) if everyday else None
    verdict = support.judge(chosen, weights, nearness)
    if topical.is_asked(wanted) and (told := topical.choose(sentences, records)):
        chosen, verdict = told, replace(verdict, is_enough=True, coverage=1.0)
    return Choice(
        sought=wanted,
        hits=hits,
        chosen=chosen if verdict.is_enough else (),
        nearest=()
        if verdict.is_enough
        else cite.nearest(answering.rank(sentences, wanted, weights)),
        support=verdict,
        read=len(sentences),
    )


def written(choice: Choice, numbering: Numbering) -> list[WrittenSentence]:
    """The sentences in reading order, each with the span it was taken from.

    A citation has the number that its passage is shown with.
    """
    sentences, spans = cite.cite(choice.chosen, choice.hits)
    places = {
        one.number: SpanOf(numbering.number_of(one.chunk_id), one.start, one.end) for one in spans
    }
    return [
        WrittenSentence(one.text, tuple(places[n] for n in one.citations), AS_WRITTEN)
        for one in sentences
    ]


def nearest(choice: Choice) -> list[dict[str, Any]]:
    """As ``Answer.nearest`` keeps them."""
    return [
        {
            "chunk": str(one.sentence.chunk_id),
            "document": str(one.sentence.document_id),
            "start": one.sentence.start,
            "end": one.sentence.end,
            "score": round(one.score, 4),
        }
        for one in choice.nearest
    ]


def figures(choice: Choice) -> dict[str, Any]:
    """How the answer came about, in figures; no text of any document."""
    nearness = choice.support.nearness
    return {
        "asks_for": choice.sought.kind.value,
        "passages": len(choice.hits),
        "sentences_read": choice.read,
        "sentences_chosen": len(choice.chosen),
        "known": round(choice.support.known, 3),
        "coverage": round(choice.support.coverage, 3),
        "nearness": None if nearness is None else round(nearness, 4),
    }
