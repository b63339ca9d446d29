"""Copy documents of a workspace into one of its editions.

A transaction sees one workspace, so rows go through temporary tables: read in the source's scope,
written in the edition's. They keep their ids; everything else in the edition is derived from them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from django.db import transaction
from django.db.models import Model
from psycopg import sql

from ingestion.documents import archive
from ingestion.editions.sql import DELETE_DOCUMENTS
from ingestion.knowledge.corpus import CORPUS_CHANGED
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Collection,
    Document,
    DocumentVersion,
    IngestionJob,
    Posting,
    SentenceVector,
    StageRun,
)
from ingestion.stages.resolve.applying import resolve_documents
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

GROUP: Final = 32
"""Documents copied in one transaction."""

_CHUNKS: Final = sql.SQL("""chunk_id = ANY (ARRAY(SELECT id FROM ingestion_chunk
 WHERE workspace_id = %(source)s AND document_id = ANY(%(documents)s::uuid[])))""")
_DOCUMENT: Final = sql.SQL("document_id = ANY(%(documents)s::uuid[])")
# Unfinished work is the source's. Its document is copied again when it has ended.
_ENDED: Final = sql.SQL("""document_id = ANY(%(documents)s::uuid[])
 AND state NOT IN ('pending', 'running', 'paused')""")
_RUNS: Final = sql.SQL("""job_id = ANY (ARRAY(SELECT id FROM ingestion_ingestionjob
 WHERE workspace_id = %(source)s AND document_id = ANY(%(documents)s::uuid[])
   AND state NOT IN ('pending', 'running', 'paused')))""")

# In the order of their references. What is archived is not searched: it is copied when it is back.
RECORD: Final[tuple[tuple[type[Model], sql.SQL], ...]] = (
    (Document, sql.SQL("id = ANY(%(documents)s::uuid[])")),
    (DocumentVersion, _DOCUMENT),
    (IngestionJob, _ENDED),
    (StageRun, _RUNS),
)
PASSAGES: Final[tuple[tuple[type[Model], sql.SQL], ...]] = (
    (Chunk, _DOCUMENT),
    (ChunkExtraction, _CHUNKS),
    (ChunkEmbedding, _CHUNKS),
    (SentenceVector, _CHUNKS),
    (Posting, _CHUNKS),
)


def copy_collections(source: uuid.UUID, edition: uuid.UUID, hidden: Sequence[uuid.UUID]) -> None:
    """Give the edition the collections that its audience sees."""
    with access.in_workspace(source):
        seen = list(Collection.objects.in_workspace(source).exclude(pk__in=hidden))
    with access.in_workspace(edition):
        Collection.objects.in_workspace(edition).exclude(pk__in=[one.pk for one in seen]).delete()
        there = Collection.objects.in_workspace(edition).in_bulk()
        for one in seen:
            rows = Collection.objects.in_workspace(edition).filter(pk=one.pk)
            if one.pk not in there:
                Collection.objects.create(pk=one.pk, workspace_id=edition, name=one.name)
            elif there[one.pk].name != one.name:
                rows.update(name=one.name)


def copy_documents(
    source: uuid.UUID, edition: uuid.UUID, documents: Sequence[uuid.UUID], *, passages: bool
) -> None:
    """Copy some documents as they are now, in place of earlier copies, and resolve their names.

    Without ``passages``, only the rows that lists show.
    """
    tables = RECORD + PASSAGES if passages else RECORD
    for first in range(0, len(documents), GROUP):
        group = list(documents[first : first + GROUP])
        with (
            transaction.atomic(),
            _read(source, group, tables) as read,
            access.in_workspace(edition),
            bulk_plans(),
        ):
            remove_documents(edition, group)
            for model in read:
                _write(edition, model)
            if passages:
                _resolve(edition, group)


def remove_documents(edition: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Remove copies and what derives from them, in the edition's scope; propagate afterwards."""
    values = {"workspace": edition, "documents": list(documents)}
    archive.clear(edition, documents)
    run_sql(DELETE_DOCUMENTS, values)


def _resolve(edition: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    values = {"workspace": edition, "documents": list(documents)}
    resolve_documents(edition, dict(run_sql(archive.VERSIONS, values)))
    run_sql(CORPUS_CHANGED, values)


@contextmanager
def _read(
    source: uuid.UUID,
    documents: list[uuid.UUID],
    tables: Sequence[tuple[type[Model], sql.SQL]],
) -> Iterator[list[type[Model]]]:
    values = {"source": source, "documents": documents}
    with access.in_workspace(source):
        for model, condition in tables:
            statement = sql.SQL(
                "CREATE TEMPORARY TABLE {copy} ON COMMIT DROP AS"
                " SELECT {columns} FROM {table} WHERE workspace_id = %(source)s AND {condition}"
            )
            run_sql(statement.format(**_names(model), condition=condition), values)
    yield [model for model, _ in tables]
    for model, _ in tables:
        run_sql(sql.SQL("DROP TABLE {copy}").format(copy=_names(model)["copy"]))


def _write(edition: uuid.UUID, model: type[Model]) -> None:
    statement = sql.SQL(
        "INSERT INTO {table} (workspace_id, {columns}) SELECT %(edition)s, {columns} FROM {copy}"
    )
    run_sql(statement.format(**_names(model)), {"edition": edition})


def _names(model: type[Model]) -> dict[str, sql.Composable]:
    columns = [field.column for field in model._meta.concrete_fields]
    table = model._meta.db_table
    return {
        "table": sql.Identifier(table),
        "copy": sql.Identifier("pg_temp", f"copied_{table}"),
        "columns": sql.SQL(", ").join(
            sql.Identifier(column) for column in columns if column != "workspace_id"
        ),
    }
