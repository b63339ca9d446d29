"""A chunk's context in its document, by rules or as a model states it.

By rules, from the document itself: the title, the path of headings above the chunk, and what
encloses it: in a program the class and the function it begins in, in a nested list the entries it
belongs to. Found by indentation, so no grammar is needed. Measured on 737 chunks of source code
with 124 questions, vectors alone, recall within 5: 0.746 without a context, 0.793 with this one. In
a prototype, 0.766 with only the enclosing lines, and 0.742 with an added list of what the document
defines. One question is 0.008.

With a model, the context is its answer, cleaned of what models say around it
(``situating_excerpts``: what it is shown).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import regex

from kb_project.llm.tokens import truncate_tokens
from kb_project.text.sentences import sentence_spans

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
    lines = [one_line(part) for part in parts if part.strip()]
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


def one_line(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


# --- by a model -----------------------------------------------------------------------------------
LONGEST_ANSWER: Final = 150
"""Tokens kept of an answer; the prompt asks for 50 to 100."""

_THOUGHT: Final = regex.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", regex.S | regex.I)
_FENCE: Final = regex.compile(r"^\s*(?:```|~~~)[\w-]*\s*$", regex.M)
_MARK: Final = regex.compile(r"</?(?:document|passage)\s*>", regex.I)
_LEAD: Final = regex.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)\b[^\n:]{0,80}[:!.,]\s*)?"
    r"(?:(?:here(?:'s| is| are)|the following is|this is the)\b[^\n:]{0,100}:\s*)?"
    r"(?:[*_#\s]*(?:context|answer|situating context)\b[*_\s]*:[*_\s]*)?",
    regex.I,
)
_STOPS: Final = ".!?。！？"
_QUOTES: Final = "\"'“”„«»`*_ "


def cleaned(answer: str, *, chunk: str) -> str:
    """The context in an answer as one line of plain text, or '' if there is none.

    An answer that only repeats the passage does not situate it.

    >>> cleaned('Here is the context: "From the log of 1848."', chunk="Ada rows.")
    'From the log of 1848.'
    """
    plain = _THOUGHT.sub(" ", answer.replace("\0", " "))
    plain = _MARK.sub(" ", _FENCE.sub(" ", plain)).strip()
    plain = " ".join(_LEAD.sub("", plain, count=1).split()).strip(_QUOTES)
    if not regex.search(r"\p{L}", plain) or plain in " ".join(chunk.split()):
        return ""
    return shortened(plain)


def shortened(line: str, most: int = LONGEST_ANSWER) -> str:
    """At most ``most`` tokens, cut after a sentence if one ends in the second half.

    >>> shortened("One is here. Two is there. Three.", most=8)
    'One is here. Two is there.'
    """
    kept = truncate_tokens(line, most)
    if kept == line:
        return line
    ends = [end for _, end in sentence_spans(kept) if kept[end - 1] in _STOPS]
    whole = kept[: ends[-1]].rstrip() if ends else ""
    return whole if len(whole) * 2 >= len(kept) else kept.rstrip() + "…"
