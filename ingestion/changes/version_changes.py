"""What a version of a document changed, and what was written about passages that go away.

What the earlier version says is captured when it stops being live, and compared with the later one
once that has been fully read. Only passages that differ are compared.

Reports and summaries must not state what no passage supports any more: they are deleted, or reduced
to what remains, until they are rewritten.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, LiteralString

from ingestion.changes.comparison import (
    FactChanges,
    NamedEntity,
    StatedFact,
    Statements,
    TextChange,
    compare,
    text_changes,
)
from ingestion.models import DocumentVersion
from kb_project.sql import Row, run_sql
from workspaces import access
from workspaces.models import Workspace

# --- what becomes invalid -------------------------------------------------------------------------
# Statements of reports that have no other evidence. Their report's summary is reduced to the rest
# until it is rewritten; a report with nothing left is deleted.
FORGET_FINDINGS: Final[LiteralString] = """
WITH touched AS MATERIALIZED (
    SELECT DISTINCT finding_id AS id FROM ingestion_findingevidence
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
), gone AS (
    -- OFFSET 0: asked about each, never joined with the evidence of the whole workspace.
    DELETE FROM ingestion_finding AS f
     WHERE f.workspace_id = %(workspace)s AND f.id = ANY (ARRAY(SELECT id FROM touched))
       AND NOT EXISTS (SELECT FROM ingestion_findingevidence AS e
                        WHERE e.workspace_id = %(workspace)s AND e.finding_id = f.id
                          AND e.chunk_id <> ALL(%(chunks)s::uuid[]) OFFSET 0)
    RETURNING f.report_id
)
SELECT DISTINCT report_id FROM gone
"""
MEND_REPORTS: Final[LiteralString] = """
UPDATE ingestion_communityreport AS r
   SET digest = '', summary = coalesce((
       SELECT string_agg(f.summary, ' ' ORDER BY f.ordinal) FROM ingestion_finding AS f
        WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id AND f.part = 'summary'), '')
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
"""
MARK_TOPICS: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
       SELECT community_id FROM ingestion_communityreport
        WHERE workspace_id = %(workspace)s AND id = ANY(%(reports)s::uuid[])))
"""
FORGET_EMPTY_REPORTS: Final[LiteralString] = """
DELETE FROM ingestion_communityreport AS r
 WHERE r.workspace_id = %(workspace)s AND r.id = ANY(%(reports)s::uuid[])
   AND NOT EXISTS (SELECT FROM ingestion_finding AS f
                    WHERE f.workspace_id = %(workspace)s AND f.report_id = r.id)
"""

# Summaries of these passages and of whole documents, and everything built on those.
FORGET_SUMMARIES: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id AS id FROM ingestion_summaryedge
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
    UNION
    SELECT id FROM ingestion_summarynode
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
    UNION
    SELECT e.parent_id FROM above
      JOIN ingestion_summaryedge AS e ON e.workspace_id = %(workspace)s AND e.node_id = above.id
)
DELETE FROM ingestion_summarynode
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM above))
"""


def invalidate(
    workspace_id: uuid.UUID, chunks: Sequence[uuid.UUID], documents: Sequence[uuid.UUID] = ()
) -> None:
    """Remove what rests on the passages. Call before they are deleted.

    ``documents`` are those deleted as a whole.
    """
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "chunks": list(chunks),
        "documents": list(documents),
    }
    reports = [report_id for (report_id,) in run_sql(FORGET_FINDINGS, values)]
    if reports:
        for statement in (MEND_REPORTS, MARK_TOPICS, FORGET_EMPTY_REPORTS):
            run_sql(statement, values | {"reports": reports})
    run_sql(FORGET_SUMMARIES, values)


# --- what changed ---------------------------------------------------------------------------------
# What these passages of a document state: relationships that a sentence states, and claims.
STATED: Final[LiteralString] = """
SELECT 'relationship', s.id, s.name, t.id, t.name, e.predicate, e.description,
       e.chunk_id = ANY(%(looked_at)s::uuid[]), e.start, e."end",
       CASE WHEN e.chunk_id = ANY(%(looked_at)s::uuid[])
            THEN left(substr(c.text, e.start - c.start + 1, e."end" - e.start), %(most)s)
            ELSE '' END
  FROM ingestion_evidence AS e
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = e.chunk_id
  JOIN ingestion_relationship AS r ON r.workspace_id = %(workspace)s AND r.id = e.relationship_id
  JOIN ingestion_entity AS s ON s.workspace_id = %(workspace)s AND s.id = r.source_id
  JOIN ingestion_entity AS t ON t.workspace_id = %(workspace)s AND t.id = r.target_id
 WHERE e.workspace_id = %(workspace)s AND e.document_id = %(document)s AND e.kind = 'stated'
   AND (%(chunks)s::uuid[] IS NULL OR e.chunk_id = ANY(%(chunks)s::uuid[]))
