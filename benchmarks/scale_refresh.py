"""The section ``refresh`` of ``scale.py``: what one document costs until everything follows it.

A document of three sentences is added, processed in this process, and moved to the trash again. The
first round also does what the copied rows lack (summary trees, suggestions), so the second counts.
"""

from __future__ import annotations

import argparse
import io
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from ingestion.documents import lifecycle, services
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, JobKind, RunState, StageRun
from workspaces import access
from workspaces.models import Workspace

TEXT: Final = (
    "Marla Quintrell {number} is a film director from Oslo. She directed the film The Lantern "
    "Keeper {number}, which was written by Odd Bakken and stars Harriet Frost. The film was shown "
    "in London in 1987.\n"
)
ROUNDS: Final = 2
SHOWN: Final = 0.05
"""Seconds from which on a stage is printed."""


def refresh(workspace: Workspace, _folder: Path, _options: argparse.Namespace) -> dict[str, Any]:
    """Measure seconds by stage, and the most memory of the process."""
    change = ChangeContext(workspace, None, via="schedule")

    def add() -> None:
        number = int(time.time())
        file = io.BytesIO(TEXT.format(number=number).encode())
        with access.in_workspace(workspace.pk):
            services.document_upload(workspace=workspace, file=file, name=f"note {number}.txt")

    def trash() -> None:
        with access.in_workspace(workspace.pk):
            live = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
            last = list(live.order_by("-created_at")[:1])
        lifecycle.documents_trash(change=change, documents=last)

    figures: dict[str, Any] = {}
    for number in range(ROUNDS):
        for name, move in (("added", add), ("trashed", trash)):
            taken = _after(workspace, move)
            figures[name] = taken
            shown = ", ".join(f"{stage} {took:.1f}" for stage, took in taken["stages"].items())
            print(f"  {name}, round {number + 1}: {taken['seconds']:.1f} s: {shown}")
    figures["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  memory at most {figures['memory_mb']} MB")
    return figures


def _after(workspace: Workspace, move: Callable[[], None]) -> dict[str, Any]:
    """The seconds until all work that follows from a move is done, and those of its stages."""
    began, started = timezone.now(), time.perf_counter()
    move()
    services.process_workspace(workspace=workspace)
    seconds = time.perf_counter() - started
    with access.in_workspace(workspace.pk):
        runs = StageRun.objects.in_workspace(workspace).filter(finished_at__gte=began)
        runs = runs.filter(job__kind__in=(JobKind.DOCUMENT, JobKind.WORKSPACE))
        rows = list(runs.order_by("finished_at").values_list("stage", "seconds", "state"))
    if failed := [stage for stage, _, state in rows if state != RunState.DONE]:
        raise RuntimeError(f"not done: {failed}")
    stages: dict[str, float] = {}
    for stage, taken, _ in rows:
        stages[stage] = round(stages.get(stage, 0.0) + taken, 2)
    shown = {stage: taken for stage, taken in stages.items() if taken >= SHOWN}
    return {"seconds": round(seconds, 1), "stages": shown}
