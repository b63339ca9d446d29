"""End pauses: work that waited for a model, a key or a budget resumes where it stopped.

A pause affects the whole workspace: the first group that meets the obstacle records why, and what
comes to the same stage later waits without trying (``runner.claim_next``). A pause for an
unavailable model is retried automatically until the model is back; every other one ends when a
person changes something or resumes the work.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ingestion.models import IngestionJob, JobKind, RunState
from ingestion.pipeline import batching, runner, sql
from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

# ``EndpointError``'s codes for which waiting alone may help.
PASSING: Final = ("endpoint_down", "endpoint_timeout", "endpoint_busy")
SECONDS_OF_PAUSE: Final = 120.0
# The operator's limits begin again with each month, and the operator may raise them.
CAPPED: Final = ("cap_reached",)
SECONDS_UNDER_CAP: Final = 3600.0


def work_resume(workspace_id: uuid.UUID, codes: Sequence[str] = ()) -> int:
    """Resume paused jobs, all of them or those paused for these codes; return how many."""
    with access.in_workspace(workspace_id):
        scope = {"workspace": workspace_id, "codes": list(codes)}
        # The documents' end requests a refresh anyway, and only one may wait.
        run_sql(sql.FORGET_PAUSED_REFRESHES, scope)
        resumed = [job_id for (job_id,) in run_sql(sql.RESUME_JOBS, scope)]
        batching.call_for(workspace_id, resumed, *runner.LANES)
    if resumed:
        logger.info("paused work resumed workspace=%s jobs=%s", workspace_id, len(resumed))
    return len(resumed)


def resume_what_may_fare_better(workspace_id: uuid.UUID) -> int:
    """Retry what an unavailable model has held up for two minutes, and what a limit of the operator
    has held up for an hour; return how many jobs.
    """
    return sum(
        _resume_after(workspace_id, codes, seconds)
        for codes, seconds in ((PASSING, SECONDS_OF_PAUSE), (CAPPED, SECONDS_UNDER_CAP))
    )


def _resume_after(workspace_id: uuid.UUID, codes: Sequence[str], seconds: float) -> int:
    with access.in_workspace(workspace_id):
        values = {"workspace": workspace_id, "codes": list(codes), "seconds": seconds}
        [(is_time,)] = run_sql(sql.PAUSES_TO_END, values)
    return work_resume(workspace_id, codes) if is_time else 0


# Problems that an admin fixes on the models page, and on the usage page.
OF_BUDGET: Final = "budget_spent"


@dataclass(frozen=True, slots=True)
class Pause:
    """``problem`` is ``{"code", "happened", "kept", "next_step"}`` of the latest paused job."""

    problem: dict[str, str]
    documents: int
    others: int

    @property
    def is_of_budget(self) -> bool:
        return self.problem.get("code") == OF_BUDGET


def work_pause(*, workspace: Workspace) -> Pause | None:
    paused = IngestionJob.objects.in_workspace(workspace).filter(state=RunState.PAUSED)
    kinds = list(paused.values_list("kind", flat=True))
    if not kinds:
        return None
    problems = paused.filter(problem__isnull=False).order_by("-created_at")
    documents = kinds.count(JobKind.DOCUMENT)
    latest = problems.values_list("problem", flat=True).first()
    return Pause(latest or {}, documents, len(kinds) - documents)