UNION ALL
SELECT 'claim', s.id, s.name, o.id, coalesce(o.name, ''), k.type,
       CASE k.status WHEN 'true' THEN '' ELSE k.status || ': ' END || k.description,
       k.chunk_id = ANY(%(looked_at)s::uuid[]), k.start, k."end",
       CASE WHEN k.chunk_id = ANY(%(looked_at)s::uuid[])
            THEN left(substr(c.text, k.start - c.start + 1, k."end" - k.start), %(most)s)
            ELSE '' END
  FROM ingestion_claim AS k
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = k.chunk_id
  JOIN ingestion_entity AS s ON s.workspace_id = %(workspace)s AND s.id = k.subject_id
  LEFT JOIN ingestion_entity AS o ON o.workspace_id = %(workspace)s AND o.id = k.object_id
 WHERE k.workspace_id = %(workspace)s AND k.document_id = %(document)s
   AND (%(chunks)s::uuid[] IS NULL OR k.chunk_id = ANY(%(chunks)s::uuid[]))
 ORDER BY 9, 10, 3, 5, 6
"""

# Entities they name, and where first: once for the passages compared, once for the rest.
NAMED: Final[LiteralString] = """
SELECT id, name, looked_at, start, stop, quote FROM (
    SELECT DISTINCT ON (e.id, looked_at) e.id, e.name, m.start, m."end" AS stop,
           m.chunk_id = ANY(%(looked_at)s::uuid[]) AS looked_at,
           CASE WHEN m.start - c.start > %(around)s THEN '…' ELSE '' END
           || substr(c.text, greatest(m.start - c.start - %(around)s, 0) + 1,
                     m."end" - greatest(m.start - %(around)s, c.start) + %(around)s)
           || CASE WHEN c."end" - m."end" > %(around)s THEN '…' ELSE '' END AS quote
      FROM ingestion_mention AS m
      JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = m.entity_id
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = m.chunk_id
     WHERE m.workspace_id = %(workspace)s AND m.document_id = %(document)s
       AND (%(chunks)s::uuid[] IS NULL OR m.chunk_id = ANY(%(chunks)s::uuid[]))
     ORDER BY e.id, looked_at, m.start) AS first
 ORDER BY start, name
