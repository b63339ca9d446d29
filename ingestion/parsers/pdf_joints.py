"""Choose what joins two lines of a PDF page: nothing, a space, a new line, a new paragraph."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median
from typing import Final

from ingestion.parsers.pdf_lines import ENTRY, Line

_ENDS: Final = ".!?:;。！？：；…”\"'’)"
_CJK: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S*\Z")
# Measured on reports, papers and letters: lines of one paragraph are up to 1.3 times the usual
# distance apart, and text in another size differs by a sixth or more.
_WIDER_GAP: Final = 1.35
_OTHER_SIZE: Final = 1.16
_SAME_ROW: Final = 0.3
_INDENT: Final = 0.8
_SHORT_LINE: Final = 0.85


def usual_distance(lines: list[Line]) -> float:
    """The distance between two lines of running text on this page, 0 if there is none."""
    distances = [
        distance
        for upper, lower in pairwise(lines)
        if _SAME_ROW * upper.size
        < (distance := upper.bottom - lower.first_bottom)
        < 2.2 * max(upper.size, 1)
    ]
    return median(distances) if distances else 0.0


def right_edges(lines: list[Line]) -> dict[int, float]:
    """How far lines with the same left edge reach: a column's right border."""
    edges: dict[int, float] = {}
    for line in lines:
        column = round(line.left / 12)
        for near in (column - 1, column, column + 1):
            edges[near] = max(edges.get(near, 0.0), line.right)
    return edges


def joint(upper: Line, lower: Line, usual: float, edges: dict[int, float]) -> str:
    """A space (nothing in Chinese), a new line, or a new paragraph."""
    distance = upper.bottom - lower.first_bottom
    is_near = 0 < distance <= _WIDER_GAP * usual
    if upper.labels is not None or lower.labels is not None:
        return _joint_of_rows(upper, lower)
    if is_near and lower.text[:1].islower() and _ADDRESS.search(upper.text):
        return ""
    if _other_size(upper, lower) and not (is_near and _is_mixed(upper, lower)):
        return "\n\n"
    if abs(distance) < _SAME_ROW * upper.size:
        return " "
    if distance < 0:
        return _joint_of_columns(upper, lower)
    if upper.is_code or lower.is_code:
        return _joint_at_code(upper, lower, edges, is_near=is_near)
    if 0 < _WIDER_GAP * usual < distance:
        return "\n\n"
    return _joint_in_block(upper, lower, edges)


def _joint_of_rows(upper: Line, lower: Line) -> str:
    if upper.labels is None or lower.labels is None:
        return "\n\n"
    if lower.continues:
        return _space(upper, lower)
    return "\n" if upper.bottom > lower.first_bottom else "\n\n"


def _joint_of_columns(upper: Line, lower: Line) -> str:
    """Between the end of a column and the top of the next."""
    # A sentence does not go on after a page number.
    is_body = any(map(str.isalpha, upper.text))
    flows = is_body and _flows_on(upper, lower) and _is_open(upper)
    return _space(upper, lower) if flows else "\n\n"


def _joint_at_code(upper: Line, lower: Line, edges: dict[int, float], *, is_near: bool) -> str:
    if upper.is_code and lower.is_code:
        return "\n" if is_near else "\n\n"
    # A sentence may end in a name set like code, on a line of its own.
    is_full = upper.right - upper.left >= _SHORT_LINE * _reach(upper, edges)
    return _space(upper, lower) if is_near and _is_open(upper) and is_full else "\n\n"


def _joint_in_block(upper: Line, lower: Line, edges: dict[int, float]) -> str:
    if ENTRY.match(lower.text):
        return "\n"
    indent = lower.left - upper.left
    if indent > _INDENT * lower.size and not ENTRY.match(upper.text):
        return "\n\n" if upper.text[-1] in _ENDS else _space(upper, lower)
    reach = _reach(upper, edges)
    is_short = reach > 0 and upper.right - upper.left < _SHORT_LINE * reach
    if is_short and not lower.text[:1].islower():
        return "\n"
    return _space(upper, lower)


def _reach(line: Line, edges: dict[int, float]) -> float:
    """The greatest width of a line that begins where this one does."""
    return edges.get(round(line.left / 12), line.right) - line.left


def _is_open(line: Line) -> bool:
    """Whether a line ends in the middle of a sentence."""
    return line.text[-1] not in _ENDS


def _is_mixed(upper: Line, lower: Line) -> bool:
    """Whether one of them is just a name set like code, in the middle of a sentence."""
    is_one_code = upper.is_code != lower.is_code
    return is_one_code and _flows_on(upper, lower) and _is_open(upper)


def _flows_on(upper: Line, lower: Line) -> bool:
    return lower.text[:1].islower() or _continues(upper, lower)


def _other_size(upper: Line, lower: Line) -> bool:
    small, large = sorted((upper.size, lower.size))
    return small > 0 and large / small > _OTHER_SIZE


def _continues(upper: Line, lower: Line) -> bool:
    return bool(_CJK.match(upper.text[-1]) and _CJK.match(lower.text[:1]))


def _space(upper: Line, lower: Line) -> str:
    return "" if _continues(upper, lower) else " "
