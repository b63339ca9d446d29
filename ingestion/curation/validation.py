"""Validation of curators' input. Everything here raises InputError for invalid input."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from ingestion.resolution.keys import NAME_LENGTH, key_of_name
from kb_project.errors import InputError

TYPE_LENGTH: Final = 40
DESCRIPTION_LENGTH: Final = 10_000
KEYWORD_LENGTH: Final = 80
MOST_KEYWORDS: Final = 50
MOST_ALIASES: Final = 50
UNCHANGED: Final = "Nothing was changed."

# Characters that change text direction: they could make a name look like another one.
TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN: Final = ("Cc", "Cs", "Co", "Cn")


def name_given(text: str, what: str = "name") -> tuple[str, str]:
    """Return a name on one line, and its key."""
    name = " ".join(text.split())
    _no_unseen(name, what)
    if not name:
        raise _refused(
            f"The {what} is empty.", f"Enter a {what} with at least one letter or digit.", "empty"
        )
    _no_longer(name, what, NAME_LENGTH)
    key = key_of_name(name)
    if not key:
        raise _refused(
            f"The {what} '{name}' has neither a letter nor a digit.",
            f"Enter a {what} as documents would spell it.",
            "no_letters",
        )
    return name, key


def type_given(text: str) -> str:
    kind = " ".join(text.split()).lower()
    _no_unseen(kind, "type")
    if not kind:
        raise _refused("The type is empty.", "Enter a type such as 'person'.", "empty")
    _no_longer(kind, "type", TYPE_LENGTH)
    return kind


def description_given(text: str) -> str:
    """Validate a description, keeping lines and tabs; '' if it is blank."""
    description = text.replace("\r\n", "\n").strip()
    _no_unseen(description.translate({10: None, 9: None}), "description")
    _no_longer(description, "description", DESCRIPTION_LENGTH)
    return description


def keywords_given(words: Iterable[str]) -> list[str]:
    found = [" ".join(word.split()) for word in words]
    kept = list(dict.fromkeys(word for word in found if word))
    for word in kept:
        _no_unseen(word, "keyword")
        _no_longer(word, "keyword", KEYWORD_LENGTH)
    if len(kept) > MOST_KEYWORDS:
        raise _refused(
            f"{len(kept)} keywords are too many.", f"Enter at most {MOST_KEYWORDS}.", "too_many"
        )
    return kept


def aliases_given(names: Iterable[str]) -> dict[str, str]:
    """Return the names by key."""
    given = [name_given(name, "alias") for name in names]
    if len(given) > MOST_ALIASES:
        raise _refused(
            f"{len(given)} aliases are too many.",
            f"Enter at most {MOST_ALIASES} at once.",
            "too_many",
        )
    return {key: name for name, key in given}


def _no_longer(text: str, what: str, most: int) -> None:
    if len(text) > most:
        raise _refused(
            f"The {what} has {len(text):,} characters.",
            f"Shorten it to at most {most:,}.",
            "too_long",
        )


def _no_unseen(text: str, what: str) -> None:
    if any(one in TURNING or unicodedata.category(one) in UNSEEN for one in text):
        raise _refused(
            f"The {what} contains invisible characters.",
            "Type it instead of copying it.",
            "unseen_characters",
        )


def _refused(happened: str, next_step: str, code: str) -> InputError:
    return InputError(happened, code=code, kept=UNCHANGED, next_step=next_step)
