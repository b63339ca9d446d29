"""The document that a description means: *Margaret's mail on the new rates*, *the report from May*.

The head of a description is a word for a kind of document. Meant is the document of that kind that
the search finds first and that has the description's words, in its names rather than in its text,
if no other one comes near it. What people call a guide or a report need not be called so itself: if
none is, it is a document with a word of the description in its names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set as AbstractSet
from pathlib import PurePath
from typing import Final
from uuid import UUID

import regex

from kb_project.text.words import terms
from retrieval.search.results import Hit

LEAD: Final = 1.5
"""How much more must speak for the document meant than for any other one."""
ENOUGH: Final = 0.6
"""Share of the description's words that the document must have; its kind counts as one."""
SLOPE: Final = 3
"""A passage counts for its document by the inverse of its rank, counted from here."""

_ANY: Final = (
    "document|documentation|doc|file|paper|text|book|booklet|brochure|leaflet|story|novel|essay"
    "|thesis|tutorial|readme"
)
_KINDS: Final = (
    (r"e-?mail|mail|message|letter|(?:e-?mail |mail )?thread", r"\.eml"),
    (r"minutes|meeting|mtg|notes|sync|review", ""),
    (r"report|post-?mortem|review", ""),
    (r"deck|slides|presentation|kick-?off|talk|all[ -]hands", r"\.pp[ts][xm]"),
    (r"spreadsheet|sheet|workbook", r"\.(?:xls\w?|ods|csv|tsv|tab)"),
    (r"contract|agreement", ""),
    (r"manual|handbook|guide|runbook", ""),
    (r"page|article", r"\.x?html?"),
    (r"pdf", r"\.pdf"),
    (_ANY, r".*"),
)
"""Words for a kind of document, one of which its name has, or else the endings its file may have.
Words for what a document may say (*policy*, *procedure*, *list*) are missing."""
KINDS: Final = "|".join(words for words, _ in _KINDS)
_FREELY: Final = regex.compile(
    r"manual|handbook|guide|runbook|report|article|page", regex.IGNORECASE
)
"""What people call a document that does not call itself so."""
_BEHIND: Final = r"of|on|about|regarding|concerning|from|by|for|with|in|at|to"
_LINKS: Final = frozenset(terms("about regarding concerning sent wrote written"))
_DESCRIPTION: Final = regex.compile(
    rf"(?P<before>(?:(?!(?:{_BEHIND}|and|or) )\S+ )*?)(?P<head>{KINDS})"
    rf"(?P<behind> (?:(?:{_BEHIND}|that|which|where|sent|we|i|they) |(?-i:[\p{{Lu}}\p{{N}}])).+)?",
    regex.IGNORECASE,
)


def document_described(
    subject: str, found: Sequence[Hit], known: Mapping[UUID, tuple[str, str]]
) -> UUID | None:
    """Return the document that the subject describes, None if none is clearly meant.

    ``known`` has the file's name and the author of each document ``found``.
    """
    description = _DESCRIPTION.fullmatch(subject)
    if description is None:
        return None
    head = description["head"]
    words = set(terms(f"{description['before']} {description['behind'] or ''}")) - _LINKS
    names = {one: name for one, (name, _) in known.items()}
    ranked = list(enumerate(found, start=SLOPE))
    of_kind = [
        (rank, one)
        for rank, one in ranked
        if _is_of_kind(head, one.title, names.get(one.document_id, ""))
    ]
    if of_kind:
        is_any = regex.fullmatch(_ANY, head, regex.IGNORECASE)
        return _meant(words, of_kind, known, kind=0 if is_any else 1)
    return _meant(words, ranked, known, named=1) if _FREELY.fullmatch(head) else None


def _meant(
    words: AbstractSet[str],
    ranked: Sequence[tuple[int, Hit]],
    known: Mapping[UUID, tuple[str, str]],
    *,
    kind: int = 0,
    named: int = 0,
) -> UUID | None:
    """Return the document that has the words, ``named`` of them in its names at least; ``kind``
    counts as that many words that it has."""
    called: dict[UUID, set[str]] = {}
    said: dict[UUID, set[str]] = {}
    nearness: dict[UUID, float] = defaultdict(float)
    for rank, hit in ranked:
        name, author = known.get(hit.document_id, ("", ""))
        one = called.setdefault(hit.document_id, set(terms(f"{hit.title}\n{name}\n{author}")))
        said.setdefault(hit.document_id, set(one)).update(terms(hit.text))
        nearness[hit.document_id] += 1 / rank
    # The minutes of 16 October may be missing, and another meeting speak of it.
    numbers = {word for word in words if word.isdigit()}
    scored = {
        one: near * (len(said[one] & words) + len(called[one] & words))
        for one, near in nearness.items()
        if kind + len(said[one] & words) >= ENOUGH * (kind + len(words))
        and numbers <= called[one]
        and len(called[one] & words) >= named
    }
    first, second = (*sorted(scored.values(), reverse=True), 0.0, 0.0)[:2]
    is_clear = first > 0 and first >= LEAD * second
    return max(scored, key=lambda one: scored[one]) if is_clear else None


def _is_of_kind(head: str, title: str, name: str) -> bool:
    ending, called = PurePath(name).suffix, f"{title} {name}".replace("_", " ")
    return any(
        (endings and regex.fullmatch(endings, ending, regex.IGNORECASE))
        or regex.search(rf"(?<!\p{{L}})(?:{words})s?(?!\p{{L}})", called, regex.IGNORECASE)
        for words, endings in _KINDS
        if regex.fullmatch(words, head, regex.IGNORECASE)
    )
