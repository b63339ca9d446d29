"""The schema of a model's answers, tolerant of the many ways to say the same thing.

A number may come as "8/10", a list as one comma-separated string, a missing part as null: all are
read as what they mean. Anything else makes the whole answer invalid.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from kb_project.text.values import is_date

LEAST_STRENGTH: Final = 1.0
MOST_STRENGTH: Final = 10.0
STATUSES: Final = {
    "true": "true", "confirmed": "true", "yes": "true",
    "false": "false", "refuted": "false", "denied": "false", "no": "false",
}  # fmt: skip
SUSPECTED: Final = "suspected"

_NUMBER: Final = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
# ISO 8601 of any precision, at the beginning of the value; a time of day is dropped.
_DATE: Final = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?(?!\d)")
_LISTED: Final = re.compile(r"[,;，；、\n]")
# Control characters, direction marks and lone surrogates: Postgres refuses some, and none belongs
# in a name.
_UNWANTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def plain_text(value: object) -> str:
    """Any value as text on one line.

    >>> plain_text(None), plain_text(1869), plain_text(["light", "oil"]), plain_text(" a\\x00 b ")
    ('', '1869', 'light, oil', 'a b')
    """
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(filter(None, (plain_text(one) for one in value)))
    return " ".join(_UNWANTED.sub(" ", str(value)).split())


def as_strength(value: object) -> float:
    """1 to 10; the least if it is unreadable, so that a guess never outweighs a statement.

    >>> as_strength("8/10"), as_strength(42), as_strength("strong"), as_strength(None)
    (8.0, 10.0, 1.0, 1.0)
    """
    found = _NUMBER.search(str(value))
    number = float(found.group()) if found else LEAST_STRENGTH
    return min(max(number, LEAST_STRENGTH), MOST_STRENGTH)


def as_status(value: object) -> str:
    """``true``, ``false``, or ``suspected`` for everything less certain."""
    return STATUSES.get(plain_text(value).lower(), SUSPECTED)


def as_date(value: object) -> str:
    """An ISO 8601 date of any precision, or '' where there is none, or none that exists.

    >>> as_date("1869-10-03T00:00:00"), as_date(1869), as_date("NONE"), as_date("1869-02-30")
    ('1869-10-03', '1869', '', '')
    """
    found = _DATE.match(plain_text(value))
    return found.group() if found and is_date(found.group()) else ""


def listed(value: object) -> list[str]:
    """A list of texts, even if given as one text.

    >>> listed("oil, light"), listed(None), listed(["oil", 3])
    (['oil', 'light'], [], ['oil', '3'])
    """
    parts = value if isinstance(value, list) else _LISTED.split(plain_text(value))
    return [text for text in map(plain_text, parts) if text]


def rows(value: object) -> list[Any]:
    """The objects of a list; anything else becomes an empty object, to be counted as unusable."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise ValueError("not a list")  # noqa: TRY004 - what pydantic expects of a validator
    return [row if isinstance(row, dict | BaseModel) else {} for row in value]


Text = Annotated[str, BeforeValidator(plain_text)]
Texts = Annotated[list[str], BeforeValidator(listed)]
Strength = Annotated[float, BeforeValidator(as_strength)]
Status = Annotated[str, BeforeValidator(as_status)]
Date = Annotated[str, BeforeValidator(as_date)]


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class SaidEntity(_Said):
    name: Text = Field("", validation_alias=AliasChoices("name", "entity_name", "entity"))
    type: Text = Field("", validation_alias=AliasChoices("type", "entity_type"))
    description: Text = ""
    quote: Text = Field("", description="Words of the passage, exactly as they stand there.")


class SaidRelationship(_Said):
    source: Text = Field("", validation_alias=AliasChoices("source", "source_entity", "src"))
    target: Text = Field("", validation_alias=AliasChoices("target", "target_entity", "tgt"))
    description: Text = ""
    keywords: Texts = []
    strength: Strength = LEAST_STRENGTH
    quote: Text = Field("", description="Words of the passage, exactly as they stand there.")


class SaidClaim(_Said):
    subject: Text = ""
    object: Text = ""
    type: Text = ""
    status: Status = SUSPECTED
    period_start: Date = Field(
        "", validation_alias=AliasChoices("period_start", "start_date", "start")
    )
    period_end: Date = Field("", validation_alias=AliasChoices("period_end", "end_date", "end"))
    description: Text = ""
    quote: Text = Field("", description="Words of the passage, exactly as they stand there.")


class Answer(_Said):
    """What one passage says. ``entities`` is required, even if it is an empty list.

    An answer without it must not pass for a passage that says nothing.
    """

    entities: Annotated[list[SaidEntity], BeforeValidator(rows)]
    relationships: Annotated[list[SaidRelationship], BeforeValidator(rows)] = []

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all, as most last rounds do."""
        return not any(self.__dict__.values())


class AnswerWithClaims(Answer):
    claims: Annotated[list[SaidClaim], BeforeValidator(rows)] = []
