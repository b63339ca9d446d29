"""The checks: each with its sentence, what finds the drift, and the repair that rebuilds.

Nothing here deletes what a person made or decided. Facts are read again from the documents; counts,
descriptions, topics and summaries are left to their stages: rows are marked, and a refresh is
requested.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, LiteralString

from ingestion.documents import archive
from ingestion.health import comparisons, references, sql
from ingestion.health.state import DriftRow, Finder, Findings, WorkspaceState
from ingestion.knowledge import projection
from ingestion.knowledge.corpus import MISCOUNTED, RECOUNT
from ingestion.models import (
    Alias,
    ArchivedChunk,
    Chunk,
    Community,
    CommunityReport,
    Document,
    Entity,
    IngestionJob,
    Relationship,
    SummaryTree,
)
from ingestion.pipeline import batching, runner, transitions
from ingestion.resolution import locks
from ingestion.stages import snapshot
from ingestion.stages.resolve import applying
from kb_project.ports import graph_store
from kb_project.sql import run_sql, run_sql_count
from workspaces import access

Targets = Collection[uuid.UUID]
Repair = Callable[[uuid.UUID, Targets], object]
"""Repairs a workspace's rows at once, or queues their repair, in separate transactions."""


@dataclass(frozen=True, slots=True)
class Check:
    """``one`` and ``several`` describe findings, after their number.

    ``next_step`` says what the repair does or, without one, what a person should do. ``stage`` is
    the stage of a workspace's job that rebuilds the data: while it is ahead, findings wait for it.
    """

    name: str
    one: str
    several: str
    finders: tuple[Finder, ...]
    next_step: str
    repair: Repair | None = None
    stage: str = ""

    def find(self, state: WorkspaceState) -> Findings:
        return Findings.of(row for find in self.finders for row in find(state))

    def sentence(self, count: int) -> str:
        return f"{count:,} {self.one if count == 1 else self.several}."


def _rows(statement: LiteralString, state: WorkspaceState) -> list[Any]:
    return run_sql(statement, state.values)


def by(*statements: LiteralString) -> tuple[Finder, ...]:
    return tuple(partial(_rows, statement) for statement in statements)


# --- rebuilding documents -------------------------------------------------------------------------
def repeat(workspace_id: uuid.UUID, documents: Targets, *stages: str) -> None:
    """Queue stages of documents again, except of those that are being read or archived."""
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "documents": sorted(documents)}
        rows = run_sql(sql.JOBS_OF, values)
        values["documents"] = idle = [document_id for document_id, _ in rows]
        chunks = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=idle)
        # A stage skips finished output, so delete it first.
        if "chunk" in stages:
            # The entities and relationships that lose their evidence are marked first.
            applying.forget(workspace_id, idle)
            chunks.delete()
        elif "situate" in stages:
            run_sql_count(sql.FORGET_WORDS, values)
            chunks.update(terms=None)
        jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk([row[1] for row in rows])
        for job in jobs.values():
            transitions.repeat(job, stages)
        lane = runner.EMBEDDING if stages == ("embed",) else runner.MAIN
        batching.call_for(workspace_id, list(jobs), lane)


def repeating(*stages: str) -> Repair:
    return lambda workspace_id, documents: repeat(workspace_id, documents, *stages)


def match_archive(workspace_id: uuid.UUID, targets: Targets) -> None:
    """Have the passages of live versions of live documents searched, and no others."""
    with access.in_workspace(workspace_id):
        locks.hold(workspace_id)
        documents = list(Document.objects.in_workspace(workspace_id).filter(pk__in=targets))
        archived = ArchivedChunk.objects.in_workspace(workspace_id).filter(document_id__in=targets)
        in_archive = set(archived.values_list("document_id", flat=True))
        away = [one.pk for one in documents if not one.is_live]
        if once := [one for one in away if one not in in_archive]:
            archive.put(workspace_id, once)
        archive.clear(workspace_id, [one for one in away if one in in_archive])
        _match_live(workspace_id, [one.pk for one in documents if one.is_live])
        runner.request_refresh(workspace_id)


