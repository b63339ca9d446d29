"""Measure what thousands of quiet workspaces cost: the minute's sweep and a worker's start.

    python benchmarks/many_workspaces.py [--workspaces 10000] [--documents 20] [--keep]

Run it in an installation of its own (``CONCORDANCE_DATA_DIR``, migrated). Short documents are
ingested, and the rows copied under the ids of new workspaces: jobs, stages, documents, entities and
relationships, all finished. Prints seconds of the sweep's question, of the whole sweep, and of what
a starting worker asks.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
os.environ["EMBEDDER"] = "fake"
django.setup()

from django.apps import apps
from django.db import transaction
from django_q.models import OrmQ
from psycopg import sql

from ingestion import tasks
from ingestion.documents import services
from ingestion.pipeline import needs, recovery, runner
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration.services import rows_purge
from workspaces.models import Workspace
from workspaces.people import services as people_services

RUNS: Final = 5
AT_ONCE: Final = 200
TABLES: Final = (
    *("Document", "DocumentVersion", "IngestionJob", "StageRun", "CorpusVersion"),
    *("Entity", "Relationship", "Community", "CommunityMember"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="What quiet workspaces cost.")
    parser.add_argument("--workspaces", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="leave the workspaces")
    options = parser.parse_args()
    template = filled(options.documents)
    copies = list(copied(template, options.workspaces))
    try:
        run_sql("SELECT ingestion_refresh_statistics()")
        tasks.sweep()  # looks once for missing trees in each
        print(json.dumps(measured(), indent=1))
    finally:
        if not options.keep:
            for workspace_id in (*copies, template.pk):
                rows_purge(workspace_id)


def filled(documents: int) -> Workspace:
    """A workspace of short documents, with everything made of them."""
    slug = f"template-{uuid.uuid4().hex[:8]}"
    workspace = people_services.workspace_create(name="Template", owner=None, slug=slug)
    with access.in_workspace(workspace.pk):
        for number in range(documents):
            text = f"Ada Lind kept the light of Skarrow in {1900 + number}. Bo Strand met Ada Lind."
            services.document_add(
                workspace=workspace,
                name=f"{number}.txt",
                title=f"Log {number}",
                content=io.BytesIO(text.encode()),
            )
    services.process_workspace(workspace=workspace)
    OrmQ.objects.all().delete()  # all done: entries would keep the sweep from looking for trees
    return workspace


def copied(template: Workspace, number: int) -> Iterator[uuid.UUID]:
    """Copies of the template's rows under new workspaces; yields their ids."""
    for first in range(0, number, AT_ONCE):
        made = [
            Workspace(name=f"Copy {place}", slug=f"copy-{uuid.uuid4().hex[:12]}")
            for place in range(first, min(number, first + AT_ONCE))
        ]
        Workspace.objects.bulk_create(made)
        with transaction.atomic():
            columns = {table: _held(template.pk, table) for table in TABLES}
            for workspace in made:
                with access.in_workspace(workspace.pk):
                    for table, names in columns.items():
                        _put(workspace.pk, table, names)
        yield from (workspace.pk for workspace in made)


def _held(workspace_id: uuid.UUID, model: str) -> list[str]:
    """Hold the template's rows of a table for this transaction; returns its other columns."""
    meta = apps.get_model("ingestion", model)._meta
    fields = [field.column for field in meta.concrete_fields if hasattr(field, "column")]
    names = [name for name in fields if name and name != "workspace_id"]
    with access.in_workspace(workspace_id):
        statement = "CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT * FROM {}"
        table = sql.Identifier(meta.db_table)
        run_sql(sql.SQL(statement).format(sql.Identifier(f"held_{model.lower()}"), table))
    return names


def _put(workspace_id: uuid.UUID, model: str, names: list[str]) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    statement = sql.SQL("INSERT INTO {} (workspace_id, {}) SELECT %s, {} FROM {}").format(
        sql.Identifier(apps.get_model("ingestion", model)._meta.db_table),
        columns,
        columns,
        sql.Identifier(f"held_{model.lower()}"),
    )
    run_sql(statement, [workspace_id])


def measured() -> dict[str, Any]:
    return {
        "workspaces": Workspace.objects.count(),
        "the sweep's question": seconds(needs.find_needs),
        "the sweep": seconds(tasks.sweep),
        **{
            f"start of the lane {lane}": seconds(lambda lane=lane: recovery.start_lane(lane), 1)
            for lane in runner.LANES
        },
        "load": round(os.getloadavg()[0], 1),
    }


def seconds(run: Callable[[], object], times: int = RUNS) -> float:
    found = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return round(median(found), 2)


if __name__ == "__main__":
    main()
