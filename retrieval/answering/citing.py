"""From labels to places: each sentence of an answer with the spans of the passages it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence
from retrieval.answering.numbering import Numbering
from retrieval.answering.sentences import Said
from retrieval.answering.spans import Located, around, locate
from retrieval.search.hits import Hit

Likeness = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence and where each of its passages says so, in the order they are cited."""

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
    """``likeness`` of two texts finds the place where they share no words."""
    text = said.text.strip()
    alike = (lambda other: likeness(text, other)) if likeness else None
    hits = [(number, numbering.passage(number)) for number in said.numbers if number]
    return Cited(said, tuple((number, hit, locate(text, hit, alike)) for number, hit in hits))


def texts_of(cited: Cited) -> list[str]:
    """What the cited spans say, a quotation with the sentence it stands in."""
    return [
        hit.text[slice(*around(hit.text, (start - hit.start, end - hit.start)))]
        for _, hit, located in cited.places
        for start, end in located.spans
    ]


def cited_passages(
    sentences: Iterable[WrittenSentence], numbering: Numbering
) -> list[CitedPassage]:
    """Each passage once, by its number, with all its spans in the order they are cited."""
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
    """As ``Answer.nearest``: the sentence of each of the best passages that is most like the
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
