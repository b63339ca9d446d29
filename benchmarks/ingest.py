"""Measure what ingesting a data set costs, and where the time goes.

    python benchmarks/ingest.py DATASET_DIR [--documents N]

Reads ``documents.jsonl`` as ``manage.py evaluate`` does, ingests it into a temporary workspace, and
prints a table; the same figures go to ``benchmarks/results/``. Time is measured from outside:
around the embedder, around spaCy, around every stage and around every lane of a group of documents;
a document's cost is its share of its groups' cost.

*Outside* is the wall-clock time in which neither the embedder nor spaCy ran. Two lanes run side by
side, so their *work* adds up to more than the wall clock; the share of it that is neither the
embedder's nor spaCy's is printed too. The models are loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.documents import services
from ingestion.extractors import english
from ingestion.models import Chunk
from ingestion.pipeline import runner
from kb_project.commands import ensure_migrated
from kb_project.llm.tokens import token_starts
from kb_project.ports import build_ports
from retrieval.evaluation import dataset
from workspaces import access

RESULTS: Final = ROOT / "benchmarks" / "results"
EDGE: Final = 100
TARGET_SHARE: Final = 0.25
TARGET_GROWTH: Final = 1.2


@dataclass
class Clock:
    """Seconds by activity, and by document in the order processing began."""

    embedder: list[tuple[float, float]] = field(default_factory=list)
    spacy: list[tuple[float, float]] = field(default_factory=list)
    adding: float = 0.0
    wall: float = 0.0
    stages: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lanes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    documents: defaultdict[Any, float] = field(default_factory=lambda: defaultdict(float))
    begun: dict[Any, None] = field(default_factory=dict)

    @property
    def work(self) -> float:
        return self.adding + sum(self.lanes.values())

    @property
    def outside(self) -> float:
        return self.wall - covered([*self.embedder, *self.spacy])

    @property
    def other_work(self) -> float:
        return self.work - covered(self.embedder) - covered(self.spacy)


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """Return the total length of the union of time spans.

    >>> covered([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


class TimedEmbedder:
    """The embedder with a stopwatch."""

    def __init__(self, inner: Any, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self.fingerprint, self.dimension = inner.fingerprint, inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> Any:
        started = time.perf_counter()
        vectors = self._inner.embed_passages(texts)
        self._clock.embedder.append((started, time.perf_counter()))
        return vectors

    def embed_question(self, text: str) -> Any:
        return self._inner.embed_question(text)


class TimedLanguage:
    """spaCy's pipeline with a stopwatch around every step of its generator."""

    def __init__(self, inner: Any, clock: Clock) -> None:
        self._inner, self._clock = inner, clock

    def pipe(self, texts: Any, **options: Any) -> Iterator[Any]:
        # Our own code makes the texts: that is not spaCy's time.
        documents = self._inner.pipe(list(texts), **options)
        while True:
            started = time.perf_counter()
            document = next(documents, None)
            self._clock.spacy.append((started, time.perf_counter()))
            if document is None:
                return
            yield document


def timed(inner: Callable[..., Any], note: Callable[[float, Any, Any], None]) -> Callable[..., Any]:
    """Wrap ``inner`` to call ``note(seconds, first argument, second argument)`` after each call."""

    def run(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return inner(*arguments, **options)
        finally:
            note(time.perf_counter() - started, *arguments[:2])

    return run


def measure(clock: Clock) -> None:
    """Install the stopwatches, and load everything that loads on first use."""
    ports = build_ports()
    ports.embedder.embed_passages(["The light of Skarrow."])
    token_starts("The light of Skarrow.")
    language = TimedLanguage(english._model.get(), clock)
    english._model.get = lambda: language  # the stopwatch
    list(language.pipe(["Ada Lind keeps the light of Skarrow."]))
    clock.spacy.clear()
    timed_ports = replace(ports, embedder=TimedEmbedder(ports.embedder, clock))
    runner.ports_for = lambda _workspace: timed_ports

    def on_stage(name: str) -> Callable[[float, Any, Any], None]:
        def note(seconds: float, _jobs: Any, _ports: Any) -> None:
            clock.stages[name] += seconds

        return note

    def on_lane(seconds: float, jobs: Any, lane: Any) -> None:
        name = lane if jobs[0].document_id else "refresh"
        clock.lanes[name] += seconds
        for job in jobs:
            if job.document_id:
                clock.begun.setdefault(job.document_id)
                clock.documents[job.document_id] += seconds / len(jobs)

    for name, stage in list(runner.STAGES.items()):
        runner.STAGES[name] = timed(stage, on_stage(name))
    runner.run_group = timed(runner.run_group, on_lane)


def ingest(folder: Path, most: int, clock: Clock) -> tuple[int, int]:
    """Fill a temporary workspace; return the number of documents and of chunks."""
    source = dataset.load(folder)
    source = replace(source, documents=source.documents[: most or None], questions=())
    services.documents_add = timed(services.documents_add, lambda seconds, *_: add(clock, seconds))
    started = time.perf_counter()
    with dataset.filled_workspace(source, on_progress=show_progress) as filled:
        clock.wall = time.perf_counter() - started
        with access.in_workspace(filled.workspace.pk):
            chunks = Chunk.objects.in_workspace(filled.workspace).count()
    return len(source.documents), chunks


def add(clock: Clock, seconds: float) -> None:
    clock.adding += seconds


def show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {total} documents ")


def report(dataset: str, documents: int, chunks: int, clock: Clock) -> dict[str, Any]:
    costs = [clock.documents[document] for document in clock.begun]
    edge = min(EDGE, len(costs) // 2) or 1
    first, last = mean(costs[:edge]), mean(costs[-edge:])
    return {
        "dataset": dataset,
        "documents": documents,
        "chunks": chunks,
        "seconds": round(clock.wall, 2),
        "work_seconds": round(clock.work, 2),
        "embedder_seconds": round(covered(clock.embedder), 2),
        "spacy_seconds": round(covered(clock.spacy), 2),
        "outside_seconds": round(clock.outside, 2),
        "outside_share": round(clock.outside / clock.wall, 3),
        "other_work_seconds": round(clock.other_work, 2),
        "other_work_share": round(clock.other_work / clock.work, 3),
        "other_work_ms_per_document": round(1000 * clock.other_work / documents, 1),
        "stages": {name: round(seconds, 2) for name, seconds in clock.stages.items()},
        "lanes": {name: round(seconds, 2) for name, seconds in clock.lanes.items()},
        "adding_seconds": round(clock.adding, 2),
        "edge": edge,
        "first_ms": round(1000 * first, 1),
        "last_ms": round(1000 * last, 1),
        "growth": round(last / first, 3),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def lines(figures: dict[str, Any]) -> Iterator[str]:
    yield f"{figures['dataset']}: {figures['documents']} documents, {figures['chunks']} chunks"
    total, work = figures["seconds"], figures["work_seconds"]
    yield row("total, by the clock", total)
    yield row("  inside the embedder", figures["embedder_seconds"], total)
    yield row("  inside spaCy", figures["spacy_seconds"], total)
    yield row("  outside both", figures["outside_seconds"], total)
    yield row("work of both lanes, added up", work)
    yield row("  neither embedder nor spaCy", figures["other_work_seconds"], work)
    yield f"{'  the same, a document':<34}{figures['other_work_ms_per_document']:>9.1f} ms"
    yield "by stage"
    for name, seconds in sorted(figures["stages"].items(), key=lambda pair: -pair[1]):
        yield f"  {name:<32}{seconds:>9.1f} s"
    yield f"cost of a document, first {figures['edge']}{figures['first_ms']:>14.1f} ms"
    yield f"cost of a document, last {figures['edge']}{figures['last_ms']:>15.1f} ms"
    yield verdict("outside both", figures["outside_share"], TARGET_SHARE)
    yield verdict("last to first", figures["growth"], TARGET_GROWTH)


def row(label: str, seconds: float, whole: float = 0.0) -> str:
    share = f"{seconds / whole:>8.1%}" if whole else ""
    return f"{label:<34}{seconds:>9.1f} s{share}"


def verdict(name: str, value: float, target: float) -> str:
    return (
        f"{name}: {value:.3f}, target at most {target} - {'met' if value <= target else 'MISSED'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What ingesting a data set costs.")
    parser.add_argument("dataset", type=Path, help="a folder with documents.jsonl")
    parser.add_argument("--documents", type=int, default=0, help="only the first so many")
    options = parser.parse_args()
    ensure_migrated(print)
    clock = Clock()
    measure(clock)
    documents, chunks = ingest(options.dataset, options.documents, clock)
    figures = report(options.dataset.resolve().name, documents, chunks, clock)
    print("\n".join(lines(figures)))
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"ingest-{figures['dataset']}.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
