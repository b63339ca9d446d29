"""Descriptions in the documents' own words: the sentences around the first mentions."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from ingestion.stages.describe.written import Place, Written, one_line
from kb_project.text.sentences import sentence_spans

MOST_SENTENCES: Final = 3
# A sentence shorter than this is a heading or a caption; one longer is no description.
SHORTEST, LONGEST = 25, 500
MOST_QUOTED: Final = 2000


class Passage:
    """A chunk's text with its sentences, found once."""

    def __init__(self, chunk_id: uuid.UUID, start: int, text: str) -> None:
        self.chunk_id = chunk_id
        self.start = start
        self.text = text
        self.sentences = sentence_spans(text)
        self._starts = [a for a, _ in self.sentences]

    def sentence_at(self, offset: int) -> Place | None:
        """The sentence that holds the document offset."""
        index = bisect_right(self._starts, offset - self.start) - 1
        if index < 0:
            return None
        start, end = self.sentences[index]
        return Place(self.chunk_id, self.start + start, self.start + end)

    def quote(self, place: Place) -> str:
        return self.text[place.start - self.start : place.end - self.start]


def quoted(mentions: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> Written:
    """An entity's description: its best sentences, each with its place."""
    places = best_sentences(mentions, chunks)
    text = " ".join(one_line(chunks[place.chunk_id].quote(place)) for place in places)
    return Written(text, tuple(places))


def quoted_evidence(places: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> Written | None:
    """A relationship's description: its best evidence. None where the passage is gone."""
    place = places[0]
    if place.chunk_id not in chunks:
        return None
    return Written(one_line(chunks[place.chunk_id].quote(place))[:MOST_QUOTED], (place,))


def best_sentences(mentions: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> list[Place]:
    """The sentences around the mentions, in the mentions' order, each text once.

    Fragments are taken only where there is nothing better.
    """
    places = []
    for mention in mentions:
        passage = chunks.get(mention.chunk_id)
        place = passage.sentence_at(mention.start) if passage else None
        if place:
            places.append(place)
    whole = [place for place in places if SHORTEST <= place.end - place.start <= LONGEST]
    seen: set[str] = set()
    kept = []
    for place in whole or places[:1]:
        text = one_line(chunks[place.chunk_id].quote(place))
        if text not in seen:
            seen.add(text)
            kept.append(place)
    return kept[:MOST_SENTENCES]
