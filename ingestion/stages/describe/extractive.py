"""Descriptions in the documents' own words: the sentences around the first mentions.

Sentences of prose come first, then list entries. What is named only in headings, menus, code or
tables gets no description: its page shows where it occurs.
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from ingestion.stages.describe.written import Place, Written, one_line
from kb_project.text.quotable import is_ended, is_labelled, leans, quotable
from kb_project.text.regions import Region
from kb_project.text.statements import Statement, StatementKind

MOST_SENTENCES: Final = 3
# A shorter sentence says little about a name; a longer one is no description.
SHORTEST, LONGEST = 25, 500
MOST_QUOTED: Final = 2000
FRAGMENT: Final = 2


class Passage:
    """A chunk's text with its quotable statements, parsed once."""

    def __init__(
        self, chunk_id: uuid.UUID, start: int, text: str, regions: Sequence[Region] = ()
    ) -> None:
        self.chunk_id = chunk_id
        self.start = start
        self.text = text
        self._stated = quotable(text, regions)

    def statement_at(self, offset: int) -> Statement | None:
        """The sentence or list entry that holds the document offset."""
        index = bisect_right(self._stated, offset - self.start, key=lambda one: one.start) - 1
        found = self._stated[index] if index >= 0 else None
        return found if found and offset - self.start < found.end else None

    def place_of(self, one: Statement) -> Place:
        return Place(self.chunk_id, self.start + one.start, self.start + one.end)

    def quote(self, place: Place) -> str:
        return self.text[place.start - self.start : place.end - self.start]


def quoted(mentions: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> Written:
    """An entity's description: its best sentences, each with its place."""
    places = best_sentences(mentions, chunks)
    text = " ".join(one_line(chunks[place.chunk_id].quote(place)) for place in places)
    return Written(text, tuple(places))


def quoted_evidence(places: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> Written | None:
    """A relationship's description: its best evidence. None if the passage is gone."""
    place = places[0]
    if place.chunk_id not in chunks:
        return None
    return Written(one_line(chunks[place.chunk_id].quote(place))[:MOST_QUOTED], (place,))


def best_sentences(mentions: Sequence[Place], chunks: Mapping[uuid.UUID, Passage]) -> list[Place]:
    """The sentences around the mentions, each text once; one fragment if there is nothing better.

    Those that make sense on their own come first, each kind in the mentions' order.
    """
    found: dict[str, tuple[int, Place]] = {}
    for mention in mentions:
        passage = chunks.get(mention.chunk_id)
        one = passage.statement_at(mention.start) if passage else None
        if passage and one:
            found.setdefault(one.said, (_awkwardness(one), passage.place_of(one)))
    ranked = sorted(found.values(), key=lambda pair: pair[0])
    whole = [place for awkward, place in ranked if awkward < FRAGMENT]
    return whole[:MOST_SENTENCES] or [place for _, place in ranked[:1]]


def _awkwardness(one: Statement) -> int:
    """How poorly a statement reads: 0 for a whole sentence that makes sense on its own."""
    return (
        FRAGMENT * (one.kind is not StatementKind.SENTENCE or not is_ended(one.said))
        + FRAGMENT * (not SHORTEST <= len(one.said) <= LONGEST)
        + FRAGMENT * is_labelled(one.said)
        + leans(one.said)
    )
