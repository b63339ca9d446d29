"""Measure what grows with a workspace, in workspaces of chosen sizes.

    CONCORDANCE_DATA_DIR=DIR python manage.py migrate
    CONCORDANCE_DATA_DIR=DIR python benchmarks/scale.py DATASET_DIR [--passages N …] [--section S …]

The data folder keeps the workspaces between runs: the data set, read once, and ``scale-N`` for each
size, made by ``scale_rows``. Remove ``scale-N`` and the next run makes it again. With
``--passages-alone`` it is ``scale-N-passages``, with words and vectors alone. ``search`` prints,
for each mode, the time of a search beside making vectors of texts, over the data set's questions,
each asked twice and timed the second time; the share of the ten nearest passages that ``dense``
finds; and the memory of the process. ``scale_requests`` has ``pages`` and ``life``,
``scale_refresh`` has ``refresh``, ``scale_beside`` has ``beside``. Figures also go to
``benchmarks/results/``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from benchmarks.scale_beside import beside
from benchmarks.scale_refresh import refresh
from benchmarks.scale_requests import curate, life, pages
from benchmarks.scale_rows import workspace_of
from ingestion.stage import NO_PROGRESS
from ingestion.stages import cells
from kb_project.jobs.gc import THRESHOLDS
from kb_project.ports import Ports
from kb_project.sql import run_sql
from retrieval.evaluation import dataset
from retrieval.search import services
from retrieval.search.modes import MODES
from retrieval.search.query import QuestionVector
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

RESULTS: Final = ROOT / "benchmarks" / "results"
NEAREST: Final = 10

# The inner product of an expression has no index: an exact scan whatever the indexes.
EXACT: Final = """
SELECT chunk_id FROM ingestion_chunkembedding
WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
ORDER BY (vector <#> %(vector)s::halfvec) + 0, chunk_id LIMIT %(count)s
"""


class Remembering:
    """An embedder that makes each vector once, so that timed searches make none."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._passages: dict[tuple[str, ...], Any] = {}
        self._questions: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        if (key := tuple(texts)) not in self._passages:
            self._passages[key] = self._inner.embed_passages(texts)
        return self._passages[key]

    def embed_question(self, text: str) -> Any:
        if text not in self._questions:
            self._questions[text] = self._inner.embed_question(text)
        return self._questions[text]


def search(workspace: Workspace, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure every mode of searching."""
    questions = [one.question for one in dataset.load(folder).questions][: options.questions]
    ports = ports_for(workspace.pk)
    ports = replace(ports, embedder=Remembering(ports.embedder))
    before = memory()
    figures: dict[str, Any] = {"modes": {}}
    print(f"  {'mode':<12}{'p50 ms':>9}{'p95 ms':>9}{'first ms':>10}")
    for mode in options.modes or MODES:
        times = []
        first = timed(workspace, questions[0], mode, ports)
        for question in questions:
            timed(workspace, question, mode, ports)
            times.append(timed(workspace, question, mode, ports))
        row = {"p50": statistics.median(times), "p95": p95(times), "first": first}
        figures["modes"][mode] = {name: round(value, 1) for name, value in row.items()}
        print(f"  {mode:<12}{row['p50']:>9.1f}{row['p95']:>9.1f}{first:>10.0f}")
    figures["recall@10"] = round(recall(workspace, questions, ports), 4)
    figures["memory_mb"] = {"before": before, "after": memory()}
    print(f"  recall@10 of dense {figures['recall@10']:.4f}")
    print(f"  memory {before} MB before the first search, {memory()} MB after the last")
    return figures


def timed(workspace: Workspace, question: str, mode: str, ports: Ports) -> float:
    """Return the milliseconds of a search, without making vectors."""
    vector = QuestionVector(ports.embedder, question)
    vector.make()
    result = services.search(
        workspace=workspace, question=question, mode=mode, top_k=10, vector=vector, ports=ports
    )
    return result.search_seconds * 1000


def recall(workspace: Workspace, questions: Sequence[str], ports: Ports) -> float:
    """Return the share of the nearest passages that the mode ``dense`` finds."""
    shares = []
    for question in questions:
        vector = QuestionVector(ports.embedder, question)
        result = services.search(
            workspace=workspace,
            question=question,
            mode="dense",
            top_k=NEAREST,
            vector=vector,
            ports=ports,
        )
        nearest = exact(workspace.pk, vector)
        shares.append(len(nearest & {hit.chunk_id for hit in result.hits}) / len(nearest))
    return statistics.mean(shares)


def exact(workspace_id: UUID, vector: QuestionVector) -> set[UUID]:
    values = {
        "workspace": workspace_id,
        "fingerprint": vector.fingerprint,
        "vector": vector.literal,
        "count": NEAREST,
    }
    with access.in_workspace(workspace_id):
        return {row[0] for row in run_sql(EXACT, values)}


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def memory() -> int:
    """Return the process's resident memory in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


SECTIONS: Final[Mapping[str, Callable[[Workspace, Path, argparse.Namespace], dict[str, Any]]]] = {
    "search": search,
    "pages": pages,
    "life": life,
    "curate": curate,
    "refresh": refresh,
    "beside": beside,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="What grows with a workspace.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--passages", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--section", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--modes", type=lambda text: text.split(","), metavar="M,…")
    parser.add_argument("--questions", type=int, metavar="N", help="only the first so many")
    parser.add_argument("--without-graph", action="store_true", help="do not fill the projection")
    parser.add_argument("--passages-alone", action="store_true", help="words and vectors, no names")
    options = parser.parse_args()
    gc.set_threshold(*THRESHOLDS)  # as manage.py does: else a tenth of the questions wait for it
    RESULTS.mkdir(parents=True, exist_ok=True)
    for passages in options.passages:
        started = time.perf_counter()
        workspace = workspace_of(
            passages,
            options.dataset,
            with_graph=not options.without_graph,
            is_of_passages=options.passages_alone,
        )
        print(f"{workspace.slug}, filled in {time.perf_counter() - started:.0f} s")
        started = time.perf_counter()
        moved = cells.renew(workspace.pk, ports_for(workspace.pk).embedder, NO_PROGRESS)
        print(f" {moved} vectors put into cells in {time.perf_counter() - started:.0f} s")
        for section in options.section:
            print(f" {section}, load {os.getloadavg()[0]:.1f}")
            figures = SECTIONS[section](workspace, options.dataset, options)
            path = RESULTS / f"scale-{section}-{workspace.slug.removeprefix('scale-')}.json"
            path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
