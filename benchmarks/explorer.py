"""Measure the page of the graph: opening and expanding, and the bytes that are sent.

    python benchmarks/explorer.py [--entities 5000 50000] [--page URL EMAIL PASSWORD]

The script fills a workspace with random entities and relationships, lays them out, and asks for the
page's data as a browser does, beside the plain SQL that any answer needs at least. With ``--page``,
the address of a graph's page of a running installation, it counts the frames a second while
headless Chromium pans there.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from django.conf import settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import sync_playwright

from ingestion.explorer import queries
from ingestion.models import Entity, IngestionJob, JobKind, Relationship
from ingestion.stage import NO_PROGRESS
from ingestion.stages import communities, layout
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import User, Workspace
from workspaces.people import services as people_services

ROUNDS: Final = 40
BATCH: Final = 2_000
LINKS_EACH: Final = 3
PAN_SECONDS: Final = 5

COUNT: Final = """
window.seen = 0;
const count = () => { window.seen += 1; requestAnimationFrame(count); };
count();
"""

NODES: Final = """
SELECT id, name, type, degree FROM ingestion_entity
WHERE workspace_id = %(workspace)s ORDER BY rank DESC LIMIT %(limit)s
"""
EDGES: Final = """
SELECT source_id, target_id, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
  AND source_id = ANY (%(ids)s::uuid[]) AND target_id = ANY (%(ids)s::uuid[])
"""
NEAR: Final = """
SELECT target_id, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s AND source_id = %(id)s ORDER BY weight DESC LIMIT %(limit)s
"""


def fill(workspace: Workspace, count: int) -> list[Entity]:
    """Make a graph in which a few entities have very many neighbours, as real ones do."""
    chance = random.Random(7)
    entities = [
        Entity(
            workspace=workspace,
            key=f"entity {number}",
            name=f"Entity {number}",
            type=chance.choice(["person", "organization", "place", "work"]),
            chunk_count=1,
            mention_count=1,
        )
        for number in range(count)
    ]
    pairs: set[tuple[int, int]] = set()
    ends = [0]
    for number in range(1, count):
        for _ in range(LINKS_EACH):
            other = chance.choice(ends) if chance.random() < 0.8 else chance.randrange(number)
            if other != number:
                pairs.add((number, other))
                ends += [number, other]
    degree = [0] * count
    for a, b in pairs:
        degree[a] += 1
        degree[b] += 1
    for number, entity in enumerate(entities):
        entity.degree, entity.rank = degree[number], float(degree[number])
    links = [
        Relationship(
            workspace=workspace,
            source=entities[a],
            target=entities[b],
            weight=chance.random() * 5,
            evidence_count=1,
        )
        for a, b in sorted(pairs)
    ]
    with access.in_workspace(workspace.pk):
        Entity.objects.bulk_create(entities, batch_size=BATCH)
        Relationship.objects.bulk_create(links, batch_size=BATCH)
        run_sql("ANALYZE ingestion_entity, ingestion_relationship")
    return sorted(entities, key=lambda entity: -entity.degree)


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> str:
    work()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return f"p50 {statistics.median(seconds) * 1e3:6.1f} ms  p95 {p95 * 1e3:6.1f} ms"


def measure(workspace: Workspace, client: Client, ranked: list[Entity]) -> None:
    page = {
        name: reverse(f"ingestion:explorer_{name}", args=[workspace.slug])
        for name in ("view", "more")
    }
    first = client.get(page["view"])
    body = first.content
    shown = [row[0] for row in first.json()["nodes"]]
    print(f"  bytes to open: {len(body):,}, compressed {len(gzip.compress(body)):,}")

    def lower() -> None:
        with access.in_workspace(workspace.pk):
            rows = run_sql(NODES, {"workspace": workspace.pk, "limit": queries.USUAL})
            ids = [row[0] for row in rows]
            run_sql(EDGES, {"workspace": workspace.pk, "ids": ids})

    def lower_near() -> None:
        with access.in_workspace(workspace.pk):
            hub = ranked[0].pk
            run_sql(NEAR, {"workspace": workspace.pk, "id": hub, "limit": queries.MORE})

    hub, usual = ranked[0].pk, ranked[len(ranked) // 10].pk
    sent = {"shown": ",".join(shown)}
    print("  open           ", timed(lambda: client.get(page["view"])))
    print("  plain SQL      ", timed(lower))
    print("  open at a hub  ", timed(lambda: client.get(page["view"], {"entity": str(hub)})))
    print(
        "  expand a hub   ", timed(lambda: client.post(page["more"], sent | {"expand": str(hub)}))
    )
    print(
        "  expand another ", timed(lambda: client.post(page["more"], sent | {"expand": str(usual)}))
    )
    print("  plain SQL      ", timed(lower_near))


def frames(address: str, email: str, password: str) -> None:
    """Count frames while the picture is dragged to and fro."""
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(address)
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("[data-entities] tr")
        box = page.locator("[data-canvas]").bounding_box() or {}
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.evaluate(COUNT)
        page.mouse.move(x, y)
        page.mouse.down()
        started, step = time.perf_counter(), 0
        while time.perf_counter() - started < PAN_SECONDS:
            step += 1
            page.mouse.move(x + 80 * ((step % 20) / 10 - 1), y + 40 * ((step % 14) / 7 - 1))
        seconds = time.perf_counter() - started
        seen = page.evaluate("window.seen")
        page.mouse.up()
        browser.close()
    print(f"panning: {seen / seconds:.0f} frames a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, nargs="*", default=[5_000, 50_000])
    parser.add_argument("--page", nargs=3, metavar=("URL", "EMAIL", "PASSWORD"))
    given = parser.parse_args()
    settings.ALLOWED_HOSTS = ["*"]
    for count in given.entities:
        name = f"explorer-{uuid.uuid4().hex[:8]}"
        user = User.objects.create_user(f"{name}@example.org", uuid.uuid4().hex)
        workspace = people_services.workspace_create(name=name, slug=name, owner=user)
        try:
            ranked = fill(workspace, count)
            print(f"{count:,} entities")
            job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
            communities.run(job, build_ports(), NO_PROGRESS)
            started = time.perf_counter()
            layout.renew(workspace.pk)
            print(f"  layout          {time.perf_counter() - started:.1f} s")
            client = Client()
            client.force_login(user)
            measure(workspace, client, ranked)
        finally:
            workspace_purge(workspace_id=workspace.pk)
    if given.page:
        frames(*given.page)


if __name__ == "__main__":
    main()
