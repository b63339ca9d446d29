"""Split a written answer into sentences, each with the numbers after or inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from retrieval.answering.citations.markers import Placed

_ONLY_MARKS: Final = regex.compile(r"[^\p{L}\p{N}]*")
_HEADING: Final = regex.compile(r"\s*(?:#{1,6}\s|```|~~~|\|?[\s:|-]*$)")
FEWEST_TERMS: Final = 2


@dataclass(frozen=True, slots=True)
class Said:
    """``text`` keeps its line breaks if it begins a line. 0 is general knowledge."""

    text: str
    numbers: tuple[int, ...]

    @property
    def is_statement(self) -> bool:
        """Whether it says something that could be true: a heading or a lead-in does not."""
        bare = self.text.strip()
        if _HEADING.match(bare) or bare.endswith((":", "\uff1a")):
            return bool(self.numbers)
        return bool(self.numbers) or len(terms(bare)) >= FEWEST_TERMS


def sentences_in(text: str, placed: Sequence[Placed]) -> list[Said]:
    """Return the sentences without markers; a marker belongs to the sentence it follows or is
    in.

    >>> sentences_in("It burns oil. [1] So it is.", [Placed(14, 17, 1)])
    [Said(text='It burns oil.', numbers=(1,)), Said(text='So it is.', numbers=())]
    """
    clean, marks = _without(text, placed)
    spans = list(_statements(clean))
    numbers: list[dict[int, None]] = [{} for _ in spans]
    for at, number in marks:
        before = sum(start < at for start, _ in spans)
        if before:
            numbers[before - 1][number] = None
    return [
        Said(_breaks_before(clean, start) + clean[start:end], tuple(found))
        for (start, end), found in zip(spans, numbers, strict=True)
    ]


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


def _breaks_before(clean: str, start: int) -> str:
    before = clean[:start]
    return "\n" * min(2, before[len(before.rstrip()) :].count("\n")) if before.strip() else ""
