"""Choose mentions among candidate spans, and link those of one sentence.

Mentions are whole names, each once. Initials next to a name they stand for are mentions of it:
*Magnus Okafor (MO)*, *MO Magnus Okafor*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import regex

from ingestion.extractors.extraction import (
    BARE,
    CONCEPT,
    LONGEST_SURFACE,
    NAME,
    SURE,
    TOGETHER,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.head_words import kind_of
from kb_project.text.names import normalise_name
from kb_project.text.sentences import Span

_SPACE: Final = regex.compile(r"\s+")
_LEADING: Final = regex.compile(
    r"^(?:(?:the|a|an|this|that|his|her|its|their|our|my|your)\s+|\W)+(?=\w)", regex.I
)
_TRAILING: Final = regex.compile(r"(?:['’]s?|[^\w.+#)\]]|\.(?!\w\.))+$")
_NEXT_ENTRY: Final = regex.compile(r"\s*\n\s*\d{1,3}(?=[.)]\s)")
"""The number of the list's next entry, below a name."""
_NAMED: Final = regex.compile(r"[\p{Lu}\p{Lt}\p{Lo}\p{N}]|\p{Ll}\p{Lu}")
_NO_NAMES: Final = frozenset(
    """
    i he she it we they you him her his its me us them who whom whose which what this that these
    those one someone everybody mr mrs ms miss dr sir madam lord lady prof st
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    chapter section figure fig table part page volume vol appendix note notes yes no ok oh ah
    introduction conclusion summary contents abstract references bibliography
    copyright todo fixme true false null none phd md msc bsc mba jr sr
    """.split()
)
MOST: Final = 6
_BESIDE: Final = r"[ \t]*[(|:\t][ \t]*|[ \t]+"
_BEFORE: Final = regex.compile(rf"(?<!\w)(?P<short>(?:\p{{Lu}}\.?){{2,{MOST}}})(?:{_BESIDE})$")
_BEHIND: Final = regex.compile(rf"(?:{_BESIDE})(?P<short>(?:\p{{Lu}}\.?){{2,{MOST}}})(?!\w)")
GAP: Final = 4
"""Characters between the two: a bracket, or a table rule."""
NEIGHBOURS: Final = 3
"""In a long enumeration each name is linked to this many after it, not to all."""


def mention(
    text: str, span: Span, type_name: str, source: str, *, is_title: bool = False
) -> FoundMention | None:
    """The candidate without articles, possessives and stray punctuation; None if it is not a name.

    The article of a title is part of it: *A Day* is not *Day*.
    """
    start, end = span
    surface = text[start:end]
    if len(surface) > 2 * LONGEST_SURFACE or "\n\n" in surface:
        return None
    leading = None if is_title else _LEADING.match(surface)
    start += leading.end() if leading else 0
    below = _NEXT_ENTRY.search(text, start, end + 2)
    end = below.start() if below and below.end() == end else end
    trailing = _TRAILING.search(text[start:end])
    end = start + trailing.start() if trailing else end
    surface = _SPACE.sub(" ", text[start:end])
    if not _is_name(surface, type_name):
        return None
    kind = type_name if source == SURE else kind_of(surface, type_name)
    return FoundMention(start, end, surface, kind, source)


def _is_name(surface: str, type_name: str) -> bool:
    if not 2 <= len(surface) <= LONGEST_SURFACE:
        return False
    if type_name != CONCEPT and not _NAMED.search(surface):
        return False
    key = normalise_name(surface)
    return len(key) > 1 and key not in _NO_NAMES and any(map(str.isalpha, key))


def longest(candidates: Iterable[FoundMention]) -> list[FoundMention]:
    """The candidates not overlapped by a longer one, in the order of the text.

    What overlaps a longer name is part of it: "Lothair" in "Lothair II of Lotharingia" is not a
    second person. Names come before concepts. Of equal candidates, one of known type beats one of
    unknown type, else the first wins.
    """
    taken: list[FoundMention] = []
    ranked = sorted(
        candidates,
        key=lambda found: (
            found.type == CONCEPT,
            found.start - found.end,
            found.type == NAME,
            found.start,
        ),
    )
    for found in ranked:
        if not any(found.start < other.end and other.start < found.end for other in taken):
            taken.append(found)
    return sorted(taken, key=lambda found: found.start)


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
        by_name: dict[str, int] = {}
        for index in members:
            by_name.setdefault(normalise_name(mentions[index].surface), index)
        firsts = list(by_name.values())
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


def initials(text: str, names: Sequence[FoundMention]) -> Iterator[FoundMention]:
    """Initials next to one of the names, with its type."""
    for name in names:
        if " " not in name.surface or name.type == CONCEPT:
            continue
        before = _BEFORE.search(text, max(0, name.start - MOST - 2 * GAP), name.start)
        behind = _BEHIND.match(text, name.end)
        for found in (before, behind):
            if found and stands_for(found["short"], name.surface):
                source = BARE if name.type == NAME else SURE
                short = mention(text, found.span("short"), name.type, source)
                if short:
                    yield short


def stands_for(short: str, name: str) -> bool:
    """Whether letters are the initials of a name's words, leaving out small words.

    >>> stands_for("MO", "Magnus Okafor"), stands_for("SPI", "Software in the Public Interest")
    (True, True)
    >>> stands_for("MO", "Magnus Lind"), stands_for("Mo", "Magnus Okafor")
    (False, False)
    """
    letters = short.replace(".", "")
    words = regex.split(r"[\s-]+", name)
    return (
        2 <= len(letters) <= MOST
        and letters.isupper()
        and letters == "".join(word[0] for word in words if word[:1].isupper())
    )
