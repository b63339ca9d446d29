"""Measure documents per second on the model tier, with the models' own time subtracted.

    python benchmarks/model_overhead.py DATASET_DIR [--documents N,…] [--no-tree] [--profile N]

Reads ``documents.jsonl`` as ``manage.py evaluate`` does and ingests it into temporary workspaces,
once for each number of documents. A stub in this process stands in for the chat model, through the
real ``Chat``, ledger and cache; the embedder hashes words. The clock runs from the first document
added to the end of the refresh, reports included. The processor time of the stub and the embedder
is subtracted; everything else counts. The tree of summaries, which other systems do not build, is
printed separately, and the rate without and with it.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import re
import sys
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
os.environ["EMBEDDER"] = "fake"
django.setup()

from ingestion.documents import estimates, services
from ingestion.models import Chunk, CommunityReport, Entity, Relationship
from ingestion.pipeline import runner
from ingestion.stage import StageOutcome
from kb_project.commands import ensure_migrated
from kb_project.llm.call import Exchange
from kb_project.llm.chat import Chat
from kb_project.llm.config import ChatConfig
from kb_project.llm.fake import FakeProvider
from kb_project.llm.ports import Role
from kb_project.llm.provider import RawCall
from kb_project.llm.slots import LocalSlots
from kb_project.llm.tokens import token_starts
from kb_project.ports import Ports, build_ports
from retrieval.evaluation import dataset
from workspaces import access
from workspaces.models import ModelCall
from workspaces.usage.ledger import TableCallStore

RESULTS: Final = ROOT / "benchmarks" / "results"
TARGET: Final = 60.0
TARGET_SPREAD: Final = 1.25
# A run of capitalised words, joined or not by a linking word: what looks like a name.
NAME: Final = re.compile(
    r"\b[A-Z][\w'-]+(?: (?:of|the|de|van|von|and) [A-Z][\w'-]+| [A-Z][\w'-]+)*"
)
SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")
PASSAGE: Final = re.compile(r"<passage[^>]*>(.*?)</passage", re.DOTALL)
LABEL: Final = re.compile(r"^\[?([ERCT]\d+)", re.MULTILINE)
MOST_ENTITIES: Final = 12
SUMMARY_WORDS: Final = 60
# Characters of a quote before and after what it is about.
AROUND: Final = 40
# Concurrent calls: a model without latency would sit behind an endpoint that takes this many.
ABREAST: Final = 32


@dataclass
class Clock:
    """Seconds of one run; ``model`` is processor time, summed over threads."""

    wall: float = 0.0
    adding: float = 0.0
    model: float = 0.0
    stages: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def model_ran(self, seconds: float) -> None:
        with self.lock:
            self.model += seconds

    @property
    def tree(self) -> float:
        return self.stages["tree"]


class Stub:
    """A model that answers at once: names become entities, related if in one sentence."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, call: RawCall) -> str:
        prompt = call.request.prompt
        if call.request.role == Role.EXTRACT:
            if call.request.turns:
                return json.dumps({"entities": [], "relationships": [], "keywords": []})
            return json.dumps(extraction(prompt.user))
        if "report" in prompt.name:
            return json.dumps(report(prompt.user))
        if "describe" in prompt.name:
            return json.dumps({"description": summary(prompt.user), "conflicts": []})
        if call.request.schema is not None:
            return json.dumps({"verdict": "unsure", "number": 0, "reason": "It is not said."})
        return summary(prompt.user)


