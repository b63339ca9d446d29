"""What the checks of a workspace share: one view of its rows, and the work in progress."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from django.db import connection, transaction

from ingestion.health import sql
from ingestion.models import JobKind, RunState
from ingestion.pipeline.runner import DOCUMENT_STAGES, EMBEDDING, LANES, WORKSPACE_STAGES
from ingestion.vectors import chunks
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

# All statements of a check see one state of the workspace.
ONE_STATE: Final[LiteralString] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

EMBEDDING_STAGES: Final = frozenset(LANES[EMBEDDING])
READING_STAGES: Final = frozenset(DOCUMENT_STAGES) - EMBEDDING_STAGES
NEEDS_VECTORS: Final = frozenset({"tree"})
MOST_SAMPLES: Final = 5

DriftRow = tuple[str, uuid.UUID | None]
"""What differs, usually its id, and the id of the row to repair, if there is one."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a check found: ``samples`` are some examples, ``targets`` the rows to repair."""

    count: int = 0
    samples: tuple[str, ...] = ()
    targets: frozenset[uuid.UUID] = frozenset()

    @classmethod
    def of(cls, rows: Iterable[DriftRow]) -> Findings:
        """Count each row once, in whatever order they come."""
        once = sorted(set(rows), key=str)
        return cls(
            count=len(once),
            samples=tuple(dict.fromkeys(sample for sample, _ in once))[:MOST_SAMPLES],
            targets=frozenset(target for _, target in once if target is not None),
        )


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace's work during a check.

    ``done`` are the live versions for which each document stage is done, ``busy`` the documents
    being read, ``unfinished`` the number of unfinished jobs. ``ahead`` are stages that will run
    without a further request. ``changes`` wait for a refresh.
    """

    workspace_id: uuid.UUID
    done: Mapping[str, tuple[uuid.UUID, ...]]
    busy: frozenset[uuid.UUID]
    unfinished: int
    ahead: frozenset[str]
    last_refresh: str
    changes: tuple[DriftRow, ...]
    fingerprint: str
    is_deep: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the statements in ``sql``."""
        return {
            "workspace": self.workspace_id,
            "busy": list(self.busy),
            "fingerprint": self.fingerprint,
            **{stage: list(self.done.get(stage, ())) for stage in DOCUMENT_STAGES},
        }

    @property
    def is_refresh_due(self) -> bool:
        """Whether the sweep will request a refresh, because changes wait while no work is running.

        It does not after a refresh that failed (``recovery``).
        """
        return bool(self.changes) and self.last_refresh in ("", RunState.DONE)

    def is_ahead(self, stage: str) -> bool:
        """Whether work in progress will rebuild the output of this stage.

        The last document to leave the main lane requests a refresh; the last vector requests a
        tree.
        """
        if stage in self.ahead or stage not in WORKSPACE_STAGES:
            return stage in self.ahead
        if self.is_refresh_due:
            return True
        before = EMBEDDING_STAGES if stage in NEEDS_VECTORS else frozenset[str]()
        return bool(self.ahead & (READING_STAGES | before))


Finder = Callable[[WorkspaceState], Iterable[DriftRow]]


@contextmanager
def workspace_state(workspace_id: uuid.UUID, *, is_deep: bool = False) -> Iterator[WorkspaceState]:
    """Keep one state of the workspace visible for the block."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            run_sql(ONE_STATE)
        with access.in_workspace(workspace_id), bulk_plans():
            yield _read(workspace_id, is_deep=is_deep)


def _read(workspace_id: uuid.UUID, *, is_deep: bool) -> WorkspaceState:
    values = {"workspace": workspace_id}
    done: defaultdict[str, list[uuid.UUID]] = defaultdict(list)
    for version_id, stages in run_sql(sql.DONE, values):
        for stage in stages:
            done[stage].append(version_id)
    jobs = run_sql(sql.UNFINISHED, values)
    documents = [row for row in jobs if row[1] == JobKind.DOCUMENT]
    return WorkspaceState(
        workspace_id=workspace_id,
        done={stage: tuple(ids) for stage, ids in done.items()},
        busy=frozenset(row[3] for row in documents if row[2] != RunState.PAUSED),
        unfinished=len(jobs),
        ahead=frozenset(row[0] for row in run_sql(sql.STAGES_AHEAD, values)),
        last_refresh=next((row[0] for row in run_sql(sql.LAST_REFRESH, values)), ""),
        changes=tuple((row[0], None) for row in run_sql(sql.CHANGES, values)),
        fingerprint=chunks.searched(workspace_id),
        is_deep=is_deep,
    )
