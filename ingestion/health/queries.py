"""The health of a workspace: its last check, its work, and its storage."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, LiteralString

from django.conf import settings
from django.utils import timezone
from psycopg import sql

from ingestion.models import CellIndex, CheckState, ConsistencyCheck, WalkSnapshot
from kb_project.graph.age_store import graph_name, has_age
from kb_project.sql import run_sql
from workspaces.models import Workspace

UNATTENDED: Final = timedelta(minutes=3)
"""Work waiting this long while no stage is running suggests that no worker is running."""

WORK: Final[LiteralString] = """
SELECT count(*) FILTER (WHERE j.state <> 'paused'), count(*) FILTER (WHERE j.state = 'paused'),
       min(j.created_at) FILTER (WHERE j.state = 'pending'),
       (SELECT count(*) FROM ingestion_stagerun AS r
         WHERE r.workspace_id = %(workspace)s AND r.state = 'running' AND r.leased_until > now())
  FROM ingestion_ingestionjob AS j
 WHERE j.workspace_id = %(workspace)s AND j.state IN ('pending', 'running', 'paused')
"""
LAST_REFRESH: Final[LiteralString] = """
SELECT state, finished_at FROM ingestion_ingestionjob
 WHERE workspace_id = %(workspace)s AND kind = 'workspace' AND finished_at IS NOT NULL
 ORDER BY finished_at DESC LIMIT 1
"""
# Tables with rows of workspaces, their size in bytes, and the planner's estimate of their rows.
TABLES: Final[LiteralString] = """
SELECT c.relname::text, pg_total_relation_size(c.oid), c.reltuples
  FROM pg_class AS c
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
   AND EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped)
"""
COUNT: Final[LiteralString] = """
SELECT {name}, count(*) FROM (
    SELECT FROM {table} WHERE workspace_id = %(workspace)s LIMIT %(most)s) AS rows
"""
ESTIMATE: Final[LiteralString] = """
EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE workspace_id = %(workspace)s
"""
MOST_COUNTED: Final = 10_000
"""Rows counted of each table; of more, the planner's estimate counts."""
GRAPH_SIZE: Final[LiteralString] = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = %(graph)s AND c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Unfinished and paused jobs, when the oldest pending one was created, and stages being worked
    on.
    """

    unfinished: int
    paused: int
    oldest: datetime | None
    held: int

    @property
    def is_unattended(self) -> bool:
        """Whether work is waiting but no worker seems to be running."""
        return bool(self.oldest and not self.held and timezone.now() - self.oldest > UNATTENDED)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of rows, graph and files. Tables are shared, so the rows' bytes are an
    estimated share.
    """

    rows: int
    graph: int
    files: int


@dataclass(frozen=True, slots=True)
class Health:
    """``check`` is the last finished check, ``under_way`` one that is waiting or running. In a
    large workspace, ``nearest`` says what a search by meaning finds of the nearest passages.
    """

    check: ConsistencyCheck | None
    under_way: ConsistencyCheck | None
    work: Work
    refresh_state: str
    refreshed_at: datetime | None
    projection: str
    snapshot_at: datetime | None
    nearest: CellIndex | None
    size: Size

    @property
    def is_repairable(self) -> bool:
        """Whether the last check found something that can be repaired automatically."""
        return any(one["is_repairable"] for one in (self.check.drifts if self.check else ()))

    @property
    def is_sound(self) -> bool | None:
        """Whether the last check found no drift; None before the first check."""
        return not self.check.drifts if self.check else None


def health(*, workspace: Workspace) -> Health:
    values = {"workspace": workspace.pk}
    checks = ConsistencyCheck.objects.in_workspace(workspace).select_related("requested_by")
    [work] = run_sql(WORK, values)
    refresh = next(iter(run_sql(LAST_REFRESH, values)), ("", None))
    snapshots = WalkSnapshot.objects.in_workspace(workspace).order_by("-number")
    return Health(
        check=checks.filter(state=CheckState.DONE).order_by("-finished_at").first(),
        under_way=checks.exclude(state=CheckState.DONE).first(),
        work=Work(*work),
        refresh_state=refresh[0],
        refreshed_at=refresh[1],
        projection="age" if has_age() else "tables",
        snapshot_at=snapshots.values_list("built_at", flat=True).first(),
        nearest=CellIndex.objects.in_workspace(workspace).filter(recall__isnull=False).first(),
        size=_size(workspace.pk),
    )


def _size(workspace_id: uuid.UUID) -> Size:
    [(graph,)] = run_sql(GRAPH_SIZE, {"graph": graph_name(workspace_id)})
    folder = Path(settings.MEDIA_ROOT) / str(workspace_id)
    files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Size(_share_of_tables(workspace_id), int(graph), files)


def _share_of_tables(workspace_id: uuid.UUID) -> int:
    """Sum each table's bytes times the workspace's share of its rows."""
    tables = {name: (size, total) for name, size, total in run_sql(TABLES)}
    parts = [
        sql.SQL(COUNT).format(name=sql.Literal(name), table=sql.Identifier(name)) for name in tables
    ]
    values = {"workspace": workspace_id, "most": MOST_COUNTED}
    rows = run_sql(sql.SQL(" UNION ALL ").join(parts), values)
    counts = {
        str(name): _estimate(name, workspace_id) if count >= MOST_COUNTED else int(count)
        for name, count in rows
    }
    return int(
        sum(
            size * counts[name] / max(total, counts[name], 1)
            for name, (size, total) in tables.items()
        )
    )


def _estimate(table: str, workspace_id: uuid.UUID) -> int:
    """Return how many rows of a large table the planner expects to be the workspace's."""
    statement = sql.SQL(ESTIMATE).format(table=sql.Identifier(table))
    [(plan,)] = run_sql(statement, {"workspace": workspace_id})
    return max(int(plan[0]["Plan"]["Plan Rows"]), MOST_COUNTED)
