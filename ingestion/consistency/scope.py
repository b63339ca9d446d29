"""What the checks of one look at a workspace share: what is under way, and what should be there."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from django.db import connection, transaction

from ingestion import vectors
from ingestion.consistency import statements as sql
from ingestion.consistency.report import MOST_SAMPLES, NOTHING, Found
from ingestion.models import JobKind, RunState
from ingestion.pipeline import DOCUMENT_STAGES, EMBEDDING, LANES, WORKSPACE_STAGES
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

# All statements of a look see one state of the workspace, whatever is written meanwhile.
ONE_STATE: Final[LiteralString] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

EMBEDDING_STAGES: Final = frozenset(LANES[EMBEDDING])
READING_STAGES: Final = frozenset(DOCUMENT_STAGES) - EMBEDDING_STAGES
NEEDS_VECTORS: Final = frozenset({"tree"})


@dataclass(frozen=True, slots=True)
class Scope:
    """One workspace as it is while it is looked at.

    ``done`` are the live versions that each document stage is through with, ``busy`` the documents
    that are being read, ``unfinished`` all jobs that are not at their end. ``ahead`` are the stages
    that are still to come, without anybody asking for them again.
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
        """Whether the minute's sweep asks for a refresh, where marks wait and nobody is at work.

        After a refresh that failed it does not (``recovery``).
        """
        return bool(self.marks) and self.last_refresh in ("", RunState.DONE)

    def is_ahead(self, stage: str) -> bool:
        """Whether what this stage makes will be made anew by what is under way.

        The last document to leave the main lane asks for a refresh; the last vector for a tree.
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
    """Rows of an id and what to mend, as what was found."""
    if not rows:
        return NOTHING
    samples = tuple(str(row[0]) for row in sorted(rows, key=str)[:MOST_SAMPLES])
    return Found(len(rows), samples, frozenset(row[1] for row in rows if row[1] is not None))


@contextmanager
def looking_at(workspace_id: uuid.UUID) -> Iterator[Scope]:
    """One state of the workspace, as far as the block goes."""
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
        fingerprint=vectors.searched(workspace_id),
    )
