"""From a written answer to citations: its sentences, and the spans of passages that each rests on.

A sentence is located by its quoted words, else by the sentences of the passage most like it.
Offsets are those of the document's text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import regex

from kb_project.text.languages import HAN
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.citations.markers import Placed
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence
from retrieval.search.results import Hit

_ONLY_MARKS: Final = regex.compile(r"[^\p{L}\p{N}]*")
_HEADING: Final = regex.compile(r"\s*(?:#{1,6}\s|```|~~~|\|?[\s:|-]*$)")
FEWEST_TERMS: Final = 2


@dataclass(frozen=True, slots=True)
class ModelSentence:
    """A sentence with the numbers it cites; 0 is general knowledge. ``text`` keeps its line breaks
    if it begins a line."""

    text: str
    numbers: tuple[int, ...]

    @property
    def is_statement(self) -> bool:
        """Whether it says something that could be true: a heading or a lead-in does not."""
        bare = self.text.strip()
        if _HEADING.match(bare) or bare.endswith((":", "\uff1a")):
            return bool(self.numbers)
        return bool(self.numbers) or len(terms(bare)) >= FEWEST_TERMS


def sentences_in(text: str, placed: Sequence[Placed]) -> list[ModelSentence]:
    """Return the sentences without markers; a marker belongs to the sentence it follows or is
    in.

    >>> sentences_in("It burns oil. [1] So it is.", [Placed(14, 17, 1)])
    [ModelSentence(text='It burns oil.', numbers=(1,)), ModelSentence(text='So it is.', numbers=())]
    """
    clean, marks = _without(text, placed)
    spans = list(_statements(clean))
    numbers: list[dict[int, None]] = [{} for _ in spans]
    for at, number in marks:
        before = sum(start < at for start, _ in spans)
        if before:
            numbers[before - 1][number] = None
    sentences = []
    for (start, end), found in zip(spans, numbers, strict=True):
        above = clean[:start]
        breaks = min(2, above[len(above.rstrip()) :].count("\n")) if above.strip() else 0
        sentences.append(ModelSentence("\n" * breaks + clean[start:end], tuple(found)))
    return sentences


def _without(text: str, placed: Sequence[Placed]) -> tuple[str, list[tuple[int, int]]]:
    """Remove the markers, and a space before each; return the text and each marker's offset in
    it."""
    clean, done = "", 0
    marks: list[tuple[int, int]] = []
    for one in placed:
        clean += text[done : one.start]
        if clean.endswith(" "):
            clean = clean[:-1]
        marks.append((len(clean), one.number))
        done = one.end
    return clean + text[done:], marks


def _statements(clean: str) -> Iterator[tuple[int, int]]:
    """Yield spans of sentences; pure punctuation joins the sentence before it."""
    pending: tuple[int, int] | None = None
    for start, end in sentence_spans(clean):
        if pending and _ONLY_MARKS.fullmatch(clean, start, end):
            pending = (pending[0], end)
            continue
        if pending:
            yield pending
        pending = (start, end)
    if pending:
        yield pending


Span = tuple[int, int]

SHORTEST_QUOTE: Final = 12
"""Characters, without spaces, of the shortest quotation to look for; half as many in Han script."""
ADDS: Final = 0.25
"""Share of the sentence that a second sentence of the passage must add to be cited as well."""
MOSTLY: Final = 0.6
MOST_SPANS: Final = 3
LOWEST: Final = 0.1
"""Share of the sentence below which terms do not show where it comes from."""

_QUOTED: Final = regex.compile(
    r"\"([^\"\n]{4,400})\"|“([^”\n]{4,400})”|„([^“”\n]{4,400})[“”]|«([^»\n]{4,400})»"
    r"|「([^」\n]{3,400})」|『([^』\n]{3,400})』|‘([^’\n]{12,400})’"
)
_TOKEN: Final = regex.compile(r"\p{Han}|[\p{L}\p{M}]+|\p{N}+")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a sentence was found. ``share``, from 0 to 1, is how much of it the spans hold;
    ``is_quote`` if it is mostly the passage's own words."""

    spans: tuple[Span, ...]
    share: float
    is_quote: bool = False


def locate(sentence: str, hit: Hit, likeness: Callable[[str], float] | None = None) -> Located:
    """Locate a sentence: never the whole passage if a sentence of it will do, and never nothing.

    ``likeness`` compares a passage's sentence with this one if they share no words.
    """
    sentence = " ".join(sentence.split())
    quotes = [span for words in quoted(sentence) if (span := find(words, hit.text))]
    if quotes:
        is_all = sum(end - start for start, end in quotes) >= MOSTLY * len(sentence)
        return _placed(hit, Located(tuple(sorted(set(quotes))[:MOST_SPANS]), 1.0, is_all))
    whole = find(sentence, hit.text)
    if whole:
        start, end = around(hit.text, whole)
        # Part of a sentence may state what the whole of it denies.
        is_all = whole[1] - whole[0] >= MOSTLY * (end - start)
        return _placed(hit, Located(((start, end),), 1.0, is_all))
    return _placed(hit, _most_alike(sentence, hit.text, likeness))


