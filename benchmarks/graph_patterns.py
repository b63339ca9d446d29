"""Measure each pattern of the graph in Apache AGE and in the tables, and compare the two.

    python benchmarks/graph_patterns.py [--edges 1000,10000,100000] [--questions N]

Fills a workspace with a random graph for each size: five relationships an entity, half of them to
an entity that already has many, so that there are hubs. Puts the same questions to both stores in
turn, in one run, so that whatever else the machine does slows both; checks that both give the same
answer. The ratios are what ``kb_project.graph.routing.ANSWERED_BY`` rests on. The workspaces are
deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID, uuid4

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.knowledge import projection
from ingestion.models import Entity, Relationship
from kb_project.graph.age_store import AgeGraphStore
from kb_project.graph.ports import GraphReader
from kb_project.graph.routing import RoutedGraphReader
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql
from workspaces import access
from workspaces.administration.services import rows_purge
from workspaces.models import Workspace
from workspaces.people.services import workspace_create

RESULTS: Final = ROOT / "benchmarks" / "results"
EDGES_PER_NODE: Final = 5
WARM_UP: Final = 5
SET: Final = 60
"""Entities whose induced subgraph is asked for."""

Pairs = list[tuple[UUID, UUID]]
Ask = Callable[[GraphReader, UUID, tuple[UUID, UUID], list[UUID]], object]

PATTERNS: Final[dict[str, Ask]] = {
    "neighbours": lambda store, ws, pair, some: store.neighbours(ws, pair[0]),
    "shared_neighbours": lambda store, ws, pair, some: store.shared_neighbours(ws, *pair),
    "paths": lambda store, ws, pair, some: store.paths(ws, *pair),
    "best_paths": lambda store, ws, pair, some: store.best_paths(ws, *pair),
    "subgraph": lambda store, ws, pair, some: store.subgraph(ws, pair),
    "induced_subgraph": lambda store, ws, pair, some: store.induced_subgraph(ws, some),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="The graph's patterns, in AGE and in the tables.")
    parser.add_argument("--edges", default="1000,10000,100000")
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    report = {}
    for size in map(int, options.edges.split(",")):
        workspace = workspace_create(name=f"Patterns {uuid4().hex[:8]}", owner=None)
        try:
            near = fill(workspace, size)
            report[str(size)] = measured(workspace.pk, near, options.questions)
        finally:
            rows_purge(workspace.pk)
        print(f"{size} edges")
        for pattern, figures in report[str(size)].items():
            print(f"  {pattern:18}", figures)
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "graph-patterns.json"
    path.write_text(json.dumps(report, indent=1), encoding="utf-8")


def fill(workspace: Workspace, size: int) -> dict[UUID, list[UUID]]:
    """Write a random graph to the tables and to AGE; return the neighbours of each entity."""
    random = Random(size)
    ids = [UUID(int=random.getrandbits(128), version=4) for _ in range(size // EDGES_PER_NODE)]
    near: dict[UUID, list[UUID]] = defaultdict(list)
    ends: list[UUID] = []
    links: set[tuple[UUID, UUID]] = set()
    while len(links) < size:
        source = random.choice(ids)
        target = random.choice(ends if ends and random.random() < 0.5 else ids)
        if source != target and (source, target) not in links:
            links.add((source, target))
            ends.append(target)
            near[source].append(target)
            near[target].append(source)
    with access.in_workspace(workspace.pk):
        Entity.objects.bulk_create(
            (
                Entity(
                    id=one,
                    workspace=workspace,
                    key=str(one),
                    name=f"Entity {number}",
                    type="thing",
                    degree=len(set(near[one])),
                    is_changed=False,
                )
                for number, one in enumerate(ids)
            ),
            batch_size=2_000,
        )
        Relationship.objects.bulk_create(
            (
                Relationship(
                    workspace=workspace,
                    source_id=source,
                    target_id=target,
                    description="is related to",
                    weight=random.random() * 5,
                    is_changed=False,
                )
                for source, target in sorted(links)
            ),
            batch_size=2_000,
        )
    projection.rebuild(workspace.pk, AgeGraphStore())
    run_sql("ANALYZE ingestion_entity", using="owner")
    run_sql("ANALYZE ingestion_relationship", using="owner")
    return near


def questions(
    near: dict[UUID, list[UUID]], count: int
) -> Iterator[tuple[tuple[UUID, UUID], list[UUID]]]:
    """Yield pairs, half of them connected by a walk of three steps, each with a set around it."""
    random = Random(7)
    ids = sorted(near)
    for number in range(count):
        source = target = random.choice(ids)
        if number % 2:
            for _ in range(3):
                target = random.choice(near[target])
        while target == source:
            target = random.choice(ids)
        around = dict.fromkeys([source, target, *near[source], *near[target], *ids[:SET]])
        yield (source, target), list(around)[:SET]


def measured(workspace_id: UUID, near: dict[UUID, list[UUID]], count: int) -> dict[str, Any]:
    asked = list(questions(near, count + WARM_UP))
    report: dict[str, Any] = {}
    with access.in_workspace(workspace_id):
        stores: dict[str, GraphReader] = {
            "tables": TableGraphStore(),
            "age": AgeGraphStore(expects_graph=True),
            "routed": RoutedGraphReader(),
        }
        for pattern, ask in PATTERNS.items():
            times: dict[str, list[float]] = {name: [] for name in stores}
            for number, (pair, some) in enumerate(asked):
                order = list(stores) if number % 2 else list(reversed(stores))
                answers = {}
                for name in order:
                    started = time.perf_counter()
                    answers[name] = ask(stores[name], workspace_id, pair, some)
                    times[name].append(1000 * (time.perf_counter() - started))
                if not answers["tables"] == answers["age"] == answers["routed"]:
                    raise SystemExit(f"the stores differ in {pattern} of {pair}")
            report[pattern] = compared({name: one[WARM_UP:] for name, one in times.items()})
    return report


def compared(times: dict[str, list[float]]) -> dict[str, Any]:
    figures = {name: (share(one, 0.5), share(one, 0.95)) for name, one in times.items()}
    ratios = [
        age / max(table, 1e-9) for age, table in zip(figures["age"], figures["tables"], strict=True)
    ]
    return {
        **{name: [round(one, 2) for one in both] for name, both in figures.items()},
        "age_to_tables": [round(one, 1) for one in ratios],
    }


def share(times: list[float], which: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * which))]


if __name__ == "__main__":
    main()
