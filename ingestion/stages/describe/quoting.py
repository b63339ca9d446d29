"""Describe in the documents' own sentences, where there are no notes of a model.

A description consists of sentences around an entity's first mentions, best those that say what it
is: sentences of prose, else list entries. What is named only in headings, menus, code or tables
gets no description: its page shows where it occurs.
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

import regex

from ingestion.stages.describe.writing import Description, SourceSpan
from kb_project.text.regions import Region
from kb_project.text.statements import (
    Statement,
    StatementKind,
    is_ended,
    is_labelled,
    needs_context,
    quotable,
)
from kb_project.text.words import one_line

MOST_SENTENCES: Final = 3

# A shorter sentence says little about a name; a longer one is no description.
SHORTEST_SENTENCE, LONGEST_SENTENCE = 25, 500
MOST_QUOTED: Final = 2000
FRAGMENT_PENALTY: Final = 2
TOO_FAR: Final = 4
"""Distance from which a sentence is quoted only if there is no nearer one."""
_LEADING: Final = regex.compile(
    r"[\"'“‘(*_\s]*(?:(?:the|an?|dr|mr|mrs|ms|prof|sir|rv|hms|ss)\.?\s+)*[\"'“‘*_]*",
    regex.IGNORECASE,
)
_IS: Final = regex.compile(
    r"[\"'”’*_]*(?:\s*\([^()]*\)|\s*（[^（）]*）)?"
    r"(?:,\s(?:an?|the|our|its|his|her|their|one of)\s|(?:,[^,.;:]{2,80},)?\s*"
    r"(?:is|was|are|were|became|has been|serves|served|是|为|系|创办于|成立于|位于)\b)",
    regex.IGNORECASE,
)
# *the buoy, known as Old Bob*
_CALLED: Final = regex.compile(
    r".*\b(?:called|known as|nicknamed|named)(?: the| an?)?[\s\"'“‘*_]+", regex.IGNORECASE
)
_STOPS: Final = regex.compile(r"[\"'”’*_]*[.;:]")
_HAN: Final = regex.compile(r"\p{Han}")
_INITIALS: Final = regex.compile(r"(?:\p{Lu}\.?){2,4}")


class PassageText:
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

    def quote(self, span: SourceSpan) -> str:
        return one_line(self.text[span.start - self.start : span.end - self.start])


Chunks = Mapping[uuid.UUID, PassageText]


def quoted_mentions(mentions: Sequence[SourceSpan], chunks: Chunks) -> Description:
    """An entity's description: its best sentences, each with its span."""
    sentences = best_sentences(mentions, chunks)
    text = " ".join(chunks[span.chunk_id].quote(span) for span in sentences)
    return Description(text, tuple(sentences))


def quoted_evidence(evidence: Sequence[SourceSpan], chunks: Chunks) -> Description | None:
    """A relationship's description: its best evidence. None if the passage is gone."""
    span = evidence[0]
    if span.chunk_id not in chunks:
        return None
    return Description(chunks[span.chunk_id].quote(span)[:MOST_QUOTED], (span,))


def best_sentences(mentions: Sequence[SourceSpan], chunks: Chunks) -> list[SourceSpan]:
    """The sentences around the mentions, each text once; one fragment if there is nothing better.

    Those that say what the entity is come first, then those about it, then those that name it, each
    kind in the mentions' order.
    """
    found: dict[str, tuple[bool, int, SourceSpan]] = {}
    for mention in mentions:
        passage = chunks.get(mention.chunk_id)
        one = passage.statement_at(mention.start) if passage else None
        if passage and one:
            start, end = passage.start + one.start, passage.start + one.end
            span = SourceSpan(passage.chunk_id, start, end)
            awkwardness = _awkwardness(one)
            telling = _distance(passage, one, mention) + awkwardness
            found.setdefault(one.said, (awkwardness >= FRAGMENT_PENALTY, telling, span))
    ranked = sorted(found.values(), key=lambda row: row[:2])
    whole = [(telling, span) for is_fragment, telling, span in ranked if not is_fragment]
    nearest = [span for telling, span in whole if telling < TOO_FAR]
    return (nearest or [span for _, span in whole])[:MOST_SENTENCES] or [
        span for *_, span in ranked[:1]
    ]


def _distance(passage: PassageText, one: Statement, mention: SourceSpan) -> int:
    """How far a statement is from saying what the mention's entity is.

    0 if it begins with the name and says *is*, 1 if it begins with the name and goes on, or says
    elsewhere what the name is, else 2; less in a document named after it; more if the name is only
    there as initials, or in a text of another script.
    """
    start, end = mention.start - passage.start, mention.end - passage.start
    name = passage.text[start:end]
    before, behind = passage.text[one.start : start], passage.text[end : one.end]
    if _LEADING.fullmatch(before):
        is_said = _IS.match(behind) is not None
        distance = 1 - is_said + (not is_said and _STOPS.match(behind) is not None)
    else:
        distance = 2 - (_CALLED.fullmatch(before) is not None)
    distance -= 2 * mention.is_titled
    distance += TOO_FAR * (_HAN.search(one.said) is not None and _HAN.search(name) is None)
    return distance + TOO_FAR * (_INITIALS.fullmatch(name) is not None)


def _awkwardness(one: Statement) -> int:
    """How poorly a statement reads: 0 for a whole sentence that makes sense on its own."""
    return (
        FRAGMENT_PENALTY * (one.kind is not StatementKind.SENTENCE or not is_ended(one.said))
        + FRAGMENT_PENALTY * (not SHORTEST_SENTENCE <= len(one.said) <= LONGEST_SENTENCE)
        + FRAGMENT_PENALTY * is_labelled(one.said)
        + needs_context(one.said)
    )
