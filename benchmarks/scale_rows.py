"""Workspaces of any size from the rows of a real one.

A data set is read for real once, into the workspace ``BASE`` of the data folder, and kept. A larger
workspace is that one copied by COPY. In each copy but the first, rare names are spelt differently,
letter for letter, so that every offset, quote and key stays right; other words and names stay, so
that postings and hubs grow as those of a real corpus do. Entities and relationships of the same
name become one, with all their mentions and evidence; topics keep those of their members that are
new in their copy. Vectors get noise.

The same base and number of copies give the same rows, apart from the workspace's own id. Documents
have no files; one summary tree over all documents is copied once; suggestions, bridges and
conflicts are not copied. Rows are written as the bundled server's superuser, without triggers.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
from django.conf import settings
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg import sql
from psycopg.conninfo import make_conninfo

from benchmarks.scale_copies import Copy, Rows, Totals, copies_of
from ingestion.knowledge import projection
from ingestion.knowledge.corpus import RECOUNT
from ingestion.stages import snapshot
from ingestion.stages.situate import MOST_FREQUENT, term_counts
from kb_project.database import embedded
from kb_project.ports import graph_store
from retrieval.evaluation import dataset
from workspaces.administration.services import workspace_purge
from workspaces.language_models import services as model_services
from workspaces.models import Workspace
from workspaces.people import services as people_services

BASE: Final = "scale-base"
NOISE: Final = 0.6
"""Length of the noise added to a vector of length one: a copy has a cosine of about 0.86."""

# In the order of what they reference.
TABLES: Final = (
    "ingestion_document",
    "ingestion_documentversion",
    "ingestion_ingestionjob",
    "ingestion_stagerun",
    "ingestion_chunk",
    "ingestion_posting",
    "ingestion_chunkembedding",
    "ingestion_sentencevector",
    "ingestion_chunkextraction",
    "ingestion_entity",
    "ingestion_alias",
    "ingestion_mention",
    "ingestion_relationship",
    "ingestion_evidence",
    "ingestion_community",
    "ingestion_communitymember",
    "ingestion_communityreport",
    "ingestion_finding",
    "ingestion_findingevidence",
    "ingestion_entityposition",
    "ingestion_summarynode",
    "ingestion_summaryedge",
    "ingestion_summarytree",
    "ingestion_summarylayout",
    "ingestion_historyevent",
    "ingestion_historysubject",
)
OF_WORDS_AND_VECTORS: Final = frozenset(
    {
        "ingestion_document",
        "ingestion_documentversion",
        "ingestion_chunk",
        "ingestion_posting",
        "ingestion_chunkembedding",
    }
)
"""The tables that are filled for passages alone, without a graph."""
OF_ENTITIES: Final = {
    "ingestion_entity": "id",
    "ingestion_communitymember": "entity_id",
    "ingestion_entityposition": "entity_id",
}
COLUMNS: Final = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
 WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
COUNT: Final = "SELECT count(*) FROM ingestion_chunk WHERE workspace_id = %(workspace)s"


def base_workspace(folder: Path) -> Workspace:
    """Return the workspace that has the data set, read now if it has not been."""
    with dataset.filled_workspace(dataset.load(folder), keep=BASE) as filled:
        return filled.workspace


def workspace_of(
    passages: int, folder: Path, *, with_graph: bool = True, is_of_passages: bool = False
) -> Workspace:
    """Return a workspace of about so many passages, filled now if it has not been.

    It is called ``scale-N`` and has whole copies of the base. ``with_graph`` writes its projection.
    ``is_of_passages``: it has words and vectors alone, and is called ``scale-N-passages``.
    """
    base = base_workspace(folder)
    tables = OF_WORDS_AND_VECTORS if is_of_passages else frozenset(TABLES)
    with superuser() as connection:
        (each,) = connection.execute(COUNT, {"workspace": base.pk}).fetchone()
        copies = max(1, round(passages / each))
        slug = f"scale-{passages}{'-passages' if is_of_passages else ''}"
        if found := Workspace.objects.filter(slug=slug).first():
            (count,) = connection.execute(COUNT, {"workspace": found.pk}).fetchone()
            if count >= each * copies:  # an interrupted run may leave a document
                return found
            workspace_purge(found.pk)
        made = people_services.workspace_create(name=slug, owner=None, slug=slug)
        model_services.installation_model_allow(workspace=made, is_allowed=True)
        with connection.transaction():
            fill(connection, base.pk, made.pk, copies, tables)
        connection.execute("VACUUM ANALYZE")
    if is_of_passages:
        return made
    if with_graph:
        projection.rebuild(made.pk, graph_store())
    snapshot.renew(made.pk)
    return made


def superuser() -> psycopg.Connection:
    """Connect past row-level security, which refuses COPY."""
    server = embedded.ensure(Path(settings.DATABASES["default"]["OPTIONS"]["embedded_data"]))
    name = settings.DATABASES["default"]["NAME"]
    connection = psycopg.connect(make_conninfo(**server.conninfo(dbname=name)), autocommit=True)
    register_vector(connection)
    return connection


def fill(
    connection: psycopg.Connection,
    base_id: uuid.UUID,
    workspace_id: uuid.UUID,
    copies: int,
    tables: frozenset[str],
) -> None:
    """Write the rows of all copies into an empty workspace."""
    base = {name: read(connection, name, base_id) for name in TABLES}
    base |= {name: replace(base[name], rows=()) for name in TABLES if name not in tables}
    made = copies_of(base, base_id, workspace_id, copies)
    totals = Totals(base, made)
    connection.execute("SET LOCAL session_replication_role = replica")
    for name in TABLES:
        write(connection, base[name], rows_of(name, base, made, totals))
    connection.execute(
        "INSERT INTO ingestion_corpusversion (workspace_id, number) VALUES (%s, 1)"
        " ON CONFLICT (workspace_id) DO UPDATE SET number = ingestion_corpusversion.number + 1",
        [workspace_id],
    )
    # Where nothing was triggered, nothing was counted.
    connection.execute(RECOUNT, {"workspace": workspace_id})


def read(connection: psycopg.Connection, name: str, workspace_id: uuid.UUID) -> Rows:
    kinds = dict(connection.execute(COLUMNS, {"table": name}).fetchall())
    # In the order of their columns, so that every fill copies rows in the same order.
    names = sql.SQL(", ").join(map(sql.Identifier, kinds))
    query = sql.SQL("SELECT {} FROM {} WHERE workspace_id = %s").format(names, sql.Identifier(name))
    found = connection.execute(query, [workspace_id]).fetchall()
    keys = [place for place, kind in enumerate(kinds.values()) if kind in ("uuid", "integer")]
    found.sort(key=lambda row: [str(row[place]) for place in keys])
    return Rows(name, kinds, found)


def write(connection: psycopg.Connection, table: Rows, rows: Iterable[Sequence[Any]]) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, table.kinds))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)")
    with (
        connection.cursor() as cursor,
        cursor.copy(statement.format(sql.Identifier(table.name), names)) as copy,
    ):
        copy.set_types(list(table.kinds.values()))
        for row in rows:
            copy.write_row(row)


# --- rows -----------------------------------------------------------------------------------------
def rows_of(
    name: str, base: Mapping[str, Rows], copies: Sequence[Copy], totals: Totals
) -> Iterator[Sequence[Any]]:
    """Yield a table's rows in all copies."""
    seen = set[tuple[Any, ...]]()
    for copy in copies:
        if name == "ingestion_posting":
            yield from _postings(base["ingestion_chunk"], base[name].kinds, copy)
        elif name == "ingestion_alias":
            for row in _rows(base[name], copy, totals):
                if (key := tuple(row[1:])) not in seen:
                    seen.add(key)
                    yield row
        else:
            yield from _rows(base[name], copy, totals)


