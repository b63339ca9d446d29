"""What a model is shown of a document to situate its passages, and what is kept of its answer.

Contextual Retrieval (Anthropic, 2024): the whole document comes first and is the same for all of
its passages, the passage comes last, so that a provider reads the document once and takes it from
its prefix cache for the others. Of a document that does not fit, the beginning is shown, and a
stretch around the passage; stretches are aligned to a grid, so neighbours share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.llm.tokens import token_starts, truncate_tokens
from kb_project.text.sentences import sentence_spans

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
