"""What the checks of a workspace share: the work in progress, and the rows to expect."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from django.db import connection, transaction

from ingestion.health import sql
from ingestion.health.report import MOST_SAMPLES, NOTHING, Found
from ingestion.models import JobKind, RunState
from ingestion.pipeline.runner import DOCUMENT_STAGES, EMBEDDING, LANES, WORKSPACE_STAGES
from ingestion.vectors import chunks
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

# All statements of a check see one snapshot of the workspace.
ONE_STATE: Final[LiteralString] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

EMBEDDING_STAGES: Final = frozenset(LANES[EMBEDDING])
READING_STAGES: Final = frozenset(DOCUMENT_STAGES) - EMBEDDING_STAGES
NEEDS_VECTORS: Final = frozenset({"tree"})


@dataclass(frozen=True, slots=True)
class Scope:
    """A workspace's state during a check.

    ``done`` are the live versions for which each document stage is done, ``busy`` the documents
    being read, ``unfinished`` the number of unfinished jobs. ``ahead`` are stages that will run
    without a further request.
    """

    workspace_id: uuid.UUID
    done: Mapping[str, tuple[uuid.UUID, ...]]
    busy: frozenset[uuid.UUID]
    unfinished: int
    ahead: frozenset[str]
    last_refresh: str
    marks: Found
    fingerprint: str

    @property
    def values(self) -> dict[str, Any]:
        return {
            "workspace": self.workspace_id,
            "busy": list(self.busy),
            "fingerprint": self.fingerprint,
            **{stage: list(self.done.get(stage, ())) for stage in DOCUMENT_STAGES},
        }

    @property
    def is_swept_up(self) -> bool:
        """Whether the sweep will request a refresh, because marks wait while no work is running.

        It does not after a refresh that failed (``recovery``).
        """
        return bool(self.marks) and self.last_refresh in ("", RunState.DONE)

    def is_ahead(self, stage: str) -> bool:
        """Whether work in progress will rebuild the output of this stage.

        The last document to leave the main lane requests a refresh; the last vector requests a
        tree.
        """
        if stage in self.ahead or stage not in WORKSPACE_STAGES:
            return stage in self.ahead
        if self.is_swept_up:
            return True
        before = EMBEDDING_STAGES if stage in NEEDS_VECTORS else frozenset[str]()
        return bool(self.ahead & (READING_STAGES | before))

    def find(self, statement: LiteralString) -> Found:
        return found_in(run_sql(statement, self.values))


def found_in(rows: list[tuple[Any, ...]]) -> Found:
    """Make findings from rows of an id and the id to repair."""
    if not rows:
        return NOTHING
    samples = tuple(str(row[0]) for row in sorted(rows, key=str)[:MOST_SAMPLES])
    return Found(len(rows), samples, frozenset(row[1] for row in rows if row[1] is not None))


@contextmanager
def looking_at(workspace_id: uuid.UUID) -> Iterator[Scope]:
    """Open one snapshot of the workspace for the block."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            run_sql(ONE_STATE)
        with access.in_workspace(workspace_id), bulk_plans():
            yield _read(workspace_id)


def _read(workspace_id: uuid.UUID) -> Scope:
    values = {"workspace": workspace_id}
    done: defaultdict[str, list[uuid.UUID]] = defaultdict(list)
    for version_id, stages in run_sql(sql.DONE, values):
        for stage in stages:
            done[stage].append(version_id)
    jobs = run_sql(sql.UNFINISHED, values)
    documents = [row for row in jobs if row[1] == JobKind.DOCUMENT]
    return Scope(
        workspace_id=workspace_id,
        done={stage: tuple(ids) for stage, ids in done.items()},
        busy=frozenset(row[3] for row in documents if row[2] != RunState.PAUSED),
        unfinished=len(jobs),
        ahead=frozenset(row[0] for row in run_sql(sql.STAGES_AHEAD, values)),
        last_refresh=next((row[0] for row in run_sql(sql.LAST_REFRESH, values)), ""),
        marks=found_in(run_sql(sql.MARKS, values)),
        fingerprint=chunks.searched(workspace_id),
    )
