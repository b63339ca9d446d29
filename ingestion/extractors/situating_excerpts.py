"""What a model is shown of a document to situate its passages, and how many tokens that takes.

As in Contextual Retrieval (Anthropic, 2024), the document comes first and is the same for all of
its passages, the passage comes last: a provider reads the document once and takes it from its
prefix cache for the others. A document of more than ``WHOLE`` tokens is shown as an outline (title,
headings, names in full, and opening: the same for all passages) and the stretch around the passage;
stretches are aligned to a grid, so that neighbours share one. ``benchmarks/situating.py`` has the
figures behind the sizes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from ingestion.extractors.situating import Heading, heading_path, one_line
from kb_project.llm.openai_client import from_cache
from kb_project.llm.tokens import count_tokens, token_starts, truncate_tokens

WHOLE: Final = 8_000
"""Tokens up to which a document is shown whole."""
OUTLINE: Final = 1_200
"""Tokens of a longer one's outline: with the prompt's system part enough for a prefix cache."""
HEADINGS: Final = 400
"""Most tokens of an outline that are headings."""
NAMES: Final = 500
"""Most tokens of an outline that are names: a passage says *Scrooge* or *the Union* for those that
the document gives in full elsewhere."""
NEAR: Final = 2_400
"""Tokens of the stretch around a passage."""
LONGEST_PASSAGE: Final = 2_000
"""Tokens shown of a passage: of a longer one, the beginning."""
PROMPT_TOKENS: Final = 250
"""Tokens of the prompt around document and passage, with a margin."""
SYSTEM_TOKENS: Final = 78
"""Tokens before the document."""
SAFE_SHARE: Final = 0.85
"""Share of the input limit to use: tokens are counted with one vocabulary, models have many."""
OUTLINE_SHARE: Final = 0.3
"""Most of a small window's room that the outline takes."""
GAP: Final = "\n\n[…]\n\n"
_FULL_NAME: Final = regex.compile(r"\b\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)+\b")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown for one passage: ``common`` to all of the document's passages, and the part
    ``near`` it, which is empty if the document is shown whole.
    """

    common: str
    near: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a document, in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Tokens of a document's prompts; ``cached`` of them are in a provider's prefix cache."""

    sent: int
    cached: int


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Tokens shown of a document; with ``near`` 0, all of it."""

    outline: int
    near: int

    @property
    def step(self) -> int:
        return max(1, self.near // 2)


def excerpts(
    text: str,
    spans: Sequence[tuple[int, int]],
    *,
    title: str,
    headings: Sequence[Heading],
    limit: int,
) -> list[Excerpt]:
    """Return what is shown for each span; ``limit`` is the model's input limit, including passage
    and prompt.
    """
    starts = token_starts(text)
    sizes = _sizes(len(starts), _longest(starts, spans), limit)
    if sizes is None:
        return [Excerpt(text)] * len(spans)
    listed = _listed(headings, most=min(HEADINGS, sizes.outline // 3))
    names = full_names(text, most=min(NAMES, sizes.outline // 2))
    rest = sizes.outline - count_tokens(listed) - count_tokens(names)
    opening = text[: _offset(starts, text, rest)]
    shown_title = "" if title in opening else title
    common = GAP.join(part for part in (shown_title, listed, names, opening) if part)
    return [
        Excerpt(common, _near(text, len(opening), window, headings))
        for window in (window_around(text, starts, span, size=sizes.near) for span in spans)
    ]


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


def full_names(text: str, *, most: int) -> str:
    """The names of several words, the most frequent first, as far as ``most`` tokens go.

    >>> full_names("Bob Cratchit met Ebenezer Scrooge. Bob Cratchit bowed.", most=20)
    'Bob Cratchit, Ebenezer Scrooge'
    """
    counted = Counter(_FULL_NAME.findall(text)).most_common()
    listed = ", ".join(name for name, _ in counted)
    kept = truncate_tokens(listed, most)
    return kept if kept == listed else kept.rpartition(", ")[0]


def passage(chunk: str) -> str:
    """The part shown of the passage itself."""
    return truncate_tokens(chunk, LONGEST_PASSAGE)


def prompt_tokens(tokens: float, passages: float, *, limit: int) -> PromptTokens:
    """Estimate the tokens of all prompts that situate a document of so many tokens and passages.

    A document of one passage is not asked about.

    >>> prompt_tokens(6_000, 10, limit=16_000), prompt_tokens(38_000, 60, limit=16_000)
    (PromptTokens(sent=68500, cached=54144), PromptTokens(sent=269000, cached=138496))
    """
    if passages <= 1:
        return PromptTokens(0, 0)
    each = min(LONGEST_PASSAGE, tokens / passages)
    sizes = _sizes(tokens, each, limit)
    if sizes is None:
        shown, again = tokens, (passages - 1) * from_cache(SYSTEM_TOKENS + tokens)
    else:
        shown = sizes.outline + sizes.near
        windows = min(passages, 1 + math.ceil(max(0, tokens - sizes.near) / sizes.step))
        again = (passages - windows) * from_cache(SYSTEM_TOKENS + shown)
        again += (windows - 1) * from_cache(SYSTEM_TOKENS + sizes.outline)
    return PromptTokens(round(passages * (PROMPT_TOKENS + shown + each)), round(again))


def _sizes(tokens: float, longest: float, limit: int) -> _Sizes | None:
    """Return the sizes of outline and stretch; None for a document that is shown whole."""
    room = max(0, int(limit * SAFE_SHARE) - PROMPT_TOKENS - math.ceil(longest))
    if tokens <= min(room, WHOLE):
        return None
    outline = min(OUTLINE, int(room * OUTLINE_SHARE))
    return _Sizes(outline, min(NEAR, room - outline))


def _listed(headings: Sequence[Heading], *, most: int) -> str:
    """The headings, one a line, as deep as ``most`` tokens allow."""
    for deepest in sorted({level for level, _, _ in headings}, reverse=True):
        listed = _lines([heading for heading in headings if heading[0] <= deepest])
        if count_tokens(listed) <= most:
            return listed
    widest = _lines([h for h in headings if h[0] == min(level for level, _, _ in headings)])
    return truncate_tokens(widest, most).rpartition("\n")[0]


def _lines(headings: Sequence[Heading]) -> str:
    return "\n".join(f"{'#' * level} {one_line(title)}" for level, title, _ in headings)


def _near(text: str, opening: int, window: Window, headings: Sequence[Heading]) -> str:
    """The stretch under its headings; the opening goes on where it reaches the stretch."""
    if window.start <= opening:
        return text[opening : window.end]
    path = _lines(heading_path(headings, window.start))
    return GAP + (f"{path}\n\n" if path else "") + text[window.start : window.end]


def _longest(starts: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> int:
    if not spans:
        return 0
    edges = np.searchsorted(starts, np.asarray(spans))
    return min(LONGEST_PASSAGE, int((edges[:, 1] - edges[:, 0]).max()))


def _offset(starts: NDArray[np.int64], text: str, token: int) -> int:
    return int(starts[token]) if 0 <= token < len(starts) else len(text) if token > 0 else 0
