"""Split long texts into windows that end where sentences do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ingestion.extractors.found import Extraction, FoundMention, FoundRelation
from kb_project.text.sentences import sentence_spans

LONGEST_WINDOW: Final = 10_000
"""Characters. A chunk is one window; spaCy's memory grows with the window, not the text."""


def windows(text: str) -> Iterator[tuple[int, str]]:
    """``(offset, piece)`` for pieces of whole sentences, none longer than LONGEST_WINDOW."""
    if len(text) <= LONGEST_WINDOW:
        yield 0, text
        return
    start = stop = 0
    for sentence_start, sentence_end in sentence_spans(text):
        if sentence_end - start > LONGEST_WINDOW and stop > start:
            yield start, text[start:stop]
            start = sentence_start
        stop = sentence_end
    if stop > start:
        yield start, text[start:stop]


def joined(parts: Iterable[tuple[int, Extraction]]) -> Extraction:
    """Join the extractions of windows, each given with its window's offset."""
    mentions: list[FoundMention] = []
    relations: list[FoundRelation] = []
    for offset, part in parts:
        moved = part.shifted(offset)
        first = len(mentions)
        mentions += moved.mentions
        relations += [
            replace(r, source=r.source + first, target=r.target + first) for r in moved.relations
        ]
    return Extraction(tuple(mentions), tuple(relations))
