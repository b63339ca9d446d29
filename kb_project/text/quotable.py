"""Selects what may be quoted from a passage in a summary, report or description: verbatim prose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import regex

from kb_project.text.regions import Region
from kb_project.text.statements import Statement, StatementKind, statements
from kb_project.text.terms import terms

FEWEST_TERMS: Final = 2
PROSE: Final = (StatementKind.SENTENCE, StatementKind.ENTRY)

_LEANING: Final = regex.compile(
    r"[-–—/\[<$#~*]|[\"'“‘«(]*(?:(?:he|she|it|they|this|that|these|those|his|her|its|their|him|them|there|here"
    r"|but|and|or|so|such|also|then|however|therefore|thus|hence|otherwise|instead|moreover"
    r"|for (?:this|that|these|those))\b|他|她|它|这|那|其|但|而|并|因此|所以|此外|另外)",
    regex.IGNORECASE,
)
_LABEL: Final = regex.compile(r"\p{L}+(?: \p{L}+)?[:：]")
_ENDED: Final = regex.compile(r"[.!?。！？…][\"'”’»)）】」』]*$")


def quotable(text: str, regions: Sequence[Region] = ()) -> list[Statement]:
    """Return the sentences and list entries in order, except those that furniture interrupts.

    A word with a number says nothing, nor does text in capitals: *Chapter 8. THE ARCHIVES 6.5.*
    """
    return [
        one
        for one in statements(text, regions)
        if one.kind in PROSE
        and sum(not term.isdigit() for term in terms(one.said)) >= FEWEST_TERMS
        and not _is_shouted(one.said)
        and one.said == " ".join(text[one.start : one.end].split())
    ]


def _is_shouted(said: str) -> bool:
    return 2 * sum(map(str.isupper, said)) > sum(map(str.isalpha, said))


def leans(said: str) -> bool:
    """Whether a sentence begins with a word only earlier sentences explain, or not with a word.

    >>> leans("She lit it."), leans("Ada lit it."), leans("他走了。"), leans("--quiet Say less.")
    (True, False, True, True)
    """
    return bool(_LEANING.match(said))


def is_labelled(said: str) -> bool:
    """Whether it begins with a field label.

    >>> is_labelled("Initials: AL Ada Lind, BO Bram Oosterling."), is_labelled("Ada lit it: alone.")
    (True, False)
    """
    return bool(_LABEL.match(said))


def is_ended(said: str) -> bool:
    """Whether it ends like a sentence.

    >>> is_ended("Ada lit it."), is_ended("“Who?”"), is_ended("Lens repair")
    (True, True, False)
    """
    return bool(_ENDED.search(said))