def quoted(sentence: str) -> list[str]:
    """
    >>> quoted('He wrote "the light was mine alone" and left.')
    ['the light was mine alone']
    """
    found = (next(part for part in match.groups() if part) for match in _QUOTED.finditer(sentence))
    return [words for words in found if _is_long(words)]


def find(words: str, text: str) -> Span | None:
    """Find the words in sequence, ignoring spaces, case and punctuation between them."""
    wanted = [token.group().casefold() for token in _TOKEN.finditer(words)]
    if not wanted or not _is_long(words):
        return None
    tokens, places = _tokens(text)
    size = len(wanted)
    for index in range(len(tokens) - size + 1):
        if tokens[index] == wanted[0] and tokens[index : index + size] == wanted:
            end = places[index + size - 1][1]
            ends_sentence = text[end : end + 1] in tuple(".!?。！？")
            return places[index][0], end + 1 if ends_sentence else end
    return None


def weights_of(sentence: str, among: Sequence[Collection[str]]) -> dict[str, float]:
    """Weigh the sentence's terms: rarer ones more, numbers twice; the weights sum to one."""
    counts = Counter(term for one in among for term in set(one))
    total = len(among)
    rarity = {
        term: math.log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5)) + 0.1
        for term in dict.fromkeys(terms(sentence))
    }
    weighed = {term: value * (2 if term.isdigit() else 1) for term, value in rarity.items()}
    whole = sum(weighed.values())
    return {term: value / whole for term, value in weighed.items()} if whole else {}


def share(weights: Mapping[str, float], found: Collection[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in found)


@lru_cache(maxsize=256)
def units(text: str) -> tuple[tuple[Span, frozenset[str]], ...]:
    """Return the passage's sentences with their terms."""
    return tuple(
        ((start, end), frozenset(terms(text[start:end]))) for start, end in sentence_spans(text)
    )


@lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[list[str], list[Span]]:
    matches = list(_TOKEN.finditer(text))
    return [match.group().casefold() for match in matches], [match.span() for match in matches]


def _most_alike(sentence: str, text: str, likeness: Callable[[str], float] | None) -> Located:
    found = units(text)
    if not found:
        return Located(((0, len(text)),), 0.0)
    weights = weights_of(sentence, [own for _, own in found])
    chosen: list[Span] = []
    covered: frozenset[str] = frozenset()
    while len(chosen) < MOST_SPANS:
        adds, span, own = max(
            ((share(weights, own - covered), span, own) for span, own in found),
            key=lambda one: (one[0], -one[1][0]),
        )
        if chosen and adds < ADDS:
            break
        if not chosen and adds < LOWEST and likeness:
            return Located(
                (max((one for one, _ in found), key=lambda s: likeness(text[slice(*s)])),), 0.0
            )
        chosen.append(span)
        covered |= own
    return Located(tuple(sorted(set(chosen))), share(weights, covered))


def around(text: str, span: Span) -> Span:
    """Widen the span to whole sentences of the passage."""
    touched = [own for own, _ in units(text) if own[0] < span[1] and span[0] < own[1]]
    return (touched[0][0], touched[-1][1]) if touched else span


def _placed(hit: Hit, found: Located) -> Located:
    spans = tuple((hit.start + start, hit.start + end) for start, end in found.spans)
    return Located(spans, found.share, found.is_quote)


def _is_long(words: str) -> bool:
    length = len("".join(words.split()))
    return length >= (SHORTEST_QUOTE // 2 if HAN.search(words) else SHORTEST_QUOTE)


Compare = Callable[[str, str], float]
"""Returns the similarity of two texts, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class LocatedSentence:
    """A sentence and the spans that support it in each of its passages, in citation order."""

    said: ModelSentence
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


def cite(
    said: ModelSentence, numbering: Numbering, likeness: Compare | None = None
) -> LocatedSentence:
    """Locate a sentence in its passages; ``likeness`` of two texts is used where they share no
    words."""
    text = said.text.strip()
    alike = (lambda other: likeness(text, other)) if likeness else None
    hits = [(number, numbering.passage(number)) for number in said.numbers if number]
    return LocatedSentence(
        said, tuple((number, hit, locate(text, hit, alike)) for number, hit in hits)
    )


def texts_of(cited: LocatedSentence) -> list[str]:
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
    passages = []
    for number, its in sorted(spans.items()):
        hit, (start, end) = numbering.passage(number), next(iter(its))
        quote = hit.text[start - hit.start : end - hit.start]
        passages.append(
            CitedPassage(number, hit.chunk_id, hit.document_id, start, end, quote, tuple(its))
        )
    return passages


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