def _match_live(workspace_id: uuid.UUID, live: list[uuid.UUID]) -> None:
    """Remove passages of earlier versions, and archived ones; restore those that are only there."""
    chunks = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=live)
    archived = ArchivedChunk.objects.in_workspace(workspace_id).filter(document_id__in=live)
    searched = set(chunks.values_list("document_id", flat=True))
    archived.filter(document_id__in=searched).delete()
    if only_archived := sorted(set(archived.values_list("document_id", flat=True))):
        archive.restore(workspace_id, only_archived)
    stray = [row[0] for row in run_sql(sql.STRAY_CHUNKS, {"workspace": workspace_id, "busy": []})]
    if outdated := set(chunks.filter(pk__in=stray).values_list("document_id", flat=True)):
        applying.forget(workspace_id, sorted(outdated))
        chunks.filter(pk__in=stray).delete()
        repeat(workspace_id, outdated, "resolve")


# --- rebuilding what follows from documents -------------------------------------------------------
def refresh(workspace_id: uuid.UUID, _targets: Targets = ()) -> None:
    runner.request_refresh(workspace_id)


def recount(workspace_id: uuid.UUID, targets: Targets) -> None:
    """Mark entities and relationships for the refresh; remove aliases."""
    with access.in_workspace(workspace_id):
        Alias.objects.in_workspace(workspace_id).filter(pk__in=targets).delete()
        for model in (Entity, Relationship):
            rows = model.objects.in_workspace(workspace_id).filter(pk__in=targets)
            # Locked in one order, so that there is no deadlock with a stage.
            held = rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
            rows.filter(pk__in=list(held)).update(is_changed=True)
        refresh(workspace_id)


def rewrite_reports(workspace_id: uuid.UUID, targets: Targets) -> None:
    """Have topics grouped again, and the reports of the given ones written again."""
    with access.in_workspace(workspace_id):
        topics = Community.objects.in_workspace(workspace_id).filter(pk__in=targets)
        topics.update(is_changed=True)
        # A report with an unchanged digest is left as it is.
        reports = CommunityReport.objects.in_workspace(workspace_id)
        reports.filter(community_id__in=targets).update(digest="")
        refresh(workspace_id)


def rebuild_summaries(workspace_id: uuid.UUID, _targets: Targets) -> None:
    """Have trees built again; nodes whose children are unchanged keep their text."""
    with access.in_workspace(workspace_id):
        SummaryTree.objects.in_workspace(workspace_id).update(digest="")
        refresh(workspace_id)


def miscounted(state: WorkspaceState) -> list[DriftRow]:
    rows = run_sql(MISCOUNTED, {"workspace": state.workspace_id})
    return [(fingerprint or "passages and topics", None) for fingerprint, *_ in rows]


