"""Finds sentence boundaries by rules, and splits texts into spans of whole sentences.

The boundaries are good enough for quoting and for choosing answers, in any language that ends
sentences with ``. ! ? …`` or their Chinese and Japanese forms. A blank line, a heading, a list
item, a table row and a line of code end a sentence too; a plain line break does not, since much
plain text is wrapped.

Sizes and overlaps of spans are in tokens (cl100k). Every span is trimmed of whitespace at both
ends, spans ascend, and together they cover every non-whitespace character of the text.

References to a page or a work belong to the sentence before: *[Op. Cit., p. 112]*, *Ibid.*
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

LONGEST_SENTENCE: Final = 1_500
"""Characters. Longer stretches without a full stop (tables, data, one 5 MB line) are cut."""

Span = tuple[int, int]

_CLOSING: Final = "\"'”’»)\\]」』）】》"
# *2.1* begins a clause behind a clause or a whole one; in prose that is wrapped, it is a version.
_CLAUSE: Final = r"\d{1,3}(?:\.\d{1,3}){1,4}\.?\s{1,4}"
ENTRY_NUMBER: Final = r"\(?(?:\d{1,3}|[a-z]|[ivx]{2,6})[.)]"
"""*2.*, *(b)*, *iv)* before the entry of a list."""
_ENTRY: Final = rf"{ENTRY_NUMBER}\s"
_BOUNDARY: Final = regex.compile(
    rf"""
      (?P<wide>[。！？；｡]+|…{{2,}})[{_CLOSING}。！？]*
    | (?P<spaced>\.(?:\s\.){{2,}})[{_CLOSING}]*
    | (?P<mark>[.!?…]+)[{_CLOSING}]*(?=\s|\Z)
    | (?P<blank>\n[^\S\n]*\n)
    | (?<=[;{{}}|])[^\S\n]*(?P<code>\n)
    | (?P<line>\n)(?=[^\S\n]*(?:[-*•‣–]\s|[#|>]|```|//|/\*))
    | (?P<entry>\n)(?=[^\S\n]*{_ENTRY})
    | (?P<clause>\n)(?=[^\S\n]*{_CLAUSE}\p{{Lu}})
      (?<=(?:[.;:,]|^[^\S\n]*(?:{_CLAUSE}|{_ENTRY})[^\n]{{1,300}})\n)
    """,
    regex.VERBOSE | regex.MULTILINE,
)


def _listed(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


# These never end a sentence.
_TITLES: Final = _listed(
    "mr mrs ms mm mme mlle dr prof st ste mt ft rev hon sen rep gov gen col capt lt sgt maj "
    "cmdr adm pres messrs fr vs viz cf fig figs eq eqs sec ch vol pp ed eds e.g i.e eg ie ca "
    "approx resp bzw z.b d.h"
)
# These end a sentence only before a word that usually begins one.
_SHORTENED: Final = _listed(
    "inc ltd co corp llc bros dept univ assn est jr sr esq etc al op ct a.m p.m a.d b.c ph.d m.d "
    "b.a m.a jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave "
    "blvd rd u.s u.k u.n e.u u.s.a d.c"
)
# Abbreviations only before a number: "No. 5", but "The answer is no."
_BEFORE_NUMBER: Final = frozenset({"no", "nos", "nr", "art", "p", "par", "pg", "cit", "ibid", "n"})
_STARTERS: Final = _listed(
    "The A An He She It They We You I In On At By For From This That These Those There His "
    "Her Its Their But And However After Before When While As If Since Although Later Then "
    "Both One"
)
_LAST_WORD: Final = regex.compile(r"[\p{L}\p{M}.]{1,12}$")
_NEXT_WORD: Final = regex.compile(r"\s*[\"'“‘«(\[]*([\p{L}\p{N}]+)?")
# A name that is never capitalised begins a sentence all the same: "crates.io has a limit."
_SMALL_NAME: Final = regex.compile(r"\s+\p{Ll}[\p{L}\p{N}-]*[._/][\p{L}\p{N}]")
# "p.m", "U.S", "Ph.D": abbreviations; "Node.js" and "Cargo.toml" are names.
_DOTTED: Final = regex.compile(r"(?:\p{L}{1,3}\.)+\p{L}{1,3}\.?")

_OPEN: Final = regex.compile(
    r"\b(?:may|can|could|must|shall|should|will|would|do|does|is|are|was|were|has|have|be|to|of|for|by|in"
    r"|with|from|that|which|who|if|when|either|and|or|not|the|an?|includ(?:es?|ing)|following)$",
    regex.IGNORECASE,
)
"""A word with which no sentence ends."""


def sentence_spans(text: str) -> list[Span]:
    """Return spans without surrounding whitespace, in order, none overlapping or empty.

    >>> text = "Dr. Who left at 3.15 p.m. on Monday. “Why?” asked J. Smith. 他走了。为什么？"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who left at 3.15 p.m. on Monday.', '“Why?” asked J. Smith.', '他走了。', '为什么？']
    """
    spans: list[Span] = []
    start = 0
    for end in _ends(text):
        spans.extend(_pieces(text, start, end))
        start = end
    return spans


def breaks_off(sentence: str) -> bool:
    """Whether it ends with a word with which no sentence ends.

    >>> breaks_off("Open the bill or"), breaks_off("Open the bill.")
    (True, False)
    """
    return _OPEN.search(sentence) is not None


def _ends(text: str) -> Iterator[int]:
    done = 0
    for match in _BOUNDARY.finditer(text):
        if match.start() < done:
            continue
        if match.lastgroup not in ("mark", "spaced"):
            yield match.end()
        elif _really_ends(text, match):
            yield match.end()
            # A reference after a sentence does not begin the next one.
            done = end_of_reference(text, match.end())
            yield done
    yield len(text)


def _really_ends(text: str, match: regex.Match[str]) -> bool:
    """Whether this ``.``, ``!`` or ``?`` ends a sentence, not an abbreviation or an omission."""
    if not (text[match.end() : match.end() + 1] or " ").isspace():
        return False
    following = _NEXT_WORD.match(text, match.end(), match.end() + 40)
    word = (following.group(1) or "") if following else ""
    if word[:1].islower() and not _SMALL_NAME.match(text, match.end()):
        return False
    if match.group("mark") != ".":
        return True
    before = _LAST_WORD.search(text, max(0, match.start() - 14), match.start())
    return before is None or _may_end(before.group(), word)


def _may_end(before: str, word: str) -> bool:
    """Whether a sentence may end after ``before.`` when ``word`` follows."""
    lowered = before.lower()
    if lowered in _TITLES:
        return False
    if lowered in _BEFORE_NUMBER and word[:1].isdigit():
        return False
    is_initial = len(before) == 1 and before.isupper()
    if lowered in _SHORTENED or is_initial or _DOTTED.fullmatch(before):
        return not word or word in _STARTERS
    return True


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the span trimmed of whitespace, cut if it is too long to quote."""
    while end - start > LONGEST_SENTENCE:
        cut = _cut(text, start)
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _cut(text: str, start: int) -> int:
    """Return a cut after the last line break in the second half of the longest piece, else the last
    space, else mid-word.
    """
    stop, half = start + LONGEST_SENTENCE, start + LONGEST_SENTENCE // 2
    for separator in ("\n", " "):
        found = text.rfind(separator, half, stop)
        if found != -1:
            return found + 1
    return stop


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    start, end = trim(text, start, end)
    if start < end:
        yield start, end


Offsets = NDArray[np.int64]

# A heading closes the chunk before it once that chunk is this full: short sections share a chunk,
# long ones start their own.
HEADING_BREAK_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece that is never cut: a sentence, or a window of an overlong one."""

    start: int
    end: int
    tokens: int
    opens_section: bool


def split_tokens(
    text: str, *, starts: Offsets, size: int, overlap: int, headings: Sequence[int]
) -> list[Span]:
    """Split into windows of whole sentences, at most ``size`` tokens, ``overlap`` tokens shared.

    ``starts`` are the character offsets of the text's tokens, ``headings`` those of its heading
    lines. A window that ends before a heading shares nothing with the next.
    """
    atoms = list(_atoms(text, starts, size, set(headings)))
    return list(_pack(atoms, size=size, overlap=min(overlap, size // 2)))


def split_sentences(text: str, *, starts: Offsets, size: int) -> list[Span]:
    """Split into sentences; one longer than ``size`` tokens into windows."""
    return [(atom.start, atom.end) for atom in _atoms(text, starts, size, set())]


def split_fixed(text: str, *, starts: Offsets, size: int, overlap: int) -> list[Span]:
    """Split into windows of exactly ``size`` tokens, regardless of sentences."""
    if not len(starts):
        return []
    step = max(1, size - min(overlap, size // 2))
    last = max(1, len(starts) - min(overlap, size // 2))
    spans = [
        trim(text, *_window(text, starts, first, first + size)) for first in range(0, last, step)
    ]
    return [span for span in spans if span[0] < span[1]]


def _pack(atoms: Sequence[Atom], *, size: int, overlap: int) -> Iterator[Span]:
    first, tokens = 0, 0
    for index, atom in enumerate(atoms):
        at_heading = atom.opens_section and tokens >= size * HEADING_BREAK_SHARE
        if index > first and (at_heading or tokens + atom.tokens > size):
            yield atoms[first].start, atoms[index - 1].end
            first = index if at_heading else _step_back(atoms, first, index, overlap, size)
            tokens = sum(kept.tokens for kept in atoms[first:index])
        tokens += atom.tokens
    if atoms:
        yield atoms[first].start, atoms[-1].end


def _step_back(atoms: Sequence[Atom], first: int, index: int, overlap: int, size: int) -> int:
    """Return where the next window begins: whole sentences before ``index``, within the overlap."""
    room = min(overlap, size - atoms[index].tokens)
    start = index
    while start - 1 > first and atoms[start - 1].tokens <= room:
        start -= 1
        room -= atoms[start].tokens
        if atoms[start].opens_section:
            break
    return start


def _atoms(text: str, starts: Offsets, size: int, headings: set[int]) -> Iterator[Atom]:
    marks = sorted(headings)
    before = 0
    for start, end in sentence_spans(text):
        mark = bisect_left(marks, before)
        opens = mark < len(marks) and marks[mark] < end
        before = end
        first, last = token_range(starts, start, end)
        if last - first <= size:
            yield Atom(start, end, last - first, opens)
            continue
        for window in range(first, last, size):
            a, b = _window(text, starts, window, min(window + size, last))
            a, b = trim(text, max(a, start), min(b, end))
            if a < b:
                yield Atom(a, b, min(size, last - window), opens and window == first)


def token_range(starts: Offsets, start: int, end: int) -> tuple[int, int]:
    """Return the tokens that a span touches, as a half-open range.

    A word's token includes the space before it, so the first one may begin before the span.
    """
    first = int(starts.searchsorted(start, side="right")) - 1
    return max(first, 0), int(starts.searchsorted(end))


def _window(text: str, starts: Offsets, first: int, last: int) -> Span:
    """Return the character span of the tokens from ``first`` up to ``last``."""
    return int(starts[first]), int(starts[last]) if last < len(starts) else len(text)


def trim(text: str, start: int, end: int) -> Span:
    """Narrow a stretch to what it holds without space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# --- references -----------------------------------------------------------------------------------
_AGAIN: Final = r"(?i:(?:op|loc)\.?\s*cit|ibid(?:em)?)\b\.?"
_PAGE: Final = r"(?i:pp?|pg)\b\.?\s?(?:\d+|[ivxlc]+\b)(?:\s?[-–]\s?[\divxlc]+)?f{0,2}\.?"
_BRACKETED: Final = rf"\[[^\[\]]{{0,200}}?\b(?:{_AGAIN}|{_PAGE})\]"
_NAMES: Final = r"(?:(?i:see|cf)\b\.?\s+)?(?:\p{Lu}[\p{L}.'’-]*[,\s]+){0,5}"
_PAGES: Final = rf"(?:[,;\s]+(?:and\s+|&\s+)?(?:{_PAGE}|\d+))*"
_REFERENCE: Final = regex.compile(
    rf"\W*(?:{_BRACKETED}|[(\[]?{_NAMES}{_AGAIN}{_PAGES})[\W]*",
)
_AFTER_SENTENCE: Final = regex.compile(rf"\s+{_BRACKETED}(?=\s|$)")
_ABBREVIATION: Final = regex.compile(rf"{_AGAIN}|Op\.?|[Cc]it\.?")


def is_reference(text: str) -> bool:
    """Whether a text only refers to a page or a work.

    >>> [is_reference(one) for one in ("[Op. Cit., p. 112]", "Ibid., pp. 3-4.", "[Anarchy, p. 34]")]
    [True, True, True]
    >>> is_reference("Byock, Op. Cit., says it was lit."), is_reference("It is on p. 112.")
    (False, False)
    """
    return _REFERENCE.fullmatch(text) is not None


def end_of_reference(text: str, start: int) -> int:
    """Return the end of a reference in brackets right after a sentence's end, else ``start``."""
    found = _AFTER_SENTENCE.match(text, start, start + 300)
    return found.end() if found else start


def is_reference_word(surface: str) -> bool:
    """Whether a name is only an abbreviation of references.

    >>> is_reference_word("Op. Cit"), is_reference_word("Cit"), is_reference_word("Citadel")
    (True, True, False)
    """
    return _ABBREVIATION.fullmatch(surface) is not None


_PRONOUN: Final = regex.compile(
    r"\W{0,3}(?:(?:he|she|it|they|his|her|its|their|this|these|those|both|such)\b|[他她它这其])",
    regex.IGNORECASE,
)


def begins_with_pronoun(sentence: str) -> bool:
    """Whether it begins with a word for what the sentence before it is about.

    >>> [begins_with_pronoun(one) for one in ("It was lit.", "Its lens.", "But it burned.")]
    [True, True, False]
    """
    return _PRONOUN.match(sentence) is not None
