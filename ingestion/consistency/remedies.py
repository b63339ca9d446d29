"""What mends what is adrift. Nothing here deletes what a person made or decided.

What documents say is read anew from the documents; counts, descriptions, topics and summaries are
left to the stages that make them: what is adrift is marked, and a refresh asked for.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, LiteralString

from ingestion import groups, name_lock, pipeline, projection, record, shelf
from ingestion.consistency import files, references
from ingestion.consistency import statements as sql
from ingestion.consistency import topic_statements as topics
from ingestion.consistency.report import Found
from ingestion.models import Chunk, Document, IngestionJob, ShelvedChunk
from ingestion.stages import snapshot
from ingestion.stages.resolve import saving
from kb_project.graph.stores import graph_store
from kb_project.sql import run_sql, run_sql_count
from workspaces import access


class Remedy(StrEnum):
    """A way to mend; ``sentence`` says what it does."""

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
    Remedy.REMOVE: "Rows that a machine wrote are removed; what people wrote is left to them.",
    Remedy.PUT_AWAY: "They are archived with their documents, or removed with their version.",
    Remedy.CUT: "The documents are cut into passages and read again.",
    Remedy.SITUATE: "The documents' words are indexed again.",
    Remedy.EMBED: "The missing vectors are made.",
    Remedy.EXTRACT: "The documents are read for facts again.",
    Remedy.RESOLVE: "The documents' names and facts are rewritten from what was read.",
    Remedy.RECOUNT: "The next refresh counts and describes them again.",
    Remedy.RECOUNT_LINKS: "The next refresh counts and describes them again.",
    Remedy.REMOVE_ALIASES: "They are removed.",
    Remedy.REFRESH: "A refresh of the workspace makes them again.",
    Remedy.REPORT: "The next refresh rewrites the reports.",
    Remedy.GROW: "The next refresh rebuilds the summaries.",
    Remedy.PROJECT: "The projection is rebuilt from the tables.",
    Remedy.WALK: "The snapshot is rebuilt.",
    Remedy.SET_ASIDE: "They are moved to a folder of their own beside the documents' files.",
}

# What is run again of a document's job.
STAGES: Final[dict[Remedy, tuple[str, ...]]] = {
    Remedy.CUT: ("chunk", "situate", "embed", "extract", "resolve"),
    Remedy.SITUATE: ("situate", "embed"),
    Remedy.EMBED: ("embed",),
    Remedy.EXTRACT: ("extract", "resolve"),
    Remedy.RESOLVE: ("resolve",),
}
# What a stage finds done it leaves alone.
UNDONE_FIRST: Final[dict[str, tuple[LiteralString, ...]]] = {
    "situate": (sql.FORGET_WORDS, sql.FORGET_LENGTHS),
}


def apply(remedy: Remedy, workspace_id: uuid.UUID, found: Found) -> None:
    """Mend, or have it mended, in transactions of its own."""
    if remedy in STAGES:
        read_again(workspace_id, found, STAGES[remedy])
    else:
        OTHERS[remedy](workspace_id, found)


def read_again(workspace_id: uuid.UUID, found: Found, stages: Sequence[str]) -> int:
    """Have documents go through some stages once more; returns how many."""
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "documents": sorted(found.targets)}
        rows = run_sql(sql.JOBS_OF, values)
        documents = [document_id for document_id, _ in rows]
        for statement in UNDONE_FIRST.get(stages[0], ()):
            run_sql(statement, {**values, "documents": documents})
        if "chunk" in stages:
            _forget_passages(workspace_id, documents)
        jobs = IngestionJob.objects.in_workspace(workspace_id).in_bulk([row[1] for row in rows])
        for job in jobs.values():
            record.repeat(job, stages)
        lane = pipeline.EMBEDDING if stages == ("embed",) else pipeline.MAIN
        groups.call_for(workspace_id, list(jobs), lane)
    return len(jobs)


def _forget_passages(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Passages take their facts with them: those that these are of are marked first."""
    saving.forget(workspace_id, documents)
    Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents).delete()


def _remove(workspace_id: uuid.UUID, _found: Found) -> None:
    with access.in_workspace(workspace_id):
        references.remove(workspace_id)


def _put_away(workspace_id: uuid.UUID, found: Found) -> None:
    """What belongs on the shelf goes there; what another version of a live document said goes."""
    with access.in_workspace(workspace_id):
        name_lock.hold(workspace_id)
        documents = list(Document.objects.in_workspace(workspace_id).filter(pk__in=found.targets))
        away = [one.pk for one in documents if not one.is_live]
        shelved = ShelvedChunk.objects.in_workspace(workspace_id).filter(document_id__in=away)
        twice = set(shelved.values_list("document_id", flat=True))
        if once := [one for one in away if one not in twice]:
            shelf.put(workspace_id, once)
        shelf.clear(workspace_id, sorted(twice))
        _forget_strays(workspace_id, [one.pk for one in documents if one.is_live])
        pipeline.request_refresh(workspace_id)


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
            pipeline.request_refresh(workspace_id)

    return apply_to


def _remove_aliases(workspace_id: uuid.UUID, found: Found) -> None:
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "ids": sorted(found.targets)}
        run_sql_count(sql.REMOVE_ALIASES, values)


def _refresh(workspace_id: uuid.UUID, _found: Found) -> None:
    pipeline.request_refresh(workspace_id)


def _grow(workspace_id: uuid.UUID, _found: Found) -> None:
    with access.in_workspace(workspace_id):
        run_sql_count(topics.FORGET_DIGESTS, {"workspace": workspace_id})
        pipeline.request_refresh(workspace_id)


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