def correct_counts(workspace_id: uuid.UUID, _targets: Targets) -> None:
    with access.in_workspace(workspace_id):
        run_sql(RECOUNT, {"workspace": workspace_id})


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "references",
        "row refers to a missing row",
        "rows refer to missing rows",
        (references.to_missing_rows,),
        "Generated rows are removed; rows that people wrote are kept.",
        lambda workspace_id, _: references.remove(workspace_id),
    ),
    Check(
        "archive",
        "passage is searched or archived contrary to its document's state",
        "passages are searched or archived contrary to their documents' states",
        by(sql.STRAY_CHUNKS, sql.LEFT_IN_ARCHIVE),
        "They are archived or restored with their documents, or removed with their versions.",
        match_archive,
    ),
    Check(
        "passages",
        "document has passages that differ from its text, or none",
        "documents have passages that differ from their texts, or none",
        by(sql.UNCUT_VERSIONS, sql.TEXT_DIFFERS),
        "The documents are cut into passages and read again.",
        repeating("chunk", "situate", "embed", "extract", "resolve"),
    ),
    Check(
        "words",
        "passage has words in the index that differ from its text",
        "passages have words in the index that differ from their texts",
        (*by(sql.UNINDEXED_CHUNKS), comparisons.in_words),
        "The documents' words are indexed again.",
        repeating("situate", "embed"),
    ),
    Check(
        "counts",
        "count that searches rely on differs from the rows",
        "counts that searches rely on differ from the rows",
        (miscounted,),
        "They are counted again.",
        correct_counts,
    ),
    Check(
        "vectors",
        "passage cannot be found by meaning",
        "passages cannot be found by meaning",
        by(sql.CHUNKS_WITHOUT_VECTOR),
        "The missing vectors are computed.",
        repeating("embed"),
        stage="reembed",
    ),
    Check(
        "extractions",
        "passage was never read for facts",
        "passages were never read for facts",
        by(sql.UNREAD_CHUNKS),
        "The documents are read for facts again.",
        repeating("extract", "resolve"),
    ),
    Check(
        "facts",
        "document has names or facts that differ from its text or from people's decisions",
        "documents have names or facts that differ from their texts or from people's decisions",
        (*by(sql.MISPLACED_MENTIONS, sql.MISPLACED_FACTS), comparisons.in_facts),
        "The documents' names and facts are rewritten from their extractions.",
        repeating("resolve"),
        stage="reresolve",
    ),
    Check(
        "decisions",
        "decision still applies although its change was undone",
        "decisions still apply although their changes were undone",
        by(sql.UNDONE_IN_FORCE),
        "Find it in the history and undo it again.",
    ),
    Check(
        "entities",
        "entity or fact has a name, description or count that no document supports",
        "entities or facts have names, descriptions or counts that no document supports",
        by(
            sql.UNSUPPORTED_ENTITIES,
            sql.MISCOUNTED_ENTITIES,
            sql.MISLINKED_ENTITIES,
            sql.UNQUOTABLE_ENTITIES,
            sql.UNSUPPORTED_ALIASES,
            sql.UNSUPPORTED_RELATIONSHIPS,
            sql.MISCOUNTED_RELATIONSHIPS,
        ),
        "The next refresh counts and describes them again; unsupported aliases are removed.",
        recount,
    ),
    Check(
        "refresh",
        "change is waiting for a refresh that was never requested",
        "changes are waiting for a refresh that was never requested",
        (lambda state: () if state.is_ahead("describe") else state.changes,),
        "A refresh of the workspace is requested.",
        refresh,
    ),
    Check(
        "projection",
        "entity or fact differs in the graph projection",
        "entities or facts differ in the graph projection",
        (comparisons.in_projection,),
        "The projection is rebuilt from the tables.",
        lambda workspace_id, _: projection.rebuild(workspace_id, graph_store()),
    ),
    Check(
        "topics",
        "entity or topic is grouped wrongly, or has a report without sources",
        "entities or topics are grouped wrongly, or have reports without sources",
        by(
            sql.UNGROUPED_ENTITIES,
            sql.MISCOUNTED_COMMUNITIES,
            sql.MISNESTED_COMMUNITIES,
            sql.UNREPORTED_COMMUNITIES,
            sql.UNSUPPORTED_FINDINGS,
            sql.MISSING_REFERENCES,
        ),
        "The next refresh groups them again and rewrites the reports.",
        rewrite_reports,
        stage="reports",
    ),
    Check(
        "summaries",
        "summary tree is incomplete or outdated",
        "summary trees are incomplete or outdated",
        (*by(sql.BROKEN_TREES), comparisons.in_summaries),
        "The next refresh rebuilds the summaries.",
        rebuild_summaries,
        stage="tree",
    ),
    Check(
        "snapshot",
        "passage, name or mention differs in the walk's snapshot",
        "passages, names or mentions differ in the walk's snapshot",
        (comparisons.in_snapshot,),
        "The snapshot is rebuilt.",
        lambda workspace_id, _: snapshot.renew(workspace_id),
        stage="snapshot",
    ),
    Check(
        "missing_files",
        "document's file is missing from disk",
        "documents' files are missing from disk",
        (references.to_missing_files,),
        "Restore the file from a backup, or add it again as a new version; its text and facts are"
        " untouched.",
    ),
    Check(
        "orphan_files",
        "file on disk belongs to no document",
        "files on disk belong to no document",
        (references.unknown_files,),
        "They are moved to a separate folder beside the documents' files.",
        lambda workspace_id, _: references.set_aside(workspace_id),
    ),
)