def summary(user: str) -> str:
    """Words of the prompt, and a number that is another for every other prompt."""
    words = user.split()
    kept = " ".join(words[:: max(1, len(words) // SUMMARY_WORDS)])
    return f"{kept} ({zlib.crc32(user.encode())})"


def extraction(user: str) -> dict[str, Any]:
    match = PASSAGE.search(user)
    passage = match.group(1) if match else user
    entities: dict[str, dict[str, Any]] = {}
    links: list[dict[str, Any]] = []
    for sentence in (one.group().strip() for one in SENTENCE.finditer(passage)):
        found = {one.group(): one.span() for one in reversed([*NAME.finditer(sentence)])}
        names = sorted(found, key=lambda name: found[name])
        for name in names:
            quote = words_around(sentence, *found[name])
            entity = {"name": name, "type": "concept", "description": quote, "quote": quote}
            entities.setdefault(name, entity)
        for left, right in pairwise(names):
            quote = words_around(sentence, found[left][0], found[right][1])
            links.append(
                {
                    "source": left,
                    "target": right,
                    "description": quote,
                    "keywords": ["named together"],
                    "strength": 5,
                    "quote": quote,
                }
            )
    kept = dict(list(entities.items())[:MOST_ENTITIES])
    links = [link for link in links if link["source"] in kept and link["target"] in kept]
    return {"entities": list(kept.values()), "relationships": links, "keywords": list(kept)[:5]}


def words_around(sentence: str, start: int, end: int) -> str:
    """The stretch with a few words before and after it, as long as a model's quotes are."""
    first = sentence.rfind(" ", 0, max(0, start - AROUND)) + 1
    last = sentence.find(" ", end + AROUND)
    return sentence[first : last if last > 0 else len(sentence)]


def report(user: str) -> dict[str, Any]:
    labels = list(dict.fromkeys(LABEL.findall(user))) or ["E1"]
    findings = [
        {"summary": f"What {label} says.", "explanation": "It says so.", "references": [label]}
        for label in labels[:5]
    ]
    return {
        "title": f"Topic of {labels[0]} and {len(labels)} records",
        "summary": f"{summary(user)} [{labels[0]}].",
        "rating": 5,
        "rating_reason": "It is one of many.",
        "findings": findings,
    }


class TimedProvider(FakeProvider):
    """The stub with a stopwatch, in whichever thread calls it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(Stub(clock))
        self._clock = clock

    def complete(self, call: RawCall) -> Any:
        started = time.thread_time()
        try:
            return super().complete(call)
        finally:
            self._clock.model_ran(time.thread_time() - started)


class TimedEmbedder:
    """The embedder with the same stopwatch."""

    def __init__(self, inner: Any, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self.fingerprint, self.dimension = inner.fingerprint, inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> Any:
        started = time.thread_time()
        vectors = self._inner.embed_passages(texts)
        self._clock.model_ran(time.thread_time() - started)
        return vectors

    def embed_question(self, text: str) -> Any:
        return self._inner.embed_question(text)


class StubPorts:
    """Replacement for ``ports_for``: one chat model per thread, as in the product."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base = build_ports()
        self._local = threading.local()

    def __call__(self, workspace_id: Any) -> Ports:
        kept = getattr(self._local, "ports", None)
        if kept is None or kept[0] != workspace_id:
            kept = self._local.ports = (workspace_id, self._build(workspace_id))
        return kept[1]

    def _build(self, workspace_id: Any) -> Ports:
        config = ChatConfig("http://stub.invalid/v1", "stub", concurrency=ABREAST)
        chat = Chat(
            config,
            TableCallStore(workspace_id, endpoint=config.endpoint),
            Exchange(TimedProvider(self._clock)),
            LocalSlots(config.concurrency),
        )
        embedder = TimedEmbedder(self._base.embedder, self._clock)
        return replace(self._base, chat=chat, embedder=embedder)


def timed(inner: Callable[..., Any], note: Callable[[float], None]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return inner(*arguments, **options)
        finally:
            note(time.perf_counter() - started)

    return run


STAGES: Final = dict(runner.STAGES)
ADD: Final = services.documents_add


def measure(clock: Clock) -> None:
    """Install the stopwatches."""

    def on_stage(name: str) -> Callable[[float], None]:
        def note(seconds: float) -> None:
            clock.stages[name] += seconds

        return note

    def on_adding(seconds: float) -> None:
        clock.adding += seconds

    for name, stage in STAGES.items():
        runner.STAGES[name] = timed(stage, on_stage(name))
    services.documents_add = timed(ADD, on_adding)
    runner.ports_for = estimates.ports_for = StubPorts(clock)


def ingest(source: dataset.Dataset, documents: int) -> dict[str, Any]:
    clock = Clock()
    measure(clock)
    source = replace(source, documents=source.documents[:documents], questions=())
    started = time.perf_counter()
    with dataset.filled_workspace(source) as filled:
        clock.wall = time.perf_counter() - started
        workspace = filled.workspace
        with access.in_workspace(workspace.pk):
            counts = {
                model.__name__: model.objects.in_workspace(workspace).count()
                for model in (Chunk, Entity, Relationship, CommunityReport, ModelCall)
            }
        return figures(len(source.documents), clock, counts, failed=filled.failed)


def figures(documents: int, clock: Clock, counts: dict[str, int], *, failed: int) -> dict[str, Any]:
    outside = clock.wall - clock.model
    return {
        "documents": documents,
        "failed": failed,
        "seconds": round(clock.wall, 2),
        "model_seconds": round(clock.model, 2),
        "tree_seconds": round(clock.tree, 2),
        "rate": round(documents / (outside - clock.tree), 1),
        "rate_with_tree": round(documents / outside, 1),
        "adding_seconds": round(clock.adding, 2),
        "stages": {name: round(seconds, 2) for name, seconds in clock.stages.items()},
        "counts": counts,
        "load": round(os.getloadavg()[0], 1),
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    counts = ", ".join(f"{number} {name}" for name, number in found["counts"].items())
    yield f"{found['documents']} documents ({found['failed']} failed): {counts}"
    yield f"  by the clock {found['seconds']:>8.2f} s, models {found['model_seconds']:.2f} s"
    yield f"  tree of summaries {found['tree_seconds']:>5.2f} s"
    yield f"  adding {found['adding_seconds']:.2f} s; " + ", ".join(
        f"{name} {seconds:.2f} s" for name, seconds in found["stages"].items()
    )
    yield (
        f"  {found['rate']:.1f} documents a second outside model time,"
        f" {found['rate_with_tree']:.1f} with the tree"
    )


def verdict(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    rates = [run["rate"] for run in found]
    spread = max(rates) / min(rates)
    is_met = "met" if min(rates) >= TARGET else "MISSED"
    is_flat = "met" if spread <= TARGET_SPREAD else "MISSED"
    yield f"slowest {min(rates):.1f} documents a second, target at least {TARGET:.0f} - {is_met}"
    yield f"fastest to slowest {spread:.2f}, target at most {TARGET_SPREAD} - {is_flat}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What the model tier costs beside its models.")
    parser.add_argument("dataset", type=Path, help="a folder with documents.jsonl")
    parser.add_argument("--documents", default="100,200,400,708", help="how many, in turn")
    parser.add_argument("--profile", type=int, default=0, help="print so many of the hot functions")
    parser.add_argument("--no-tree", action="store_true", help="leave the summaries out")
    options = parser.parse_args()
    ensure_migrated(print)
    if options.no_tree:
        STAGES["tree"] = runner.alone(lambda *_: StageOutcome())
        runner.tree.is_missed = lambda *_: False  # otherwise it would be requested over and over
    source = dataset.load(options.dataset)
    token_starts("The light of Skarrow.")
    ingest(source, 20)  # load what loads on first use
    found = []
    profile = cProfile.Profile()
    for number in map(int, options.documents.split(",")):
        if options.profile:
            profile.enable()
        found.append(ingest(source, number))
        profile.disable()
        print("\n".join(lines(found[-1])), flush=True)
    if options.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(options.profile)
        pstats.Stats(profile).sort_stats("tottime").print_stats(options.profile)
    print("\n".join(verdict(found)))
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"model-overhead-{source.name}.json"
    target.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
