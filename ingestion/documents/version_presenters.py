"""What pages show of a document's versions: which one is open, what replaced it, what changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ingestion.changes import version_changes
from ingestion.changes.comparison import NamedEntity, StatedFact, TextChange, paragraphs
from ingestion.changes.version_changes import Changes
from ingestion.documents import queries
from ingestion.documents.presenters import reader_url
from ingestion.documents.queries import VersionRow
from ingestion.models import Document, DocumentVersion
from kb_project.text.words import counted
from workspaces.models import Workspace

LEAST_SHARED: Final = 0.5
"""Share of the words of two paragraphs; below it the passage counts as gone rather than changed."""
LONGEST_QUOTE: Final = 20_000
_WORD: Final = re.compile(r"\w+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A notice that the open version is not the one searched.

    ``live_url`` opens the live version at the passage that corresponds to the span; ``is_there``
    says whether there is one.
    """

    sentence: str
    live_url: str
    live_number: int
    is_there: bool
    changes_number: int | None


def earlier_of(
    workspace: Workspace, version: DocumentVersion, span: tuple[int, int] | None
) -> EarlierVersion | None:
    """Return the notice for an earlier version; None for the live one."""
    document, live_number = version.document, version.document.live_number
    if version.number == live_number:
        return None
    found = None
    if span and 0 <= span[0] < span[1] <= len(version.text):
        live = queries.version_get(workspace=workspace, document=document)
        found = nearest(version.text, span, live.text)
    place = dict(zip(("start", "end"), found, strict=True)) if found else {}
    return EarlierVersion(
        sentence=sentence_of(document.title, version.number, live_number, is_cited=bool(span)),
        live_url=reader_url(workspace, document.pk, **place),
        live_number=live_number,
        is_there=found is not None,
        changes_number=live_number if live_number > version.number else None,
    )


def sentence_of(title: str, number: int, live_number: int, *, is_cited: bool) -> str:
    """
    >>> sentence_of("The log", 2, 3, is_cited=True)
    'This passage was in version 2 of The log; version 3 replaced it.'
    >>> sentence_of("The log", 3, 2, is_cited=False)
    'This is version 3 of The log; version 2 is searched.'
    """
    if is_cited and number < live_number:
        return (
            f"This passage was in version {number} of {title}; version {live_number} replaced it."
        )
    what = "This passage is in" if is_cited else "This is"
    return f"{what} version {number} of {title}; version {live_number} is searched."


@dataclass(frozen=True, slots=True)
class ShownVersion:
    row: VersionRow
    url: str
    has_changes: bool


def shown_rows(workspace: Workspace, document: Document) -> list[ShownVersion]:
    rows = queries.version_rows(workspace=workspace, document=document)
    first = min((row.number for row in rows), default=1)
    return [
        ShownVersion(
            row,
            reader_url(workspace, document.pk, version=row.number),
            has_changes=row.number > first and row.version.parsed_at is not None,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A fact for display; ``url`` opens the version that states it, at the quote."""

    sentence: str
    quote: str
    url: str


@dataclass(frozen=True, slots=True)
class ShownChanges:
    changes: Changes
    gained: tuple[ShownFact, ...]
    lost: tuple[ShownFact, ...]
    altered: tuple[tuple[ShownFact, ShownFact], ...]
    entities_gained: tuple[ShownFact, ...]
    entities_lost: tuple[ShownFact, ...]
    text: tuple[TextChange, ...]
    figures: tuple[str, ...]

    @property
    def has_facts(self) -> bool:
        return any(self.changes.facts.totals.values())


def shown_changes(workspace: Workspace, version: DocumentVersion) -> ShownChanges:
    found = version_changes.changes_of(workspace=workspace, version=version)
    facts, against = found.facts, found.against

    def shown(
        rows: Iterable[StatedFact | NamedEntity], number: int | None
    ) -> tuple[ShownFact, ...]:
        return tuple(
            ShownFact(
                one.sentence if isinstance(one, StatedFact) else one.name,
                " ".join(one.quote.split()),
                reader_url(
                    workspace, version.document_id, start=one.start, end=one.end, version=number
                ),
            )
            for one in rows
        )

    earlier = shown((old for old, _ in facts.altered), against)
    later = shown((new for _, new in facts.altered), version.number)
    return ShownChanges(
        changes=found,
        gained=shown(facts.gained, version.number),
        lost=shown(facts.lost, against),
        altered=tuple(zip(earlier, later, strict=True)),
        entities_gained=shown(facts.entities_gained, version.number),
        entities_lost=shown(facts.entities_lost, against),
        text=tuple(version_changes.text_changes_of(workspace=workspace, version=version)),
        figures=tuple(figures(found)),
    )


FIGURES: Final = {"kept": "unchanged", "changed": "changed", "new": "added", "gone": "removed"}


def figures(found: Changes) -> list[str]:
    """Say how many passages stayed, changed, were added and removed, leaving out zeros.

    >>> figures(Changes(2, 1, "compared", {"kept": 4, "changed": 1, "new": 0, "gone": 0}))
    ['4 passages unchanged', '1 changed']
    """
    counts = [(found.passages.get(name, 0), what) for name, what in FIGURES.items()]
    return [
        f"{counted(count, 'passage')} {what}" if place == 0 else f"{count:,} {what}"
        for place, (count, what) in enumerate(one for one in counts if one[0])
    ]


def context_of(workspace: Workspace, document: Document) -> dict[str, Any]:
    """Build the context of the list of versions; the page shows no list while there is only one."""
    rows = shown_rows(workspace, document)
    reading = [one.row.number for one in rows if one.row.state == "reading"]
    failed = next((one.row for one in rows if one.row.state == "failed"), None)
    return {"versions": rows, "reading": reading, "failed": failed}


def nearest(earlier: str, span: Span, later: str) -> Span | None:
    """Find where ``later`` says what ``earlier`` says in ``span``; None if it no longer does.

    The same words, at the place nearest to the old one; else the paragraph that shares most words
    with the one around the span.

    >>> nearest("Ada rows.\\nBo sells oil.", (10, 22), "It blew.\\nBo sells much oil.")
    (9, 27)
    """
    start, end = span
    quote = earlier[start:end]
    if not quote.strip() or len(quote) > LONGEST_QUOTE:
        return None
    # The same relative position in the other text.
    expected = start * len(later) // max(len(earlier), 1)
    places = list(_places(later, quote))
    if places:
        found = min(places, key=lambda place: abs(place - expected))
        return found, found + len(quote)
    begin = earlier.rfind("\n", 0, start) + 1
    return _most_alike(earlier[begin:].split("\n", 1)[0], later, expected)


def _places(text: str, quote: str) -> Iterator[int]:
    found = text.find(quote)
    while found >= 0:
        yield found
        found = text.find(quote, found + 1)


def _most_alike(paragraph: str, text: str, expected: int) -> Span | None:
    words = _words(paragraph)
    if not words:
        return None
    best: tuple[float, int, Span] | None = None
    for one in paragraphs(text):
        others = _words(one.text)
        shared = len(words & others) / len(words | others) if others else 0.0
        span = (one.start, one.start + len(one.text))
        rated = (shared, -abs(span[0] - expected), span)
        if shared >= LEAST_SHARED and (best is None or rated > best):
            best = rated
    return best[2] if best else None


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
