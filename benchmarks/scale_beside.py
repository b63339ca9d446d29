"""The section ``beside`` of ``scale.py``: a small workspace while a large one is refreshed.

The product's workers run over the data folder, a process for each lane. Documents of three
sentences are added to a small workspace, each timed until it is ready, and its documents are
searched: alone, then while the large workspace is refreshed after a document of its own. Another
document of the large one, added meanwhile, is timed too.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from benchmarks.scale_refresh import TEXT
from ingestion.documents import services
from ingestion.models import Document, DocumentState, IngestionJob, JobKind, RunState
from ingestion.pipeline import runner
from kb_project.management.commands.run import BACKGROUND_NICE
from retrieval.search import services as search_services
from workspaces import access
from workspaces.models import Workspace
from workspaces.people import services as people_services

SLUG: Final = "scale-small"
DOCUMENTS: Final = 20
READINGS: Final = 8
QUESTION: Final = "Who directed The Lantern Keeper?"
NICE: Final = {"embedding": BACKGROUND_NICE, "refreshing": BACKGROUND_NICE}
LONGEST: Final = 1_200.0
_numbers = count(int(time.time()))


def beside(large: Workspace, _folder: Path, _options: argparse.Namespace) -> dict[str, Any]:
    """Measure seconds until documents are ready and milliseconds of searches, alone and beside a
    refresh."""
    small = Workspace.objects.filter(slug=SLUG).first()
    small = small or people_services.workspace_create(name="Small", owner=None, slug=SLUG)
    with workers():
        added = [add(small) for _ in range(DOCUMENTS)]
        ready_after(small, added[-1])
        wait_for_refreshes(small)
        alone = [reading(small) for _ in range(READINGS)]
        wait_for_refreshes(small)
        started = time.perf_counter()
        ready_after(large, add(large))
        while not is_refreshing(large):  # requested just after the document is ready
            time.sleep(0.02)
        during, own = [], None
        while is_refreshing(large):
            during.append(reading(small))
            if own is None:
                own = ready_after(large, add(large))
        seconds = time.perf_counter() - started
        wait_for_refreshes(large)
    figures: dict[str, Any] = {"refresh_seconds": round(seconds, 1), "large_ready": own}
    for place, name in enumerate(("ready_seconds", "search_ms")):
        usual, taken = ([row[place] for row in rows] for rows in (alone, during))
        figures[name] = {"alone": statistics.median(usual), "beside": sorted(taken)}
        ratio = statistics.median(taken) / statistics.median(usual)
        print(
            f"  {name}: alone {statistics.median(usual):.2f}, beside {statistics.median(taken):.2f}"
            f" (worst {max(taken):.2f}), {ratio:.2f} times, {len(taken)} readings"
        )
    print(f"  refreshed for {seconds:.1f} s; a document of its own ready after {own} s")
    return figures


@contextmanager
def workers() -> Iterator[None]:
    """Run a worker for each lane, as ``manage.py run`` does."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "worker", "--lane"]
    running = [
        subprocess.Popen([*command, lane], preexec_fn=partial(os.nice, NICE.get(lane, 0)))
        for lane in runner.LANES
    ]
    try:
        yield
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(60)


def add(workspace: Workspace) -> UUID:
    number = next(_numbers)
    file = io.BytesIO(TEXT.format(number=number).encode())
    with access.in_workspace(workspace.pk):
        added = services.document_upload(workspace=workspace, file=file, name=f"note {number}.txt")
    return added.document.pk


def ready_after(workspace: Workspace, document: UUID) -> float:
    """Wait until the document is ready; return the seconds."""
    started = time.perf_counter()
    while time.perf_counter() - started < LONGEST:
        with access.in_workspace(workspace.pk):
            row = Document.objects.in_workspace(workspace).get(pk=document)
        if row.state == DocumentState.READY:
            return round(time.perf_counter() - started, 2)
        time.sleep(0.02)
    raise SystemExit("A document never became ready.")


def reading(workspace: Workspace) -> tuple[float, float]:
    """Return the seconds until a new document is ready, and the milliseconds of a search."""
    seconds = ready_after(workspace, add(workspace))
    found = search_services.search(workspace=workspace, question=QUESTION, mode="hybrid", top_k=10)
    return seconds, round(found.search_seconds * 1000, 1)


def is_refreshing(workspace: Workspace) -> bool:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.WORKSPACE)
        return jobs.filter(state__in=[RunState.PENDING, RunState.RUNNING]).exists()


def wait_for_refreshes(workspace: Workspace) -> None:
    while is_refreshing(workspace):
        time.sleep(0.1)
