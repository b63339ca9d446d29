"""Which stretch of a long text is shown at once."""

from __future__ import annotations

from dataclasses import dataclass

SNAP = 600
"""Characters within which a cut is moved to the nearest line break."""


@dataclass(frozen=True, slots=True)
class Window:
    """``earlier`` and ``later``: where the stretches before and after begin, if there are any."""

    start: int
    end: int
    earlier: int | None
    later: int | None


def window_of(text: str, *, span: tuple[int, int] | None, begin: int, length: int) -> Window:
    """About ``length`` characters of ``text`` around ``span``, else from ``begin`` on.

    >>> window_of("abc", span=None, begin=0, length=10)
    Window(start=0, end=3, earlier=None, later=None)
    """
    if len(text) <= length * 1.5:
        return Window(0, len(text), None, None)
    first = begin if span is None else max(0, span[0] - length // 2)
    at = min(max(0, first), len(text) - 1)
    start = _snap_back(text, at)
    # Counted from where was asked for, not from the snapped start: so the stretch before this one
    # always reaches up to it, and the one after always goes further.
    least = at + length if span is None else max(at + length, span[1])
    end = _snap_forward(text, least)
    return Window(
        start=start,
        end=end,
        earlier=max(0, start - length) if start > 0 else None,
        later=end if end < len(text) else None,
    )


def _snap_back(text: str, at: int) -> int:
    """The beginning of the line, where it is near; a line may be the whole file."""
    if at == 0:
        return 0
    return max(text.rfind("\n", max(0, at - SNAP), at) + 1, 0) or at


def _snap_forward(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    found = text.find("\n", at, at + SNAP)
    return at if found < 0 else found + 1
