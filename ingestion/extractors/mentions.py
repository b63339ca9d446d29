"""Choose mentions among candidate spans: whole names, each once, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import regex

from ingestion.extractors.found import CONCEPT, LONGEST_SURFACE, NAME, FoundMention
from ingestion.extractors.kinds import kind_of
from kb_project.text.names import normalise_name
from kb_project.text.sentences import Span

_SPACE: Final = regex.compile(r"\s+")
_LEADING: Final = regex.compile(
    r"^(?:(?:the|a|an|this|that|his|her|its|their|our|my|your)\s+|\W)+(?=\w)", regex.I
)
_TRAILING: Final = regex.compile(r"(?:['’]s?|[^\w.+#)\]]|\.(?!\w\.))+$")
_NAMED: Final = regex.compile(r"[\p{Lu}\p{Lt}\p{Lo}\p{N}]|\p{Ll}\p{Lu}")
_NO_NAMES: Final = frozenset(
    """
    i he she it we they you him her his its me us them who whom whose which what this that these
    those one someone everybody mr mrs ms miss dr sir madam lord lady prof st
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    chapter section figure fig table part page volume vol appendix note notes yes no ok oh ah
    introduction conclusion summary contents abstract references bibliography
    copyright todo fixme true false null none
    """.split()
)


def mention(
    text: str, span: Span, type_name: str, source: str, *, is_title: bool = False
) -> FoundMention | None:
    """The candidate without articles, possessives and stray punctuation; None if it is not a name.

    The article of a title is part of it: *A Day* is not *Day*.
    """
    start, end = span
    surface = text[start:end]
    if len(surface) > 2 * LONGEST_SURFACE or "\n\n" in surface:
        return None
    leading = None if is_title else _LEADING.match(surface)
    start += leading.end() if leading else 0
    trailing = _TRAILING.search(text[start:end])
    end = start + trailing.start() if trailing else end
    surface = _SPACE.sub(" ", text[start:end])
    if not _is_name(surface, type_name):
        return None
    return FoundMention(start, end, surface, kind_of(surface, type_name), source)


def _is_name(surface: str, type_name: str) -> bool:
    if not 2 <= len(surface) <= LONGEST_SURFACE:
        return False
    if type_name != CONCEPT and not _NAMED.search(surface):
        return False
    key = normalise_name(surface)
    return len(key) > 1 and key not in _NO_NAMES and not key.replace(" ", "").isdigit()


def longest(candidates: Iterable[FoundMention]) -> list[FoundMention]:
    """The candidates not overlapped by a longer one, in the order of the text.

    What overlaps a longer name is part of it: "Lothair" in "Lothair II of Lotharingia" is not a
    second person. Of equal candidates, one of known type beats one of unknown type, else the first
    wins.
    """
    taken: list[FoundMention] = []
    for found in sorted(candidates, key=_rank):
        if not any(found.start < other.end and other.start < found.end for other in taken):
            taken.append(found)
    return sorted(taken, key=lambda found: found.start)


def _rank(found: FoundMention) -> tuple[int, int, bool, int]:
    """Names before concepts, long before short, known types before unknown."""
    return (
        found.type == CONCEPT,
        found.start - found.end,
        found.type == NAME,
        found.start,
    )