"""


QUOTE_LENGTH: Final = 300
AROUND: Final = 60
"""Characters shown on either side of a name."""
# A piece of a word at an end that was cut. Texts without spaces are cut anywhere.
CUT_WORD: Final = re.compile(r"(?<=^…)\S{0,30}\s+|\s+\S{0,30}(?=…$)")
MOST_KEPT: Final = 5000
"""Facts captured: more than any page shows."""

FIRST, READING, COMPARED, UNKNOWN = "first", "reading", "compared", "unknown"
PASSAGES: Final = ("kept", "changed", "new", "gone")


@dataclass(frozen=True, slots=True)
class PassageChanges:
    """Ids of passages that go, come, or stay but are read again, and the counts people see."""

    counts: Mapping[str, int]
    gone: Sequence[uuid.UUID]
    new: Sequence[uuid.UUID]
    read_again: Sequence[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Changes:
    """``against`` is the previous version's number, None for a first version.

    ``state`` is ``first``, ``reading`` until the version is fully read, ``compared``, or
    ``unknown`` if it never was because another version came too soon. ``passages`` counts those
    kept, changed, new and gone; empty until they are counted.
    """

    number: int
    against: int | None
    state: str
    passages: Mapping[str, int] = field(default_factory=dict)
    facts: FactChanges = field(default_factory=FactChanges)


def changes_of(*, workspace: Workspace, version: DocumentVersion) -> Changes:
    """What changed compared with the previous version."""
    kept = version.changes
    if kept is None:
        before = version_before(workspace=workspace, version=version)
        if before is None:
            return Changes(version.number, None, FIRST)
        was_live = version.document.live_number >= version.number
        return Changes(version.number, before.number, UNKNOWN if was_live else READING)
    passages = {name: kept["passages"].get(name, 0) for name in PASSAGES}
    if "facts" in kept:
        facts = FactChanges.from_json(kept["facts"])
        return Changes(version.number, kept["from"], COMPARED, passages, facts)
    is_live = version.document.live_number == version.number
    return Changes(version.number, kept["from"], READING if is_live else UNKNOWN, passages)


def version_before(*, workspace: Workspace, version: DocumentVersion) -> DocumentVersion | None:
    """The version to compare with: the one it replaced, or else the previous number."""
    rows = DocumentVersion.objects.in_workspace(workspace).filter(document_id=version.document_id)
    if version.changes:
        return rows.filter(number=version.changes["from"]).first()
    return rows.filter(number__lt=version.number).order_by("-number").first()


def text_changes_of(*, workspace: Workspace, version: DocumentVersion) -> list[TextChange]:
    """Both texts by paragraph; empty if there is no previous version, or one was never read."""
    before = version_before(workspace=workspace, version=version)
    if before is None or not (before.parsed_at and version.parsed_at):
        return []
    return text_changes(before.text, version.text)


def capture(
    workspace_id: uuid.UUID,
    before: DocumentVersion,
    version: DocumentVersion,
    passages: PassageChanges,
) -> None:
    """Record what passages say before they are removed or read again.

    A version made live once more was already compared the first time.
    """
    if before.changes and "before" in before.changes:
        # It is replaced before it was fully read: drop what was captured for it.
        before.changes = {name: before.changes[name] for name in ("from", "passages")}
        _save(workspace_id, before)
    if version.changes is not None or version.number == 1:
        return
    chunks = [*passages.gone, *passages.read_again]
    stated, named = _read(workspace_id, version.document_id, chunks, chunks)
    version.changes = {
        "from": before.number,
        "passages": dict(passages.counts),
        "looked_at": [str(pk) for pk in (*passages.new, *passages.read_again)],
        "before": {
            "facts": [asdict(_fact(row)) for row in stated[:MOST_KEPT]],
            "named": [asdict(_named(row)) for row in named[:MOST_KEPT]],
        },
    }
    _save(workspace_id, version)


def compare_read(workspace_id: uuid.UUID, versions: Sequence[uuid.UUID | None]) -> None:
    """Compare versions whose facts have now been read with what was captured; skip all others."""
    with access.in_workspace(workspace_id):
        rows = DocumentVersion.objects.in_workspace(workspace_id).filter(
            DocumentVersion.IS_LIVE_VERSION, pk__in=versions, changes__has_key="before"
        )
        for version in rows.defer("text"):
            _compare(workspace_id, version)


def _compare(workspace_id: uuid.UUID, version: DocumentVersion) -> None:
    kept: dict[str, Any] = version.changes or {}
    before = Statements(
        [StatedFact(**one) for one in kept["before"]["facts"]],
        [NamedEntity(**one) for one in kept["before"]["named"]],
    )
    looked_at = [uuid.UUID(pk) for pk in kept["looked_at"]]
    stated, named = _read(workspace_id, version.document_id, looked_at)
    difference = compare(
        before,
        Statements(
            [_fact(row) for row in stated if row[7]], [_named(row) for row in named if row[2]]
        ),
        facts={_fact(row).key for row in stated if not row[7]},
        named={str(row[0]) for row in named if not row[2]},
    )
    version.changes = {
        "from": kept["from"],
        "passages": kept["passages"],
        "facts": difference.as_json(),
    }
    _save(workspace_id, version)


def _save(workspace_id: uuid.UUID, version: DocumentVersion) -> None:
    rows = DocumentVersion.objects.in_workspace(workspace_id).filter(pk=version.pk)
    rows.update(changes=version.changes)


def _read(
    workspace_id: uuid.UUID,
    document_id: uuid.UUID,
    looked_at: list[uuid.UUID],
    chunks: list[uuid.UUID] | None = None,
) -> tuple[list[Row], list[Row]]:
    """Rows of ``STATED`` and ``NAMED``, of these chunks or of the whole document."""
    values = {
        "workspace": workspace_id,
        "document": document_id,
        "chunks": chunks,
        "looked_at": looked_at,
        "most": QUOTE_LENGTH,
        "around": AROUND,
    }
    return run_sql(STATED, values), run_sql(NAMED, values)


def _fact(row: Row) -> StatedFact:
    kind, source_id, source, target_id, target, predicate, text, _, start, end, quote = row
    return StatedFact(
        kind, str(source_id), source, str(target_id or ""), target, predicate, text, start, end,
        quote,
    )  # fmt: skip


def _named(row: Row) -> NamedEntity:
    entity_id, name, _, start, end, quote = row
    whole = CUT_WORD.sub(" ", " ".join(quote.split()))
    return NamedEntity(str(entity_id), name, start, end, whole)
