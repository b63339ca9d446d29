"""What models say, as values that can be worked with: bounded, and of the type asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Annotated, Any, Final

import regex
from pydantic import BaseModel, BeforeValidator, Field

LONGEST_POINT: Final = 2_000
MOST_POINTS: Final = 20
HIGHEST_SCORE: Final = 100.0
HIGHEST_RATING: Final = 5.0

_LARGEST: Final = 1_000_000
# Of the standard library: digits that ``float`` reads, and no newer ones.
_NUMBER: Final = re.compile(r"-?\d{1,9}(?:[.,]\d{1,9})?")
_LABEL: Final = regex.compile(r"(?<![\p{L}\p{N}])([TP])\s?(\d{1,6})(?![\p{L}\p{N}])")
# "[T1, T2]", "(P1)", "[Data: T1; T2]": brackets with nothing but labels in them.
_MARK: Final = regex.compile(
    r"\s*[\[(（【](?:Data:|Reports?:|Passages?:)?\s*[TP]\s?\d{1,6}"
    r"(?:\s*(?:[,;，、]|and)?\s*[TP]\s?\d{1,6}){0,20}\s*[\])）】]"
)
_UNSEEN: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def number_of(value: Any) -> float | None:
    """The first number of what was said, None where there is none.

    >>> number_of("85/100"), number_of("9"), number_of(7), number_of("high"), number_of(True)
    (85.0, 9.0, 7.0, None, None)
    """
    if isinstance(value, str):
        found = _NUMBER.search(value)
        return float(found.group().replace(",", ".")) if found else None
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    # Bounded before it is made a float: an endless integer is none.
    return float(max(-_LARGEST, min(_LARGEST, value)))


def score_of(value: Any) -> float:
    """From 0 to 100; what is no number helps as much as nothing.

    >>> score_of("9") < score_of("85"), score_of(250), score_of("very")
    (True, 100.0, 0.0)
    """
    return min(HIGHEST_SCORE, max(0.0, number_of(value) or 0.0))


def rating_of(value: Any) -> float | None:
    """From 0 to 5, None where it is no number."""
    number = number_of(value)
    return None if number is None else min(HIGHEST_RATING, max(0.0, number))


def text_of(value: Any) -> str:
    """Any scalar as text on one line, without what nobody can see; '' for anything else."""
    text = str(value)[: 2 * LONGEST_POINT] if isinstance(value, str | int | float) else ""
    return " ".join(_UNSEEN.sub(" ", text).split())


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def objects_of(value: Any) -> list[Any]:
    """One thing that is no object does not spoil the others."""
    return [one for one in list_of(value) if isinstance(one, dict | BaseModel)]


Text = Annotated[str, BeforeValidator(text_of)]
Texts = Annotated[list[Text], BeforeValidator(list_of)]
Score = Annotated[float, BeforeValidator(score_of)]


class PointReply(BaseModel):
    """A partial answer as a model puts it."""

    description: Text = ""
    score: Score = 0.0
    records: Texts = Field(default_factory=list)


class MapReply(BaseModel):
    """What a model notes down of some reports."""

    points: Annotated[list[PointReply], BeforeValidator(objects_of)]


class RatingReply(BaseModel):
    """``rating`` is None where the model gave no number."""

    record: Text = ""
    rating: Annotated[float | None, BeforeValidator(rating_of)] = None


class RateReply(BaseModel):
    """Ratings of some reports."""

    ratings: Annotated[list[RatingReply], BeforeValidator(objects_of)]


def labels_in(texts: Iterable[str]) -> list[str]:
    """The labels that are named, each once.

    >>> labels_in(["T1, t02", "[P3]", "nothing"])
    ['T1', 'T2', 'P3']
    """
    found = (match for text in texts for match in _LABEL.findall(text.upper()))
    return list(dict.fromkeys(letter + (number.lstrip("0") or "0") for letter, number in found))


def marks_in(text: str) -> list[str]:
    return [match.group() for match in _MARK.finditer(text)]


def clean(text: str) -> str:
    """A text without its marks, which say something in this one call only."""
    return str(_MARK.sub("", text)).strip()[:LONGEST_POINT]
