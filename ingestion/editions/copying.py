"""Copy documents, and people's decisions about names, into one of a workspace's editions.

Documents keep their ids; everything else in the edition is derived from them. A transaction sees
one workspace, so rows go through temporary tables: read in the scope of the one, written in the
scope of the other.

A decision that speaks of a name which only hidden documents have would tell of it, and so would
words that a person wrote with all documents at hand: neither is copied.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Model, QuerySet
from psycopg import sql

from ingestion.documents import archive
from ingestion.editions.sql import DELETE_DOCUMENTS, KEYS
from ingestion.knowledge.corpus import CORPUS_CHANGED
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    ClaimRuling,
    Collection,
    ConflictRuling,
    Document,
    DocumentVersion,
    EntityRuling,
    EventKind,
    HistoryEvent,
    IngestionJob,
    MentionPlacement,
    Posting,
    RelationshipRuling,
    ResolutionDecision,
    SentenceVector,
    StageRun,
)
from ingestion.resolution.conflicts import named_in
from ingestion.resolution.keys import key_of_name
from ingestion.stages.resolve.applying import resolve_again
from kb_project.sql import bulk_plans, run_sql
from workspaces import access
from workspaces.models import TenantModel

# --- decisions ------------------------------------------------------------------------------------
Field = EntityRuling.Field

NAMING: Final = (Field.NAME, Field.ALIAS, Field.NO_ALIAS)
COPIED: Final = (*NAMING, Field.TYPE, Field.DELETED, Field.CONFIRMED)
"""Not what people wrote themselves, nor entities that no document names."""
CLAIMS_COPIED: Final = (ClaimRuling.Field.DELETED, ClaimRuling.Field.STATUS)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A table of decisions: the names that a row speaks of, and what is blanked in its copy."""

    model: type[TenantModel]
    names: Callable[[Any], Iterable[str]]
    is_wanted: Callable[[Any], bool] = lambda _: True
    blanked: tuple[str, ...] = ()


KINDS: Final = (
    _Kind(
        ResolutionDecision,
        lambda row: [row.left_key, row.right_key],
        blanked=("reason",),
    ),
    _Kind(MentionPlacement, lambda row: [row.key, row.own_key, row.target_key]),
    _Kind(
        EntityRuling,
        lambda row: [row.key, key_of_name(row.value) if row.field in NAMING else ""],
        lambda row: row.field in COPIED,
    ),
    _Kind(
        RelationshipRuling,
        lambda row: [row.source_key, row.target_key],
        lambda row: row.field == RelationshipRuling.Field.DELETED,
    ),
    _Kind(ClaimRuling, lambda row: [row.key], lambda row: row.field in CLAIMS_COPIED),
    _Kind(ConflictRuling, lambda row: [row.key, *named_in(row.known)]),
)


def copy_decisions(
    source: uuid.UUID, edition: uuid.UUID, documents: Container[uuid.UUID]
) -> set[str]:
    """Replace the edition's copies; return the names that the changed decisions speak of."""
    with access.in_workspace(edition):
        known = {key for (key,) in run_sql(KEYS, {"workspace": edition})} | {""}
        there = [(kind, row) for kind in KINDS for row in _active(kind, edition)]
    with access.in_workspace(source):
        wanted = [
            (kind, row)
            for kind in KINDS
            for row in _active(kind, source)
            if _is_seen(kind, row, known, documents)
        ]
        events = {row.event_id: row.event.sequence for _, row in wanted if row.event_id is not None}
    before, after = ({row.pk for _, row in rows} for rows in (there, wanted))
    if after == before:
        return set()
    spoken_of = {row.pk: set(kind.names(row)) for kind, row in (*there, *wanted)}
    with access.in_workspace(edition):
        _replace(edition, wanted, events)
    return {name for pk in after ^ before for name in spoken_of[pk]} - {""}


def _active(kind: _Kind, workspace_id: uuid.UUID) -> list[Any]:
    rows: QuerySet[Any] = kind.model.objects.in_workspace(workspace_id)
    return list(rows.filter(undone_at=None).select_related("event"))


def _is_seen(kind: _Kind, row: Any, known: Container[str], documents: Container[uuid.UUID]) -> bool:
    document = getattr(row, "document_id", None)
    return (
        kind.is_wanted(row)
        and all(name in known for name in kind.names(row))
        and (document is None or document in documents)
    )


def _replace(
    edition: uuid.UUID, wanted: Sequence[tuple[_Kind, Any]], events: dict[uuid.UUID, int]
) -> None:
    for kind in KINDS:
        kind.model.objects.in_workspace(edition).delete()
    # Below zero, apart from what is changed in the edition itself.
    HistoryEvent.objects.bulk_create(
        (
            HistoryEvent(pk=pk, workspace_id=edition, kind=EventKind.COPIED, sequence=-sequence)
            for pk, sequence in events.items()
        ),
        ignore_conflicts=True,
    )
    for kind, row in wanted:
        row.workspace_id = edition
        for name in kind.blanked:
            setattr(row, name, "")
    for kind in KINDS:
        rows = [row for each, row in wanted if each is kind]
        kind.model.objects.bulk_create(rows)


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
