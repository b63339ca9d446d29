"""Filter an answer's text as it streams in, dropping citation markers that do not hold.

Text that may become a marker is held back until it is decided. The result is the same however the
text is split into pieces. Brackets inside code, addresses or links are text, never citations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final, Protocol

import regex

from retrieval.answering.citations.labels import FOREIGN, kind_of, labels_in

LONGEST: Final = 240
"""In characters: a longer bracket, code span or link address is not waited for."""
LONGEST_LINE: Final = 5_000
"""Characters in a line of fenced code; a longer line is passed on in parts."""
REMEMBERED: Final = 1_200

_OPENERS: Final = "[【［"
_CLOSERS: Final = "]】］"
_PLAIN: Final = regex.compile(r"[^\[【［(（\\`\s]+")
_SPACE: Final = regex.compile(r"[^\S\n]+")
_TICKS: Final = regex.compile(r"`+")
_FENCE: Final = regex.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_MAY_BE_FENCE: Final = regex.compile(
    r" {0,3}(?:`*|~*)|`{3,}[^`]*|~{3,}.*| {1,3}(?:`{3,}[^`]*|~{3,}.*)"
)
_TARGET: Final = regex.compile(
    r"\(\s*(?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"\n]*\")?\s*\)"
)
_ADDRESS: Final = regex.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"'`”»]*$", regex.IGNORECASE
)
_AFTER_ADDRESS: Final = frozenset(".,;:!?…)，。；：！？、）")
_CLOSES_UP: Final = regex.compile(r"[\s.,;:!?…)\]}。，；：！？、）】”»]")
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")
_ASIDE: Final = regex.compile(
    r"[(（]\s*(?:(?:see(?: also)?|cf|compare|sources?|refs?|per|from|siehe|vgl|quellen?|voir|véase"
    r"|参见|参看|见|来源)[.:：]?\s*)?"
    r"(?:(?P<bracket>[\[【［][^\[\]【】［］\n]{0,240}[\]】］])(?:[\s,;、，；]|and|und|et|和)*)+[)）]",
    regex.IGNORECASE,
)
"""Nothing but markers in round brackets: without its markers, it says nothing."""


class Labels(Protocol):
    """The labels the model was given to cite."""

    @property
    def kinds(self) -> frozenset[str]:
        """Letters of the available labels; '' for passages."""

    def numbers(self, label: str, said: str) -> tuple[int, ...]:
        """Return the numbers of the passages behind a label, none if the label does not exist.

        ``said`` ends with the sentence before the label. 0 is general knowledge.
        """


@dataclass(slots=True)
class Counts:
    """Counts of markers by what became of them."""

    kept: int = 0
    invented: int = 0
    repeated: int = 0
    foreign: int = 0
    misplaced: int = 0

    def as_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Placed:
    """A valid marker, from ``start`` to ``end`` in the filtered text."""

    start: int
    end: int
    number: int


class MarkerFilter:
    """``text`` is all the output so far, with its markers at ``placed``."""

    def __init__(self, labels: Labels) -> None:
        self.text = ""
        self.placed: list[Placed] = []
        self.counts = Counts()
        self._labels = labels
        self._is_all = False
        self._held = ""
        self._space = ""
        self._fence = ""
        self._has_dropped = False
        self._ignores_space = False
        self._is_at_line_start = True
        self._has_said = False
        self._group: set[int] = set()

    def feed(self, piece: str) -> str:
        """Take in ``piece`` and return what may be shown now."""
        self._held += piece
        return self._run()

    def close(self) -> str:
        """End the input and return what was held back."""
        self._is_all = True
        return self._run()

    def _run(self) -> str:
        before, at = len(self.text), 0
        while at < len(self._held):
            taken = self._step(self._held[at : at + 2 * LONGEST_LINE])
            if not taken:
                break
            at += taken
        self._held = self._held[at:]
        return self.text[before:]

    def _step(self, rest: str) -> int:
        """Return how many characters were consumed, 0 if more input is needed."""
        if self._fence:
            return self._inside_fence(rest)
        if self._is_at_line_start:
            taken = self._fence_begins(rest)
            if taken is not None:
                return taken
            self._is_at_line_start = False
        first = rest[0]
        if first == "`":
            return self._code(rest)
        if first in _OPENERS:
            return self._bracket(rest, "")
        if first in "(（" and (taken := self._aside(rest)) is not None:
            return taken
        if first == "\\":
            return self._escape(rest)
        return self._ordinary(rest)

    def _ordinary(self, rest: str) -> int:
        if rest[0] == "\n":
            self._is_at_line_start = True
            return self._emit("\n")
        if spaces := _SPACE.match(rest):
            if not self._ignores_space:
                self._space += spaces.group()
            return len(spaces.group())
        plain = _PLAIN.match(rest)
        return self._emit(plain.group() if plain else rest[0])

    def _aside(self, rest: str) -> int | None:
        """Drop an aside of markers of which none holds; None for any other bracket."""
        found = _ASIDE.match(rest[:LONGEST], partial=True)
        if found is None or self._is_in_address():
            return None
        if found.partial:
            return None if self._is_all or len(rest) >= LONGEST else 0
        listed = [labels_in(bracket) for bracket in found.captures("bracket")]
        labels = [label for found_labels in listed for label in found_labels or ()]
        if None in listed or any(map(self._holds, labels)):
            return None
        for label in labels:
            self._holding(label)
        self._has_dropped, self._ignores_space = True, bool(self._space)
        return int(found.end())

    def _holds(self, label: str) -> bool:
        """Whether the label would be placed here."""
        if not self._has_said or label == FOREIGN or kind_of(label) not in self._labels.kinds:
            return False
        numbers = self._labels.numbers(label, self.text[-REMEMBERED:])
        return any(number not in self._group for number in numbers)

    def _escape(self, rest: str) -> int:
        """A backslash keeps a backtick from starting code, but does not protect a bracket."""
        if len(rest) == 1:
            return self._emit(rest) if self._is_all else 0
        if rest[1] in _OPENERS:
            return self._bracket(rest, "\\")
        return self._emit(rest[:1] if rest[1].isspace() else rest[:2])

    def _fence_begins(self, rest: str) -> int | None:
        """Return None if no code fence begins in this line."""
        line, newline, _ = rest.partition("\n")
        if not newline and not self._is_all:
            may_be = _MAY_BE_FENCE.fullmatch(line) and len(line) <= LONGEST
            return 0 if may_be else None
        found = _FENCE.match(line)
        if found is None or len(line) > LONGEST:
            return None
        self._fence = found.group(1)
        return self._emit(line + newline, is_code=True)

    def _inside_fence(self, rest: str) -> int:
        line, newline, _ = rest.partition("\n")
        if len(line) > LONGEST_LINE:
            return self._emit(line[:LONGEST_LINE], is_code=True)
        if not newline and not self._is_all:
            return 0
        end = line.strip()
        if len(end) >= len(self._fence) and set(end) == {self._fence[0]}:
            self._fence = ""
            self._is_at_line_start = True
        return self._emit(line + newline, is_code=True)

    def _code(self, rest: str) -> int:
        """Consume code between backticks on one line; unclosed backticks are text."""
        ticks = len(_TICKS.match(rest).group())
        line, newline, _ = rest.partition("\n")
        ends = [run.span() for run in _TICKS.finditer(line, ticks)]
        for start, end in ends:
            is_last = end == len(line) and not newline and not self._is_all
            if is_last or end > LONGEST:
                break
            if end - start == ticks:
                return self._emit(rest[:end], is_code=True)
        if not newline and not self._is_all and len(line) <= LONGEST:
            return 0
        return self._emit(rest[:ticks])

    def _bracket(self, rest: str, escape: str) -> int:
        start = len(escape)
        end = _closing(rest, start)
        if end == 0 and not self._is_all:
            return 0
        if end <= 0:
            return self._emit(rest[: start + 1])
        found = labels_in(rest[start:end])
        if self._is_in_address():
            self.counts.misplaced += len(found or ())
            return self._emit(rest[: start + 1])
        target = _target(rest[end : end + LONGEST], is_all=self._is_all)
        if target is None:
            return 0
        if target:
            self.counts.misplaced += len(found or ())
            return self._emit(rest[: end + target], is_code=True)
        if found is None:
            return self._emit(rest[: start + 1])
        self._mark(found)
        return end

    def _is_in_address(self) -> bool:
        if self._space:
            return False
        found = _ADDRESS.search(self.text[-REMEMBERED:])
        return found is not None and self.text[-1] not in _AFTER_ADDRESS

    def _mark(self, labels: list[str]) -> None:
        numbers: list[int] = []
        for label in labels:
            numbers += self._holding(label)
        if not numbers:
            # Keep only one of the two spaces around it.
            self._has_dropped = True
            self._ignores_space = bool(self._space)
        for number in numbers:
            self._place(number)

    def _holding(self, label: str) -> list[int]:
        """Return the label's numbers that are valid here; count the others."""
        if not self._has_said:
            self.counts.misplaced += 1
            return []
        if label == FOREIGN or kind_of(label) not in self._labels.kinds:
            self.counts.foreign += 1
            return []
        found = self._labels.numbers(label, self.text[-REMEMBERED:])
        fresh = [number for number in found if number not in self._group]
        self.counts.invented += not found
        self.counts.repeated += bool(found) and not fresh
        self.counts.kept += bool(fresh)
        self._group.update(fresh)
        return fresh

    def _place(self, number: int) -> None:
        self.text += self._space
        self._forget_space()
        start = len(self.text)
        self.text += f"[{number or 'G'}]"
        self.placed.append(Placed(start, len(self.text), number))

    def _forget_space(self) -> None:
        self._space, self._has_dropped, self._ignores_space = "", False, False

    def _emit(self, text: str, *, is_code: bool = False) -> int:
        closes_up = self._has_dropped and _CLOSES_UP.match(text)
        if self.text and not closes_up:
            self.text += self._space
        self._forget_space()
        self.text += text
        if _WORD.search(text):
            self._group.clear()
            self._has_said = True
        if is_code and text.endswith("\n"):
            self._is_at_line_start = True
        return len(text)


def _closing(text: str, start: int) -> int:
    """Return the index after the bracket that closes the one at ``start``, 0 if it may still come,
    -1 if it cannot."""
    depth = 0
    for index in range(start, min(len(text), start + LONGEST)):
        character = text[index]
        if character == "\n":
            return -1
        depth += (character in _OPENERS) - (character in _CLOSERS)
        if depth == 0:
            return index + 1
    return 0 if len(text) < start + LONGEST else -1


def _target(after: str, *, is_all: bool) -> int | None:
    """Return the length of the address in round brackets that makes a link, None if more input is
    needed."""
    if not after:
        return 0 if is_all else None
    if after[0] != "(":
        return 0
    found = _TARGET.match(after, partial=True)
    if found and not found.partial:
        return int(found.end())
    may_come = found and not is_all and len(after) < LONGEST
    return None if may_come else 0