def _rows(table: Rows, copy: Copy, totals: Totals) -> Iterator[list[Any]]:
    values = [copy.value(column, kind) for column, kind in table.kinds.items()]
    ids = [place for place, kind in enumerate(table.kinds.values()) if kind == "uuid"]
    change = CHANGES.get(table.name)
    vectors = _vectors(table, copy) if "vector" in table.kinds else None
    for number, row in enumerate(table.rows):
        if not _is_in(table, row, ids, copy):
            continue
        new = [
            None if value is None else make(value) for make, value in zip(values, row, strict=True)
        ]
        if vectors is not None:
            new[table.index("vector")] = HalfVector(vectors[number])
        if change:
            old = dict(zip(table.kinds, row, strict=True))
            for column, value in change(old, copy, totals).items():
                new[table.index(column)] = value
        yield new


def _is_in(table: Rows, row: Sequence[Any], ids: Sequence[int], copy: Copy) -> bool:
    if column := OF_ENTITIES.get(table.name):
        return row[table.index(column)] in copy.owned
    if table.name == "ingestion_relationship":
        return row[table.index("id")] in copy.owned
    if table.name == "ingestion_community":  # its parent may be in the first copy only
        return row[table.index("id")] not in copy.left_out
    return not any(row[place] in copy.left_out for place in ids)


