"""What a version of a document brought against the one before.

What the earlier version said is captured when it stops being live, and compared with what the
later one says once that has been read to the end. Only passages that differ are looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ingestion import changes_sql as sql
from ingestion.comparing import Difference, Fact, Key, Named, Said, compare
from ingestion.models import DocumentVersion
from ingestion.text_changes import TextChange, text_changes
from kb_project.sql import Row, run_sql
from workspaces import access
from workspaces.models import Workspace

QUOTE_LENGTH: Final = 300
AROUND: Final = 60
"""Characters shown on either side of a name."""
MOST_KEPT: Final = 5000
"""Facts that are captured: more than any page tells."""

FIRST, READING, COMPARED, UNKNOWN = "first", "reading", "compared", "unknown"
PASSAGES: Final = ("kept", "changed", "new", "gone")


@dataclass(frozen=True, slots=True)
class Passing:
    """Ids of the passages that go, come, and stay but are read again; all counted as people see."""

    counts: Mapping[str, int]
    gone: Sequence[uuid.UUID]
    new: Sequence[uuid.UUID]
    read_again: Sequence[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Changes:
    """``against`` is the number of the version before, None for a first one.

    ``state`` is ``first``, ``reading`` while the version is not read to the end, ``compared``, or
    ``unknown`` where it never was: another version came too soon. ``passages`` counts those that
    are kept, changed, new and gone; empty before they were counted.
    """

    number: int
    against: int | None
    state: str
    passages: Mapping[str, int] = field(default_factory=dict)
    facts: Difference = field(default_factory=Difference)


def changes_of(*, workspace: Workspace, version: DocumentVersion) -> Changes:
    """What changed against the version before."""
    kept = version.changes
    if kept is None:
        before = version_before(workspace=workspace, version=version)
        if before is None:
            return Changes(version.number, None, FIRST)
        return Changes(version.number, before.number, UNKNOWN if _was_live(version) else READING)
    passages = {name: kept["passages"].get(name, 0) for name in PASSAGES}
    if "facts" in kept:
        facts = Difference.from_json(kept["facts"])
        return Changes(version.number, kept["from"], COMPARED, passages, facts)
    is_live = version.document.live_number == version.number
    return Changes(version.number, kept["from"], READING if is_live else UNKNOWN, passages)


def _was_live(version: DocumentVersion) -> bool:
    return version.document.live_number >= version.number


def version_before(*, workspace: Workspace, version: DocumentVersion) -> DocumentVersion | None:
    """The one it is compared with: the one it took the place of, or else the number before."""
    rows = DocumentVersion.objects.in_workspace(workspace).filter(document_id=version.document_id)
    if version.changes:
        return rows.filter(number=version.changes["from"]).first()
    return rows.filter(number__lt=version.number).order_by("-number").first()


def text_changes_of(*, workspace: Workspace, version: DocumentVersion) -> list[TextChange]:
    """Both texts by paragraphs; nothing where there is no version before, or one was never read."""
    before = version_before(workspace=workspace, version=version)
    if before is None or not (before.parsed_at and version.parsed_at):
        return []
    return text_changes(before.text, version.text)


def capture(
    workspace_id: uuid.UUID,
    before: DocumentVersion,
    version: DocumentVersion,
    passing: Passing,
) -> None:
    """Keep what passages say that will say it no more. Call before they go.

    A version that is made live once more was compared when it was first.
    """
    _give_up(workspace_id, before)
    if version.changes is not None or version.number == 1:
        return
    said = _said(workspace_id, version.document_id, chunks=[*passing.gone, *passing.read_again])
    version.changes = {
        "from": before.number,
        "passages": dict(passing.counts),
        "looked_at": [str(pk) for pk in (*passing.new, *passing.read_again)],
        "before": {
            "facts": [asdict(one) for one in said.facts[:MOST_KEPT]],
            "named": [asdict(one) for one in said.named[:MOST_KEPT]],
        },
    }
    _save(workspace_id, version)


def settle(workspace_id: uuid.UUID, versions: Sequence[uuid.UUID | None]) -> None:
    """Compare versions whose facts have been read with what was captured. Others are left alone."""
    with access.in_workspace(workspace_id):
        rows = DocumentVersion.objects.in_workspace(workspace_id).filter(
            DocumentVersion.IS_LIVE, pk__in=versions, changes__has_key="before"
        )
        for version in rows.defer("text"):
            _compare(workspace_id, version)


def _compare(workspace_id: uuid.UUID, version: DocumentVersion) -> None:
    kept: dict[str, Any] = version.changes or {}
    before = Said(
        [Fact(**one) for one in kept["before"]["facts"]],
        [Named(**one) for one in kept["before"]["named"]],
    )
    looked_at = [uuid.UUID(pk) for pk in kept["looked_at"]]
    after, facts, named = _says(workspace_id, version.document_id, looked_at)
    difference = compare(before, after, facts=facts, named=named)
    version.changes = {
        "from": kept["from"],
        "passages": kept["passages"],
        "facts": difference.as_json(),
    }
    _save(workspace_id, version)


def _give_up(workspace_id: uuid.UUID, version: DocumentVersion) -> None:
    """What was captured for a version that goes before it was read to the end."""
    if version.changes and "before" in version.changes:
        version.changes = {name: version.changes[name] for name in ("from", "passages")}
        _save(workspace_id, version)


def _save(workspace_id: uuid.UUID, version: DocumentVersion) -> None:
    rows = DocumentVersion.objects.in_workspace(workspace_id).filter(pk=version.pk)
    rows.update(changes=version.changes)


def _said(workspace_id: uuid.UUID, document_id: uuid.UUID, *, chunks: list[uuid.UUID]) -> Said:
    values = _values(workspace_id, document_id, chunks) | {"chunks": chunks}
    stated, named = run_sql(sql.STATED, values), run_sql(sql.NAMED, values)
    return Said([_fact(row) for row in stated], [_named(row) for row in named])


def _says(
    workspace_id: uuid.UUID, document_id: uuid.UUID, looked_at: list[uuid.UUID]
) -> tuple[Said, set[Key], set[str]]:
    """What the passages say that are looked at, and the keys and ids of what all others say."""
    values = _values(workspace_id, document_id, looked_at) | {"chunks": None}
    stated, named = run_sql(sql.STATED, values), run_sql(sql.NAMED, values)
    said = Said([_fact(row) for row in stated if row[7]], [_named(row) for row in named if row[2]])
    others = {_fact(row).key for row in stated if not row[7]}
    return said, others, {str(row[0]) for row in named if not row[2]}


def _values(
    workspace_id: uuid.UUID, document_id: uuid.UUID, looked_at: list[uuid.UUID]
) -> dict[str, Any]:
    return {
        "workspace": workspace_id,
        "document": document_id,
        "looked_at": looked_at,
        "most": QUOTE_LENGTH,
        "around": AROUND,
    }


def _fact(row: Row) -> Fact:
    kind, source_id, source, target_id, target, predicate, text, _, start, end, quote = row
    return Fact(
        kind, str(source_id), source, str(target_id or ""), target, predicate, text, start, end,
        quote,
    )  # fmt: skip


def _named(row: Row) -> Named:
    entity_id, name, _, start, end, quote = row
    return Named(str(entity_id), name, start, end, " ".join(quote.split()))
