"""How a workspace does: its last check, the work in it, and what it takes up."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, LiteralString

from django.conf import settings
from django.utils import timezone
from psycopg import sql

from ingestion.models import CheckState, ConsistencyCheck, WalkSnapshot
from kb_project.graph.age_store import graph_name, has_age
from kb_project.sql import run_sql
from workspaces.models import Workspace

UNATTENDED: Final = timedelta(minutes=3)
"""Work that has waited so long while nobody works on anything: no worker seems to run."""

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
# Tables of workspaces that hold rows of their own, with what each takes up and how many rows of all
# workspaces it was last seen to have.
TABLES: Final[LiteralString] = """
SELECT c.relname::text, pg_total_relation_size(c.oid), c.reltuples
  FROM pg_class AS c
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
   AND EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped)
"""
COUNT: Final[LiteralString] = """
SELECT {name}, count(*) FROM {table} WHERE workspace_id = %(workspace)s
"""
GRAPH_SIZE: Final[LiteralString] = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = %(graph)s AND c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs under way, jobs that are paused, since when the oldest waits, stages somebody holds."""

    unfinished: int
    paused: int
    oldest: datetime | None
    held: int

    @property
    def is_unattended(self) -> bool:
        """Whether work waits and nobody seems to do any."""
        return bool(self.oldest and not self.held and timezone.now() - self.oldest > UNATTENDED)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes: of rows and of files. Tables are shared, so that rows' is a share of them."""

    rows: int
    graph: int
    files: int


@dataclass(frozen=True, slots=True)
class Health:
    """``check`` is the last one that ended, ``under_way`` one that waits or runs."""

    check: ConsistencyCheck | None
    under_way: ConsistencyCheck | None
    work: Work
    refresh_state: str
    refreshed_at: datetime | None
    projection: str
    snapshot_at: datetime | None
    size: Size

    @property
    def is_repairable(self) -> bool:
        """Whether the last check found something that a machine can mend."""
        return any(one["is_repairable"] for one in (self.check.drifts if self.check else ()))

    @property
    def is_sound(self) -> bool | None:
        """What the last check found; None where there was none."""
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
        size=_size(workspace.pk),
    )


def _size(workspace_id: uuid.UUID) -> Size:
    [(graph,)] = run_sql(GRAPH_SIZE, {"graph": graph_name(workspace_id)})
    folder = Path(settings.MEDIA_ROOT) / str(workspace_id)
    files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Size(_share_of_tables(workspace_id), int(graph), files)


def _share_of_tables(workspace_id: uuid.UUID) -> int:
    """Each table's bytes, as many as its rows are of all rows. Counting is quick, weighing not."""
    tables = {name: (size, total) for name, size, total in run_sql(TABLES)}
    parts = [
        sql.SQL(COUNT).format(name=sql.Literal(name), table=sql.Identifier(name)) for name in tables
    ]
    rows = run_sql(sql.SQL(" UNION ALL ").join(parts), {"workspace": workspace_id})
    counts = {str(name): int(count) for name, count in rows}
    return int(
        sum(
            size * counts[name] / max(total, counts[name], 1)
            for name, (size, total) in tables.items()
        )
    )
