"""Measure how many pairs of things that belong together the graph connects, and how fast.

    python benchmarks/graph_paths.py DATASET_DIR [--keep SLUG] [--routing DATASET_DIR …]

A question of the data set names the documents that together answer it. Every two of them are a
pair; the entities that their titles name should be connected by a path. The report has the share of
pairs whose titles are entities, the share connected within 1, 2 and 3 steps, and what finding the
best paths takes. ``--routing`` counts in further data sets the questions that ``auto`` answers by
paths; those of multi-hop sets ask for something else, so each is one caught wrongly.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import django
import regex

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.models import Alias
from kb_project.graph.ports import MAX_HOPS
from kb_project.ports import graph_reader
from kb_project.text.names import normalise_name
from retrieval.evaluation import dataset
from retrieval.search.query_features import connected_ends
from workspaces import access

RESULTS: Final = ROOT / "benchmarks" / "results"
ROUNDS: Final = 5
_PARENTHESES: Final = regex.compile(r"\s*\([^()]*\)\s*$")


def main() -> None:
    parser = argparse.ArgumentParser(description="How well the graph connects known evidence.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--keep", default="", metavar="SLUG", help="keep the workspace so named")
    parser.add_argument("--routing", type=Path, nargs="*", default=[], help="further data sets")
    options = parser.parse_args()
    loaded = dataset.load(options.dataset)
    with dataset.filled_workspace(loaded, keep=options.keep) as filled:
        report = measured(loaded, filled.workspace.pk)
    report["caught"] = {path.name: caught(path) for path in (options.dataset, *options.routing)}
    print(json.dumps(report, indent=1, ensure_ascii=False))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"graph-paths-{loaded.name}.json"
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")


def caught(folder: Path) -> dict[str, Any]:
    """Return the questions with the shape of one about a connection."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines if line.strip()]
    shaped = [question for question in questions if connected_ends(question)]
    return {"questions": len(questions), "shaped": shaped}


def pairs_of(loaded: dataset.Dataset) -> Iterator[tuple[str, str]]:
    for question in loaded.questions:
        titles = (loaded.documents[min(one.documents)].title for one in question.evidence)
        yield from combinations(dict.fromkeys(titles), 2)


def measured(loaded: dataset.Dataset, workspace_id: UUID) -> dict[str, Any]:
    pairs = list(pairs_of(loaded))
    steps: list[int] = []
    seconds: list[float] = []
    linked = 0
    with access.in_workspace(workspace_id):
        reader = graph_reader()
        for pair in pairs:
            first, second = (entities_named(workspace_id, title) for title in pair)
            linked += bool(first and second)
            found = []
            for a in first:
                for b in second - {a}:
                    for _ in range(ROUNDS):
                        started = time.perf_counter()
                        paths = reader.best_paths(workspace_id, a, b)
                        seconds.append(time.perf_counter() - started)
                    found += [len(path.edges) for path in paths]
            if first & second:
                found.append(0)
            if found:
                steps.append(min(found))
    within = {
        str(most): round(sum(one <= most for one in steps) / max(1, len(pairs)), 3)
        for most in range(1, MAX_HOPS + 1)
    }
    ordered = sorted(seconds)
    return {
        "questions": len(loaded.questions),
        "pairs": len(pairs),
        "both_are_entities": round(linked / max(1, len(pairs)), 3),
        "connected_within_steps": within,
        "p50_ms": round(1000 * ordered[len(ordered) // 2], 2),
        "p95_ms": round(1000 * ordered[int(len(ordered) * 0.95)], 2),
    }


def entities_named(workspace_id: UUID, title: str) -> set[UUID]:
    keys = {normalise_name(title), normalise_name(_PARENTHESES.sub("", title))}
    rows = Alias.objects.in_workspace(workspace_id).filter(key__in=keys)
    return set(rows.values_list("entity_id", flat=True))


if __name__ == "__main__":
    main()
