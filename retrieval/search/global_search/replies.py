"""Normalise models' replies: bounded, and of the requested type."""

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
# From the standard library: it knows the digits that ``float`` reads, and no newer ones.
_NUMBER: Final = re.compile(r"-?\d{1,9}(?:[.,]\d{1,9})?")
_LABEL: Final = regex.compile(r"(?<![\p{L}\p{N}])([TP])\s?(\d{1,6})(?![\p{L}\p{N}])")
# "[T1, T2]", "(P1)", "[Data: T1; T2]": brackets with nothing but labels in them.
_MARK: Final = regex.compile(
    r"\s*[\[(（【](?:Data:|Reports?:|Passages?:)?\s*[TP]\s?\d{1,6}"
    r"(?:\s*(?:[,;，、]|and)?\s*[TP]\s?\d{1,6}){0,20}\s*[\])）】]"
)
_UNSEEN: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def number_of(value: Any) -> float | None:
    """Return the first number in the value, or None.

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
    # Bounded before conversion to float, which fails for huge integers.
    return float(max(-_LARGEST, min(_LARGEST, value)))


def score_of(value: Any) -> float:
    """Return a score from 0 to 100; a value without a number scores 0.

    >>> score_of("9") < score_of("85"), score_of(250), score_of("very")
    (True, 100.0, 0.0)
    """
    return min(HIGHEST_SCORE, max(0.0, number_of(value) or 0.0))


def rating_of(value: Any) -> float | None:
    """Return a rating from 0 to 5, or None without a number."""
    number = number_of(value)
    return None if number is None else min(HIGHEST_RATING, max(0.0, number))


def text_of(value: Any) -> str:
    """Return any scalar as text on one line, without invisible characters; '' for anything else."""
    text = str(value)[: 2 * LONGEST_POINT] if isinstance(value, str | int | float) else ""
    return " ".join(_UNSEEN.sub(" ", text).split())


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def objects_of(value: Any) -> list[Any]:
    """Return the objects, ignoring anything else in the list."""
    return [one for one in list_of(value) if isinstance(one, dict | BaseModel)]


Text = Annotated[str, BeforeValidator(text_of)]
Texts = Annotated[list[Text], BeforeValidator(list_of)]
Score = Annotated[float, BeforeValidator(score_of)]


class PointReply(BaseModel):
    """A partial answer as a model gives it."""

    description: Text = ""
    score: Score = 0.0
    records: Texts = Field(default_factory=list)


class MapReply(BaseModel):
    """A model's notes on some reports."""

    points: Annotated[list[PointReply], BeforeValidator(objects_of)]


class RatingReply(BaseModel):
    """``rating`` is None if the model gave no number."""

    record: Text = ""
    rating: Annotated[float | None, BeforeValidator(rating_of)] = None


class RateReply(BaseModel):
    """Ratings of some reports."""

    ratings: Annotated[list[RatingReply], BeforeValidator(objects_of)]


def labels_in(texts: Iterable[str]) -> list[str]:
    """Return the labels in the texts, each once.

    >>> labels_in(["T1, t02", "[P3]", "nothing"])
    ['T1', 'T2', 'P3']
    """
    found = (match for text in texts for match in _LABEL.findall(text.upper()))
    return list(dict.fromkeys(letter + (number.lstrip("0") or "0") for letter, number in found))


def marks_in(text: str) -> list[str]:
    return [match.group() for match in _MARK.finditer(text)]


def clean(text: str) -> str:
    """Remove the text's label marks, which are only valid in this one call."""
    return str(_MARK.sub("", text)).strip()[:LONGEST_POINT]
