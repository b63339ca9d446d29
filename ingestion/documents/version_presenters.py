"""What pages show of a document's versions: which one is open, what replaced it, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.changes import version_changes
from ingestion.changes.comparison import Fact, Named
from ingestion.changes.text_changes import TextChange
from ingestion.changes.version_changes import Changes
from ingestion.documents import queries as document_queries, version_queries
from ingestion.documents.links import reader_url
from ingestion.documents.reader.likening import nearest
from ingestion.documents.version_queries import VersionRow
from ingestion.models import Document, DocumentVersion
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class Earlier:
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
) -> Earlier | None:
    """Return the notice for an earlier version; None for the live one."""
    document, live_number = version.document, version.document.live_number
    if version.number == live_number:
        return None
    found = None
    if span and 0 <= span[0] < span[1] <= len(version.text):
        live = document_queries.document_version(workspace=workspace, document=document)
        found = nearest(version.text, span, live.text)
    place = dict(zip(("start", "end"), found, strict=True)) if found else {}
    return Earlier(
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
    rows = version_queries.version_rows(workspace=workspace, document=document)
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
    def is_told(self) -> bool:
        return self.changes.state == version_changes.COMPARED

    @property
    def has_facts(self) -> bool:
        return any(self.changes.facts.totals.values())


def shown_changes(workspace: Workspace, version: DocumentVersion) -> ShownChanges:
    found = version_changes.changes_of(workspace=workspace, version=version)
    facts, against = found.facts, found.against

    def before(rows: Iterable[Fact | Named]) -> tuple[ShownFact, ...]:
        return _shown(workspace, version, against, rows)

    def now(rows: Iterable[Fact | Named]) -> tuple[ShownFact, ...]:
        return _shown(workspace, version, version.number, rows)

    return ShownChanges(
        changes=found,
        gained=now(facts.gained),
        lost=before(facts.lost),
        altered=tuple(
            zip(
                before(old for old, _ in facts.altered),
                now(new for _, new in facts.altered),
                strict=True,
            )
        ),
        entities_gained=now(facts.entities_gained),
        entities_lost=before(facts.entities_lost),
        text=tuple(version_changes.text_changes_of(workspace=workspace, version=version)),
        figures=tuple(figures(found)),
    )


def _shown(
    workspace: Workspace,
    version: DocumentVersion,
    number: int | None,
    rows: Iterable[Fact | Named],
) -> tuple[ShownFact, ...]:
    return tuple(
        ShownFact(
            one.sentence if isinstance(one, Fact) else one.name,
            " ".join(one.quote.split()),
            reader_url(
                workspace, version.document_id, start=one.start, end=one.end, version=number
            ),
        )
        for one in rows
    )


FIGURES: Sequence[tuple[str, str]] = (
    ("kept", "unchanged"),
    ("changed", "changed"),
    ("new", "added"),
    ("gone", "removed"),
)


def figures(found: Changes) -> list[str]:
    """Say how many passages stayed, changed, were added and removed, leaving out zeros.

    >>> figures(Changes(2, 1, "compared", {"kept": 4, "changed": 1, "new": 0, "gone": 0}))
    ['4 passages unchanged', '1 changed']
    """
    told = [(found.passages.get(name, 0), words) for name, words in FIGURES]
    parts = [f"{count:,} {words}" for count, words in told if count]
    return [_with_noun(parts[0]), *parts[1:]] if parts else []


def _with_noun(part: str) -> str:
    count, words = part.split(" ", 1)
    return f"{count} {'passage' if count == '1' else 'passages'} {words}"


def context_of(workspace: Workspace, document: Document) -> dict[str, Any]:
    """Build the context of the list of versions; the page shows no list while there is only one."""
    rows = shown_rows(workspace, document)
    reading = [one.row.number for one in rows if one.row.state == "reading"]
    failed = next((one.row for one in rows if one.row.state == "failed"), None)
    return {"versions": rows, "reading": reading, "failed": failed}
