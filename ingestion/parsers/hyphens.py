"""Rejoins words of plain text that are hyphenated at a line's end, as the PDF reader does.

The end of the word moves up: *Veg-* and *etarian monsters* become *Vegetarian* and *monsters*. Only
a text that has the whole word elsewhere, and not with a hyphen, tells that the hyphen is none of
the word's own.
"""

from __future__ import annotations

from typing import Final

import regex

_LONGEST_WORD: Final = 60
_CUT: Final = regex.compile(
    r"(?<=\p{Ll})-(?P<break>\r?\n[ \t]*)(?P<after>\p{Ll}{1,60})(?!\p{L})(?P<tail>[^\s-]{0,10})"
    r"(?P<space>[ \t]+(?=\S)|(?=\s)|\Z)"
)
_BEFORE: Final = regex.compile(r"(?<!\p{L})\p{L}+$")
_WORD: Final = regex.compile(r"\p{L}+(?:-\p{L}+)*")


def rejoined(text: str) -> str:
    """Return the text with its cut words whole; everything else stays where it is.

    >>> rejoined("A vegetarian ate. Veg-\\n  etarian monsters\\n  eat, too.")
    'A vegetarian ate. Vegetarian\\n  monsters\\n  eat, too.'
    """
    if not _CUT.search(text):
        return text
    known = {match.group().casefold() for match in _WORD.finditer(text)}

    def whole(match: regex.Match[str]) -> str:
        at = match.start()
        before = _BEFORE.search(text, max(0, at - _LONGEST_WORD), at)
        first, after = before.group().casefold() if before else "", match["after"]
        if not first or f"{first}{after}" not in known or f"{first}-{after}" in known:
            return str(match.group())
        return f"{after}{match['tail']}{match['break'] if match['space'] else ''}"

    joined: str = _CUT.sub(whole, text)
    return joined
