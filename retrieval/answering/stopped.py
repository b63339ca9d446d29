"""Rebuild a stopped answer: its sentences so far, with the passages they cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from retrieval.answering.citations.labels import GENERAL
from retrieval.answering.citations.markers import MarkerFilter
from retrieval.answering.drafts import CitedPassage, SpanOf, WrittenSentence
from retrieval.answering.sentences import sentences_in

Passages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Known:
    """Implements ``citations.markers.Labels`` for text that was already filtered once."""

    passages: Mapping[int, Mapping[str, Any]]
    kinds: frozenset[str] = frozenset({"", GENERAL})

    def numbers(self, label: str, said: str) -> tuple[int, ...]:
        if label == GENERAL:
            return (0,)
        return (int(label),) if int(label) in self.passages else ()


def sentences_of(text: str, passages: Passages) -> list[WrittenSentence]:
    """Return the sentences so far, unchecked. ``passages`` are the event's; ``text`` has
    ``[n]``."""
    known = {int(one["number"]): one for one in passages}
    sieve = MarkerFilter(_Known(known))
    sieve.feed(text)
    sieve.close()
    return [
        WrittenSentence(one.text, tuple(_whole(known[number]) for number in one.numbers if number))
        for one in sentences_in(sieve.text, sieve.placed)
    ]


def _whole(passage: Mapping[str, Any]) -> SpanOf:
    return SpanOf(int(passage["number"]), int(passage["start"]), int(passage["end"]))


def citations_of(sentences: Sequence[WrittenSentence], passages: Passages) -> list[CitedPassage]:
    """Return the passages that the sentences cite, whole."""
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
