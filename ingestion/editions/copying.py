"""Copy documents of a workspace into one of its editions.

They keep their ids; everything else in the edition is derived from them. A transaction sees one
workspace, so rows go through temporary tables: read in the scope of the one, written in the scope
of the other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

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
from ingestion.stages.resolve.applying import resolve_again
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

# --- rows between a workspace and its editions ----------------------------------------------------
Tables = Sequence[tuple[type[Model], sql.SQL]]
"""Tables in the order of their references, each with the condition of the rows to transfer."""


@contextmanager
def transfer(
    source: uuid.UUID, target: uuid.UUID, tables: Tables, values: Mapping[str, Any]
) -> Iterator[Callable[..., None]]:
    """Read rows of ``source``, whose id the conditions know as ``%(source)s``, and yield the
    function that writes them, inside the scope of ``target``.

    It takes the models whose rows may be there and are replaced.
    """
    with transaction.atomic():
        with access.in_workspace(source):
            for model, condition in tables:
                statement = sql.SQL(
                    "CREATE TEMPORARY TABLE {copy} ON COMMIT DROP AS"
                    " SELECT {columns} FROM {table}"
                    " WHERE workspace_id = %(source)s AND {condition}"
                )
                statement_of = statement.format(**_names(model), condition=condition)
                run_sql(statement_of, {**values, "source": source})

        def write(*replaced: type[Model]) -> None:
            for model, _ in tables:
                _write(target, model, is_replaced=model in replaced)

        with access.in_workspace(target):
            yield write
        for model, _ in tables:
            run_sql(sql.SQL("DROP TABLE {}").format(copy_of(model)))


def copy_of(model: type[Model]) -> sql.Identifier:
    """Name the temporary table with the rows of a model."""
    return sql.Identifier("pg_temp", f"copied_{model._meta.db_table}")


def _write(target: uuid.UUID, model: type[Model], *, is_replaced: bool) -> None:
    names = _names(model)
    statement = sql.SQL(
        "INSERT INTO {table} (workspace_id, {columns}) SELECT %(target)s, {columns} FROM {copy}"
    ).format(**names)
    if is_replaced:
        statement += sql.SQL(
            " ON CONFLICT (workspace_id, id) DO UPDATE SET ({columns}) = ROW ({excluded})"
        ).format(**names)
    run_sql(statement, {"target": target})


def _names(model: type[Model]) -> dict[str, sql.Composable]:
    columns = [field.column for field in model._meta.concrete_fields]
    others = [column for column in columns if column != "workspace_id"]
    return {
        "table": sql.Identifier(model._meta.db_table),
        "copy": copy_of(model),
        "columns": sql.SQL(", ").join(map(sql.Identifier, others)),
        "excluded": sql.SQL(", ").join(sql.Identifier("excluded", one) for one in others),
    }


# --- documents -----------------------------------------------------------------------------------
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
RECORD: Final[Tables] = (
    (Document, sql.SQL("id = ANY(%(documents)s::uuid[])")),
    (DocumentVersion, _DOCUMENT),
    (IngestionJob, _ENDED),
    (StageRun, _RUNS),
)
PASSAGES: Final[Tables] = (
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
    tables = (*RECORD, *PASSAGES) if passages else RECORD
    for first in range(0, len(documents), GROUP):
        group = list(documents[first : first + GROUP])
        values = {"documents": group}
        with transfer(source, edition, tables, values) as write, bulk_plans():
            archive.clear(edition, group)
            for model in (DocumentVersion, IngestionJob):
                model.objects.in_workspace(edition).filter(document_id__in=group).delete()
            # The document's row stays, and with it what people cited of it.
            write(Document)
            if passages:
                _resolve(edition, group)


def remove_documents(edition: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Remove copies and what derives from them, in the edition's scope; propagate afterwards."""
    archive.clear(edition, documents)
    delete_documents(edition, documents)


def delete_documents(edition: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Delete the rows of documents from which nothing derives, in the edition's scope."""
    run_sql(DELETE_DOCUMENTS, {"workspace": edition, "documents": list(documents)})


def _resolve(edition: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    resolve_again(edition, documents)
    run_sql(CORPUS_CHANGED, {"workspace": edition})
