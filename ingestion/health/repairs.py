"""Repairs of drift. Nothing here deletes what a person made or decided.

Facts are read again from the documents; counts, descriptions, topics and summaries are left to
their stages: rows are marked, and a refresh is requested.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, LiteralString

from ingestion.documents import archive
from ingestion.health import files, references, sql, topic_sql as topics
from ingestion.health.report import Found
from ingestion.knowledge import projection
from ingestion.models import ArchivedChunk, Chunk, Document, IngestionJob
from ingestion.pipeline import batching, runner, transitions
from ingestion.resolution import locks
from ingestion.stages import snapshot
from ingestion.stages.resolve import saving
from kb_project.graph.stores import graph_store
from kb_project.sql import run_sql, run_sql_count
from workspaces import access


class Remedy(StrEnum):
    """A kind of repair; ``sentence`` says what it does."""

    REMOVE = "remove"
    PUT_AWAY = "put_away"
    CUT = "cut"
    SITUATE = "situate"
    EMBED = "embed"
    EXTRACT = "extract"
    RESOLVE = "resolve"
    RECOUNT = "recount"
    RECOUNT_LINKS = "recount_links"
    REMOVE_ALIASES = "remove_aliases"
    REFRESH = "refresh"
    REPORT = "report"
    GROW = "grow"
    PROJECT = "project"
    WALK = "walk"
    SET_ASIDE = "set_aside"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES: Final[dict[Remedy, str]] = {
    Remedy.REMOVE: "Generated rows are removed; rows that people wrote are kept.",
    Remedy.PUT_AWAY: "They are archived with their documents, or removed with their versions.",
    Remedy.CUT: "The documents are cut into passages and read again.",
    Remedy.SITUATE: "The documents' words are indexed again.",
    Remedy.EMBED: "The missing vectors are computed.",
    Remedy.EXTRACT: "The documents are read for facts again.",
    Remedy.RESOLVE: "The documents' names and facts are rewritten from their extractions.",
    Remedy.RECOUNT: "The next refresh counts and describes them again.",
    Remedy.RECOUNT_LINKS: "The next refresh counts and describes them again.",
    Remedy.REMOVE_ALIASES: "They are removed.",
    Remedy.REFRESH: "A refresh of the workspace rebuilds them.",
    Remedy.REPORT: "The next refresh rewrites the reports.",
    Remedy.GROW: "The next refresh rebuilds the summaries.",
    Remedy.PROJECT: "The projection is rebuilt from the tables.",
    Remedy.WALK: "The snapshot is rebuilt.",
    Remedy.SET_ASIDE: "They are moved to a separate folder beside the documents' files.",
}

# The stages of a document's job to repeat.
STAGES: Final[dict[Remedy, tuple[str, ...]]] = {
    Remedy.CUT: ("chunk", "situate", "embed", "extract", "resolve"),
    Remedy.SITUATE: ("situate", "embed"),
    Remedy.EMBED: ("embed",),
    Remedy.EXTRACT: ("extract", "resolve"),
    Remedy.RESOLVE: ("resolve",),
}
# A stage skips finished output, so delete it first.
UNDONE_FIRST: Final[dict[str, tuple[LiteralString, ...]]] = {
    "situate": (sql.FORGET_WORDS, sql.FORGET_LENGTHS),
}


def apply(remedy: Remedy, workspace_id: uuid.UUID, found: Found) -> None:
    """Repair at once or queue the repair, in separate transactions."""
    if remedy in STAGES:
        read_again(workspace_id, found, STAGES[remedy])
    else:
        OTHERS[remedy](workspace_id, found)


def read_again(workspace_id: uuid.UUID, found: Found, stages: Sequence[str]) -> int:
    """Queue stages of documents again; returns the number of documents."""
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "documents": sorted(found.targets)}
        rows = run_sql(sql.JOBS_OF, values)
        documents = [document_id for document_id, _ in rows]
        for statement in UNDONE_FIRST.get(stages[0], ()):
            run_sql(statement, {**values, "documents": documents})
        if "chunk" in stages:
            # The entities and relationships that lose their evidence are marked first.
            saving.forget(workspace_id, documents)
            Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents).delete()
        jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk([row[1] for row in rows])
        for job in jobs.values():
            transitions.repeat(job, stages)
        lane = runner.EMBEDDING if stages == ("embed",) else runner.MAIN
        batching.call_for(workspace_id, list(jobs), lane)
    return len(jobs)


def _remove(workspace_id: uuid.UUID, _found: Found) -> None:
    with access.in_workspace(workspace_id):
        references.remove(workspace_id)


def _put_away(workspace_id: uuid.UUID, found: Found) -> None:
    """Archive passages of documents that are not live; delete those of other versions
    of live ones.
    """
    with access.in_workspace(workspace_id):
        locks.hold(workspace_id)
        documents = list(Document.objects.in_workspace(workspace_id).filter(pk__in=found.targets))
        away = [one.pk for one in documents if not one.is_live]
        archived = ArchivedChunk.objects.in_workspace(workspace_id).filter(document_id__in=away)
        twice = set(archived.values_list("document_id", flat=True))
        if once := [one for one in away if one not in twice]:
            archive.put(workspace_id, once)
        archive.clear(workspace_id, sorted(twice))
        _forget_strays(workspace_id, [one.pk for one in documents if one.is_live])
        runner.request_refresh(workspace_id)


def _forget_strays(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    values = {"workspace": workspace_id, "busy": []}
    stray = [row[0] for row in run_sql(sql.STRAY_CHUNKS, values)]
    saving.forget(workspace_id, documents)
    Chunk.objects.in_workspace(workspace_id).filter(
        pk__in=stray, document_id__in=documents
    ).delete()
    read_again(workspace_id, Found(targets=frozenset(documents)), STAGES[Remedy.RESOLVE])


def _mark_and_refresh(*statements: LiteralString) -> Callable[[uuid.UUID, Found], None]:
    def apply_to(workspace_id: uuid.UUID, found: Found) -> None:
        with access.in_workspace(workspace_id):
            values = {"workspace": workspace_id, "ids": sorted(found.targets)}
            for statement in statements:
                run_sql_count(statement, values)
            runner.request_refresh(workspace_id)

    return apply_to


def _remove_aliases(workspace_id: uuid.UUID, found: Found) -> None:
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "ids": sorted(found.targets)}
        run_sql_count(sql.REMOVE_ALIASES, values)


def _refresh(workspace_id: uuid.UUID, _found: Found) -> None:
    runner.request_refresh(workspace_id)


def _grow(workspace_id: uuid.UUID, _found: Found) -> None:
    with access.in_workspace(workspace_id):
        run_sql_count(topics.FORGET_DIGESTS, {"workspace": workspace_id})
        runner.request_refresh(workspace_id)


def _project(workspace_id: uuid.UUID, _found: Found) -> None:
    projection.rebuild(workspace_id, graph_store())


def _walk(workspace_id: uuid.UUID, _found: Found) -> None:
    snapshot.renew(workspace_id)


def _set_aside(workspace_id: uuid.UUID, _found: Found) -> None:
    with access.in_workspace(workspace_id):
        files.set_aside(workspace_id)


OTHERS: Final[dict[Remedy, Callable[[uuid.UUID, Found], None]]] = {
    Remedy.REMOVE: _remove,
    Remedy.PUT_AWAY: _put_away,
    Remedy.RECOUNT: _mark_and_refresh(sql.MARK_ENTITIES),
    Remedy.RECOUNT_LINKS: _mark_and_refresh(sql.MARK_RELATIONSHIPS),
    Remedy.REMOVE_ALIASES: _remove_aliases,
    Remedy.REFRESH: _refresh,
    Remedy.REPORT: _mark_and_refresh(sql.MARK_COMMUNITIES, topics.FORGET_REPORTS),
    Remedy.GROW: _grow,
    Remedy.PROJECT: _project,
    Remedy.WALK: _walk,
    Remedy.SET_ASIDE: _set_aside,
}
