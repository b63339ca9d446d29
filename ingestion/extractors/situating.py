"""A chunk's context in its document, in a line or two, taken from the document itself.

The title, the path of headings above the chunk, and what encloses it: in a program the class and
the function it begins in, in a nested list the entries it belongs to. Found by indentation, so no
grammar is needed. Measured on 737 chunks of source code with 124 questions, vectors alone, recall
within 5: 0.746 without a context, 0.793 with this one. In a prototype, 0.766 with only the
enclosing lines, and 0.742 with an added list of what the document defines. One question is 0.008.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import regex

LONGEST_CONTEXT: Final = 400
"""Characters: a context must not drown out its chunk."""
_LONGEST_LINE: Final = 120
_MOST_ENCLOSING: Final = 4
_LOOK_BACK: Final = 20_000
"""Characters searched for what encloses a chunk."""

_FIRST_LINE: Final = regex.compile(r"[ \t]*\S")
# A closing bracket, a comment, an annotation or a label ("public:") does not enclose anything.
_NO_OWNER: Final = regex.compile(r"[)\]}>*#@/|]|--|\w+\s*:$|(?:else|try|finally|do)\b")
_WORD: Final = regex.compile(r"\p{L}{3}|\p{Han}")

Heading = tuple[int, str, int]
"""Level (1 is the highest), title, and start offset."""


def situate(text: str, *, title: str, headings: Sequence[Heading], start: int, end: int) -> str:
    """The context of ``text[start:end]``: at most 400 characters, one line for each part.

    Headings at the chunk's own start are left out, since the chunk contains them.
    """
    path = [name for _, name, _ in heading_path(headings, start)]
    parts = [title, " › ".join(path), *enclosing(text, start, end)]
    lines = [_short(part) for part in parts if part.strip()]
    return "\n".join(dict.fromkeys(lines))[:LONGEST_CONTEXT]


def heading_path(headings: Sequence[Heading], start: int) -> list[Heading]:
    """The headings above ``start``, outermost first."""
    path: list[Heading] = []
    for heading in headings:
        if heading[2] >= start:
            break
        while path and path[-1][0] >= heading[0]:
            path.pop()
        path.append(heading)
    return path


def enclosing(text: str, start: int, end: int) -> list[str]:
    """The lines above the chunk that enclose its first line by indentation, outermost first."""
    line_start = text.rfind("\n", 0, start) + 1
    level = _indent_at(text, line_start, end)
    found: list[str] = []
    for line in _lines_before(text, line_start):
        if not level or len(found) == _MOST_ENCLOSING:
            break
        stripped = line.strip()
        indent = len(line) - len(line.lstrip(" \t"))
        if indent >= level or _NO_OWNER.match(stripped):
            continue
        if _WORD.search(stripped[:_LONGEST_LINE]):
            level = indent
            found.append(stripped)
    return found[::-1]


def _indent_at(text: str, line_start: int, end: int) -> int:
    """The indent of the first non-blank line."""
    position = line_start
    while position < end:
        match = _FIRST_LINE.match(text, position, end)
        if match:
            return int(match.end()) - int(match.start()) - 1
        line_end = text.find("\n", position, end)
        if line_end == -1:
            break
        position = line_end + 1
    return 0


def _lines_before(text: str, position: int) -> Iterator[str]:
    """Lines that end before ``position``, the nearest first."""
    stop = max(0, position - _LOOK_BACK)
    while position > stop:
        line_start = text.rfind("\n", 0, position - 1) + 1
        yield text[max(line_start, position - _LOOK_BACK) : position - 1]
        position = line_start


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