def _document(old: Mapping[str, Any], copy: Copy, _totals: Totals) -> dict[str, Any]:
    return {"sha256": sha256(f"{copy.number} {old['sha256']}".encode()).hexdigest()}


def _version(old: Mapping[str, Any], copy: Copy, _totals: Totals) -> dict[str, Any]:
    return {"blob": f"{copy.workspace_id}/{copy.number}-{Path(old['blob']).name}"}


def _chunk(old: Mapping[str, Any], copy: Copy, _totals: Totals) -> dict[str, Any]:
    return {"terms": term_counts(_situated(old, copy)).total()}


def _entity(old: Mapping[str, Any], copy: Copy, totals: Totals) -> dict[str, Any]:
    id_ = copy.ids[old["id"]]
    chunks, degree = totals.chunks[id_], totals.degree[id_]
    return {
        "mention_count": totals.mentions[id_],
        "chunk_count": chunks,
        "degree": degree,
        "rank": math.log(1 + chunks) + math.log(1 + degree),
    }


def _relationship(old: Mapping[str, Any], copy: Copy, totals: Totals) -> dict[str, Any]:
    id_ = copy.ids[old["id"]]
    return {"evidence_count": totals.evidence[id_], "weight": totals.weight[id_]}


def _community(old: Mapping[str, Any], copy: Copy, _totals: Totals) -> dict[str, Any]:
    return {"size": copy.sizes[old["id"]]}


def _event(old: Mapping[str, Any], copy: Copy, totals: Totals) -> dict[str, Any]:
    return {"sequence": old["sequence"] + copy.number * totals.sequence}


CHANGES: Final[Mapping[str, Callable[[Mapping[str, Any], Copy, Totals], dict[str, Any]]]] = {
    "ingestion_document": _document,
    "ingestion_documentversion": _version,
    "ingestion_chunk": _chunk,
    "ingestion_entity": _entity,
    "ingestion_relationship": _relationship,
    "ingestion_community": _community,
    "ingestion_historyevent": _event,
    "ingestion_historysubject": _event,
}


def _situated(chunk: Mapping[str, Any], copy: Copy) -> str:
    return copy.text("\n".join(filter(None, (chunk["context"], chunk["text"]))))


def _postings(chunks: Rows, kinds: Mapping[str, str], copy: Copy) -> Iterator[list[Any]]:
    for chunk in chunks.records:
        counts = term_counts(_situated(chunk, copy))
        known = {"workspace_id": copy.workspace_id, "chunk_id": copy.id(chunk["id"])}
        for term, count in counts.items():
            frequency = min(count, MOST_FREQUENT)
            row = known | {"term": term, "frequency": frequency, "length": counts.total()}
            yield [row[column] for column in kinds]


def _vectors(table: Rows, copy: Copy) -> np.ndarray[Any, np.dtype[np.float16]]:
    """Return the base's vectors, in all copies but the first with noise."""
    place = table.index("vector")
    vectors = np.array([row[place].to_list() for row in table.rows], np.float32)
    if copy.number and table.rows:
        chance = np.random.default_rng([copy.number, len(table.rows)])
        noise = chance.standard_normal(vectors.shape, dtype=np.float32)
        vectors += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16)
