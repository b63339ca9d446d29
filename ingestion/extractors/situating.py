"""A chunk's context in its document, by rules or as a model states it.

By rules, from the document itself: the title, the path of headings above the chunk, and what
encloses it: in a program the class and the function it begins in, in a nested list the entries it
belongs to. Found by indentation, so no grammar is needed. Measured on 737 chunks of source code
with 124 questions, vectors alone, recall within 5: 0.746 without a context, 0.793 with this one. In
a prototype, 0.766 with only the enclosing lines, and 0.742 with an added list of what the document
defines. One question is 0.008.

With a model, as in Contextual Retrieval (Anthropic, 2024): the whole document comes first and is
the same for all of its passages, the passage comes last, so that a provider reads the document once
and takes it from its prefix cache for the others. Of a document that does not fit, the beginning is
shown, and a stretch around the passage; stretches are aligned to a grid, so neighbours share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.llm.tokens import token_starts, truncate_tokens
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


# --- by a model -----------------------------------------------------------------------------------
LONGEST_ANSWER: Final = 150
"""Tokens kept of an answer; the prompt asks for 50 to 100."""
LONGEST_PASSAGE: Final = 2_000
"""Tokens shown of a passage: of a longer one, the beginning."""
PROMPT_TOKENS: Final = 250
"""Tokens of the prompt around document and passage, with a margin."""
SAFE_SHARE: Final = 0.85
"""Share of the input limit to use: tokens are counted with one vocabulary, models have many."""
BEGINNING_SHARE: Final = 0.2
"""Share of the room given to the beginning of a document that does not fit."""
_GAP: Final = "\n\n[…]\n\n"

_THOUGHT: Final = regex.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", regex.S | regex.I)
_FENCE: Final = regex.compile(r"^\s*(?:```|~~~)[\w-]*\s*$", regex.M)
_MARK: Final = regex.compile(r"</?(?:document|passage)\s*>", regex.I)
_MARK_BEGINS: Final = regex.compile(r"<(/?)(?=(?:document|passage)\b)", regex.I)
_LEAD: Final = regex.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)\b[^\n:]{0,80}[:!.,]\s*)?"
    r"(?:(?:here(?:'s| is| are)|the following is|this is the)\b[^\n:]{0,100}:\s*)?"
    r"(?:[*_#\s]*(?:context|answer|situating context)\b[*_\s]*:[*_\s]*)?",
    regex.I,
)
_STOPS: Final = ".!?。！？"
_QUOTES: Final = "\"'“”„«»`*_ "


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a document, in characters; ``start`` is 0 when it is the whole."""

    start: int
    end: int


def prefixes(text: str, spans: Sequence[tuple[int, int]], *, limit: int) -> list[str]:
    """The part of the document shown for each span: at most ``limit`` tokens, shared by neighbours.

    ``limit`` is the model's input limit, including passage and prompt.
    """
    starts = token_starts(text)
    room = max(0, int(limit * SAFE_SHARE) - PROMPT_TOKENS - _longest(starts, spans))
    if len(starts) <= room:
        return [text] * len(spans)
    beginning = text[: _offset(starts, text, int(room * BEGINNING_SHARE))]
    size = room - int(room * BEGINNING_SHARE)
    windows = [window_around(text, starts, span, size=size) for span in spans]
    return [_shown(text, beginning, window) for window in windows]


def window_around(
    text: str, starts: NDArray[np.int64], span: tuple[int, int], *, size: int
) -> Window:
    """The stretch of ``size`` tokens, on a half-size grid, with the span nearest its middle."""
    step = max(1, size // 2)
    first, last = np.searchsorted(starts, span)
    place = max(0, round(((int(first) + int(last)) / 2 - size / 2) / step))
    last_place = max(0, -(-(len(starts) - size) // step))
    begin = min(place, last_place) * step
    return Window(_offset(starts, text, begin), _offset(starts, text, begin + size))


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


def passage(chunk: str) -> str:
    """The part shown of the passage itself."""
    return truncate_tokens(chunk, LONGEST_PASSAGE)


def without_marks(text: str) -> str:
    """The text without look-alikes of the marks around document and passage.

    >>> without_marks("Ada </passage> Lind")
    'Ada </ passage> Lind'
    """
    return str(_MARK_BEGINS.sub(r"<\1 ", text))


def _longest(starts: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> int:
    if not spans:
        return 0
    edges = np.searchsorted(starts, np.asarray(spans))
    return min(LONGEST_PASSAGE, int((edges[:, 1] - edges[:, 0]).max()))


def _offset(starts: NDArray[np.int64], text: str, token: int) -> int:
    return int(starts[token]) if token < len(starts) else len(text)


def _shown(text: str, beginning: str, window: Window) -> str:
    if window.start <= len(beginning):
        return text[: max(window.end, len(beginning))]
    return beginning + _GAP + text[window.start : window.end]
