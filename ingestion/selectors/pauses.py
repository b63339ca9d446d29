"""Why a workspace's work is paused, if it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ingestion.models import IngestionJob, JobKind, RunState
from workspaces.models import Workspace

# What an admin mends on the page of the models, and on the page of their use.
OF_MODELS: Final = frozenset({"key_refused", "model_unknown", "endpoint_not_a_model"})
OF_BUDGET: Final = "budget_spent"


@dataclass(frozen=True, slots=True)
class Pause:
    """``problem`` is ``{"code", "happened", "kept", "next_step"}``, of the latest such job."""

    problem: dict[str, str]
    documents: int
    others: int

    @property
    def is_of_budget(self) -> bool:
        return self.problem.get("code") == OF_BUDGET

    @property
    def is_of_models(self) -> bool:
        return self.problem.get("code") in OF_MODELS


def work_pause(*, workspace: Workspace) -> Pause | None:
    paused = IngestionJob.objects.in_workspace(workspace).filter(state=RunState.PAUSED)
    kinds = list(paused.values_list("kind", flat=True))
    if not kinds:
        return None
    problems = paused.filter(problem__isnull=False).order_by("-created_at")
    documents = kinds.count(JobKind.DOCUMENT)
    latest = problems.values_list("problem", flat=True).first()
    return Pause(latest or {}, documents, len(kinds) - documents)
