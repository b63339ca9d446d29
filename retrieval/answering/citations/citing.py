"""Map labels to places: each sentence of an answer with the passage spans it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString

from retrieval.answering.citations.numbering import Numbering
from retrieval.answering.citations.spans import Located, around, locate
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence
from retrieval.answering.sentences import Said
from retrieval.search.hits import Hit

# Which version of its document holds each quotation? The live one, unless another version replaced
# it while the answer was being made.
VERSIONS_QUOTED: Final[LiteralString] = """
SELECT t.number, coalesce(v.number, d.live_number)
  FROM unnest(%(numbers)s::int4[], %(documents)s::uuid[], %(starts)s::int4[], %(ends)s::int4[],
              %(quotes)s::text[]) AS t (number, document, start, stop, quote)
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = t.document
  LEFT JOIN LATERAL (
       SELECT of.number FROM ingestion_documentversion AS of
        WHERE of.workspace_id = %(workspace)s AND of.document_id = d.id
          AND substr(of.text, t.start + 1, t.stop - t.start) = t.quote
        ORDER BY of.number = d.live_number DESC, of.number DESC LIMIT 1) AS v
    ON EXISTS (SELECT FROM ingestion_documentversion AS other
                WHERE other.workspace_id = %(workspace)s AND other.document_id = d.id
                  AND other.number > 1)
"""

# Lock the documents that still exist until their citations are written.
HOLD_DOCUMENTS: Final[LiteralString] = """
SELECT id, title FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
 ORDER BY id FOR KEY SHARE
"""


Likeness = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence and the spans that support it in each of its passages, in citation order."""

    said: Said
    places: tuple[tuple[int, Hit, Located], ...] = ()

    @property
    def spans(self) -> tuple[SpanOf, ...]:
        return tuple(
            SpanOf(number, start, end)
            for number, _, located in self.places
            for start, end in located.spans
        )

    @property
    def is_quote(self) -> bool:
        return any(located.is_quote for _, _, located in self.places)


def cite(said: Said, numbering: Numbering, likeness: Likeness | None = None) -> Cited:
    """Locate a sentence in its passages; ``likeness`` of two texts is used where they share no
    words."""
    text = said.text.strip()
    alike = (lambda other: likeness(text, other)) if likeness else None
    hits = [(number, numbering.passage(number)) for number in said.numbers if number]
    return Cited(said, tuple((number, hit, locate(text, hit, alike)) for number, hit in hits))


def texts_of(cited: Cited) -> list[str]:
    """Return the text of the cited spans, each widened to whole sentences."""
    return [
        hit.text[slice(*around(hit.text, (start - hit.start, end - hit.start)))]
        for _, hit, located in cited.places
        for start, end in located.spans
    ]


def cited_passages(
    sentences: Iterable[WrittenSentence], numbering: Numbering
) -> list[CitedPassage]:
    """Return each passage once, by number, with all its spans in citation order."""
    spans: dict[int, dict[tuple[int, int], None]] = {}
    for sentence in sentences:
        for span in sentence.spans:
            spans.setdefault(span.number, {})[span.start, span.end] = None
    return [
        _passage(number, numbering.passage(number), list(spans[number])) for number in sorted(spans)
    ]


def renumbered(
    sentences: Iterable[WrittenSentence], citations: Iterable[CitedPassage]
) -> tuple[list[WrittenSentence], list[CitedPassage]]:
    """Number citations 1, 2, 3 in the order in which the sentences cite them."""
    sentences = list(sentences)
    cited = dict.fromkeys(number for one in sentences for number in one.numbers)
    numbers = {before: number for number, before in enumerate(cited, start=1)}
    spans = [
        tuple(replace(span, number=numbers[span.number]) for span in one.spans) for one in sentences
    ]
    passages = [replace(one, number=numbers[one.number]) for one in citations]
    return (
        [replace(one, spans=its) for one, its in zip(sentences, spans, strict=True)],
        sorted(passages, key=lambda one: one.number),
    )


def nearest(question: str, hits: Sequence[Hit], most: int = 3) -> list[dict[str, object]]:
    """Build ``Answer.nearest``: from each of the best passages, the sentence most like the
    question."""
    found = []
    for hit in hits[:most]:
        start, end = locate(question, hit).spans[0]
        found.append(
            {
                "chunk": str(hit.chunk_id),
                "document": str(hit.document_id),
                "start": start,
                "end": end,
                "score": round(hit.score, 4),
            }
        )
    return found


def _passage(number: int, hit: Hit, spans: Sequence[tuple[int, int]]) -> CitedPassage:
    start, end = spans[0]
    quote = hit.text[start - hit.start : end - hit.start]
    return CitedPassage(number, hit.chunk_id, hit.document_id, start, end, quote, tuple(spans))
