"""Initials next to the name they stand for: *Magnus Okafor (MO)*, *MO Magnus Okafor*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import regex

from ingestion.extractors.found import BARE, CONCEPT, NAME, SURE, FoundMention
from ingestion.extractors.mentions import mention

MOST: Final = 6
_BESIDE: Final = r"[ \t]*[(|:\t][ \t]*|[ \t]+"
_BEFORE: Final = regex.compile(rf"(?<!\w)(?P<short>(?:\p{{Lu}}\.?){{2,{MOST}}})(?:{_BESIDE})$")
_BEHIND: Final = regex.compile(rf"(?:{_BESIDE})(?P<short>(?:\p{{Lu}}\.?){{2,{MOST}}})(?!\w)")
GAP: Final = 4
"""Characters between the two: a bracket, or a table rule."""


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
