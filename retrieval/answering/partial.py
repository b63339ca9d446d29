"""What is left of an answer that was stopped: its sentences so far, with the passages they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import regex

from kb_project.text.sentences import sentence_spans
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence

Passages = Sequence[Mapping[str, Any]]
_MARKER: Final = regex.compile(r"\s*\[(\d{1,4})\]")


def sentences_of(text: str, passages: Passages) -> list[WrittenSentence]:
    """The text so far, unchecked. ``passages`` are those of the event, ``text`` has ``[n]``."""
    known = {int(one["number"]): one for one in passages}
    found = []
    for start, end in sentence_spans(text):
        numbers = [int(number) for number in _MARKER.findall(text[start:end])]
        spans = tuple(
            SpanOf(number, int(known[number]["start"]), int(known[number]["end"]))
            for number in dict.fromkeys(numbers)
            if number in known
        )
        words = _MARKER.sub("", text[start:end]).strip()
        if words:
            found.append(WrittenSentence(words, spans))
    return found


def citations_of(sentences: Sequence[WrittenSentence], passages: Passages) -> list[CitedPassage]:
    """The passages that the sentences name, whole."""
    named = {number for sentence in sentences for number in sentence.numbers}
    return [
        CitedPassage(
            number=int(one["number"]),
            chunk_id=UUID(str(one["chunk"])),
            document_id=UUID(str(one["document"])),
            start=int(one["start"]),
            end=int(one["end"]),
            quote=str(one["text"]),
            spans=((int(one["start"]), int(one["end"])),),
        )
        for one in passages
        if int(one["number"]) in named
    ]
