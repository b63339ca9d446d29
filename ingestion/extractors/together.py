"""Relations between names in one sentence, if nothing more is stated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ingestion.extractors.found import TOGETHER, FoundMention, FoundRelation
from kb_project.text.names import normalise_name
from kb_project.text.sentences import Span

NEIGHBOURS: Final = 3
"""In a long enumeration each name is linked to this many after it, not to all."""


def together(
    mentions: Sequence[FoundMention],
    sentences: Sequence[Span],
    stated: Collection[tuple[int, int]] = (),
) -> list[FoundRelation]:
    """Pairs of different names in one sentence, except those already ``stated`` (either way).

    In a sentence of n names each pair has a strength of 1 / (n - 1).
    """
    relations: list[FoundRelation] = []
    for span, members in by_sentence(mentions, sentences):
        firsts = _first_of_each(mentions, members)
        for place, left in enumerate(firsts):
            for right in firsts[place + 1 : place + 1 + NEIGHBOURS]:
                if (left, right) in stated or (right, left) in stated:
                    continue
                strength = round(1 / (len(firsts) - 1), 4)
                relations.append(FoundRelation(left, right, "", *span, TOGETHER, strength))
    return relations


def by_sentence(
    mentions: Sequence[FoundMention], sentences: Sequence[Span]
) -> list[tuple[Span, list[int]]]:
    """Each sentence with the indexes of the mentions inside it; both in the order of the text."""
    grouped: list[tuple[Span, list[int]]] = []
    position = 0
    for start, end in sentences:
        while position < len(mentions) and mentions[position].start < start:
            position += 1
        members = []
        while position < len(mentions) and mentions[position].end <= end:
            members.append(position)
            position += 1
        grouped.append(((start, end), members))
    return grouped


def _first_of_each(mentions: Sequence[FoundMention], members: Sequence[int]) -> list[int]:
    firsts: dict[str, int] = {}
    for index in members:
        firsts.setdefault(normalise_name(mentions[index].surface), index)
    return list(firsts.values())
