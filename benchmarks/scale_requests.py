"""Sections of ``scale.py``: what the server takes for pages, to move a document, to curate.

Pages are asked for by Django's test client as the workspace's owner, in a process that has answered
each before: no network. Moves and changes are the service calls that a request waits for; what
workers do afterwards is not counted, and the refresh that follows is the section ``refresh``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ingestion.curation.entities import entity_delete, entity_edit
from ingestion.curation.merging import entities_merge
from ingestion.documents import lifecycle
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Community,
    Document,
    Entity,
    EventKind,
    HistoryEvent,
    IngestionJob,
    JobKind,
    RunState,
)
from ingestion.pipeline import runner
from kb_project.ports import build_ports
from workspaces import access
from workspaces.models import Role, User, Workspace
from workspaces.people import services as people_services

OWNER: Final = "scale@example.org"
TIMES: Final = 3
SINGLE: Final = 3
TOGETHER: Final = (20, 1_000)
"""Documents moved one by one, and at once."""
MENTIONS: Final = (None, 1_000, 100, 10)
"""Of the entities that are changed; None is the most of all."""
MOVES: Final = {
    EventKind.DOCUMENT_TRASHED: lifecycle.documents_trash,
    EventKind.DOCUMENT_RESTORED: lifecycle.documents_restore,
}


def pages(workspace: Workspace, _folder: Path, _options: argparse.Namespace) -> dict[str, Any]:
    """Measure pages and lists: the milliseconds, the statements, the kilobytes."""
    owner, _ = User.objects.get_or_create(email=OWNER)
    people_services.member_add(workspace=workspace, user=owner, role=Role.OWNER)
    client = Client(SERVER_NAME="localhost")
    client.force_login(owner)
    figures = {}
    print(f"  {'page':<24}{'ms':>9}{'statements':>12}{'kB':>9}")
    for name, address in addresses(workspace):
        client.get(address)
        times = []
        for _ in range(TIMES):
            with CaptureQueriesContext(connection) as asked:
                started = time.perf_counter()
                response = client.get(address)
                times.append((time.perf_counter() - started) * 1000)
            if response.status_code != HTTPStatus.OK:
                raise RuntimeError(f"{address} gave {response.status_code}")
        row = {
            "ms": round(statistics.median(times), 1),
            "statements": len(asked),
            "kb": round(len(response.content) / 1000, 1),
        }
        figures[name] = row
        print(f"  {name:<24}{row['ms']:>9.0f}{row['statements']:>12}{row['kb']:>9.0f}")
    return figures


def addresses(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Pages and lists by name, of the best-linked entity and the largest topic."""
    with access.in_workspace(workspace.pk):
        entity = Entity.objects.in_workspace(workspace).order_by("-degree")[0].pk
        topic = Community.objects.in_workspace(workspace).order_by("-size")[0].pk
        document = Document.objects.in_workspace(workspace).order_by("-created_at")[0].pk

    def page(name: str, *args: object) -> str:
        return reverse(name, args=[workspace.slug, *args])

    yield "home", page("retrieval:home")
    yield "documents", page("ingestion:document_list")
    yield "documents, found", page("ingestion:document_list") + "?q=john"
    yield "document", page("ingestion:document_detail", document)
    yield "entities", page("ingestion:entity_list")
    yield "entities, found", page("ingestion:entity_list") + "?q=john"
    yield "entity", page("ingestion:entity_detail", entity)
    yield "facts", page("ingestion:entity_facts", entity)
    yield "topics", page("ingestion:community_list")
    yield "sub-topics", page("ingestion:community_list") + "?level=1"
    yield "topic", page("ingestion:community_detail", topic)
    yield "topics of the tree", page("ingestion:topic_tree") + f"?parent={topic}"
    yield "curation", page("ingestion:curation_queue")
    yield "history", page("ingestion:workspace_history")
    yield "trash", page("ingestion:trash")
    yield "health", page("ingestion:health")
    for name in ("documents", "entities", "communities", "communities/map", "tree", "health"):
        yield f"REST {name}", f"/api/v1/workspaces/{workspace.slug}/{name}/"
    found = f"/api/v1/workspaces/{workspace.slug}/entities/"
    yield "REST entities, found", f"{found}?q=john"
    yield "REST entity", f"{found}{entity}/"
    yield "REST facts", f"{found}{entity}/facts/"
    yield "REST community", f"/api/v1/workspaces/{workspace.slug}/communities/{topic}/"
    yield "REST suggestions", f"/api/v1/workspaces/{workspace.slug}/suggestions/"


def life(workspace: Workspace, _folder: Path, _options: argparse.Namespace) -> dict[str, Any]:
    """Measure trashing and restoring a document, the median seconds of several, and many at once.

    A worker's share in restoring very many is measured, too. The workspace is as before afterwards,
    but for what a refresh is asked to do.
    """
    change = ChangeContext(workspace, None, via="schedule")
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(Document.IS_LIVE)
        documents = list(rows.order_by("-created_at")[: max(TOGETHER)])
    times: dict[str, list[float]] = {}
    groups = [*([one] for one in documents[:SINGLE]), *(documents[:many] for many in TOGETHER)]
    for group in groups:
        for kind, move in MOVES.items():
            started = time.perf_counter()
            move(change=change, documents=group)
            taken = time.perf_counter() - started
            times.setdefault(f"{kind}, {len(group)}", []).append(taken)
    started = time.perf_counter()
    _apply_changes(workspace)
    times["names and facts of the last, by a worker"] = [time.perf_counter() - started]
    figures = {name: round(statistics.median(taken), 3) for name, taken in times.items()}
    print("".join(f"  {name}: {seconds:.2f} s\n" for name, seconds in figures.items()), end="")
    return figures


def _apply_changes(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace).filter(kind=JobKind.CHANGE)
        waiting = list(jobs.filter(state=RunState.PENDING).order_by("created_at"))
    for job in waiting:
        runner.run_group([job], runner.MAIN, build_ports())


def curate(workspace: Workspace, _folder: Path, _options: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds of changes to entities with many and few mentions; none of them stays."""
    figures = {}
    print(f"  {'entity':<32}{'mentions':>9}" + "".join(f"{name:>9}" for name in CHANGES))
    for most in MENTIONS:
        with access.in_workspace(workspace.pk):
            rows = Entity.objects.in_workspace(workspace).order_by("-mention_count", "pk")
            entity, other = rows.filter(mention_count__lte=most)[:2] if most else rows[:2]
        times = [_undone(workspace, entity, other, change) for change in CHANGES.values()]
        figures[entity.mention_count] = dict(zip(CHANGES, times, strict=True))
        shown = "".join(f"{seconds:>9.2f}" for seconds in times)
        print(f"  {entity.name[:30]:<32}{entity.mention_count:>9}{shown}")
    return figures


Change = Callable[[ChangeContext, Entity, Entity], HistoryEvent]
CHANGES: Final[dict[str, Change]] = {
    "merge": lambda change, one, other: entities_merge(change=change, kept=other, others=[one]),
    "rename": lambda change, one, _: entity_edit(change=change, entity=one, name="Zaphod Quux"),
    "retype": lambda change, one, _: entity_edit(change=change, entity=one, type="ship"),
    "delete": lambda change, one, _: entity_delete(change=change, entity=one),
}


def _undone(workspace: Workspace, entity: Entity, other: Entity, change: Change) -> float:
    started = time.perf_counter()
    with transaction.atomic():
        change(ChangeContext(workspace, None, via="schedule"), entity, other)
        taken = time.perf_counter() - started
        transaction.set_rollback(True)
    return round(taken, 3)
