"""Measure the cost of adding and deleting documents, and whether deletion leaves anything behind.

    python benchmarks/document_life.py DATASET_DIR [--delete N] [--small N] [--keep SLUG]

Ingests the data set, deletes some of its documents in one batch, and compares the remainder with a
fresh ingest of the other documents: entities and relationships with their names, figures and
wording, and what the questions find in every mode. Times are wall-clock, from the service call to
the end of the refresh that follows. A report counts as changed if its members, or what is known of
them, changed: this script compares rows itself and ignores what the product stores about a report's
material.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.documents import lifecycle, services
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Community,
    CommunityMember,
    CommunityReport,
    Document,
    Entity,
    Evidence,
    IngestionJob,
    Relationship,
)
from ingestion.pipeline import runner
from ingestion.resolution.keys import entity_id
from kb_project.commands import ensure_migrated
from kb_project.ports import build_ports
from retrieval.evaluation import dataset
from retrieval.evaluation.dataset import Dataset
from retrieval.search.services import search
from workspaces import access
from workspaces.models import Workspace

RESULTS: Final = ROOT / "benchmarks" / "results"
MODES: Final = ("dense", "lexical", "hybrid", "walk", "local")
TOP_K: Final = 10
ADDED: Final = 9
"""Documents added one by one to each workspace; the median counts."""


@dataclass(frozen=True)
class Wish:
    source: Dataset
    delete: int
    small: int
    questions: int
    keep: str


def main() -> None:
    parser = argparse.ArgumentParser(description="What it costs when documents come and go.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--documents", type=int, default=0, help="only so many; 0: all")
    parser.add_argument("--delete", type=int, default=100)
    parser.add_argument("--small", type=int, default=70)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--keep", default="", help="keep, or use, a workspace of all documents")
    options = parser.parse_args()
    ensure_migrated(print)
    source = dataset.load(options.dataset)
    if options.documents:
        source = replace(source, documents=source.documents[: options.documents])
    wish = Wish(source, options.delete, options.small, options.questions, options.keep)
    build_ports().embedder.embed_passages(["The light of Skarrow."])
    report = {"dataset": source.name, "documents": len(source.documents), **measured(wish)}
    print(json.dumps(report, indent=1))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"document_life-{source.name}.json"
    path.write_text(json.dumps(report, indent=1), encoding="utf-8")


def measured(wish: Wish) -> dict[str, Any]:
    # Every seventh, so that the deleted ones are spread over the whole data set.
    gone = {n * 7 % len(wish.source.documents) for n in range(wish.delete)}
    rest = [one for n, one in enumerate(wish.source.documents) if n not in gone]
    small = replace(wish.source, documents=wish.source.documents[: wish.small])
    with dataset.filled_workspace(wish.source, keep=wish.keep) as filled:
        workspace = filled.workspace
        with dataset.filled_workspace(small) as other:
            adding = added(large=workspace, small=other.workspace)
        adding["reports"] = rewritten(workspace)
        names = {f"{n:06d}.txt" for n in gone}
        deleting = deleted(workspace, names)
        after, found = graph_of(workspace), answers_of(workspace, wish)
    with dataset.filled_workspace(replace(wish.source, documents=tuple(rest))) as filled:
        fresh = graph_of(filled.workspace), answers_of(filled.workspace, wish)
    return {
        "deleting": deleting,
        "the same as if never ingested": {
            **compared(after, fresh[0]),
            "questions": compared_answers(found, fresh[1]),
        },
        "adding one": adding,
    }


# --- adding and deleting --------------------------------------------------------------------------
def deleted(workspace: Workspace, names: set[str]) -> dict[str, Any]:
    """Delete one document, then many in one batch, each with the refresh that follows."""
    with access.in_workspace(workspace.pk):
        documents = Document.objects.in_workspace(workspace)
        batch = list(documents.filter(name__in=names))
        one = [documents.exclude(name__in=names).order_by("name")[0]]
    change = ChangeContext(workspace, None, via="command")
    figures: dict[str, Any] = {"batch": len(batch)}
    for name, chosen in (("one", one), ("many", batch)):
        with timed(figures, f"{name}, until it is searched no more"):
            lifecycle.documents_trash(change=change, documents=chosen)
        with timed(figures, f"{name}, refresh"):
            services.process_workspace(workspace=workspace)
        if name == "one":
            with timed(figures, "one, back until it is searched"):
                lifecycle.documents_restore(change=change, documents=chosen)
            services.process_workspace(workspace=workspace)
    totals = {
        name: sum(value for key, value in figures.items() if key.startswith(f"{name},"))
        - figures.get(f"{name}, back until it is searched", 0)
        for name in ("one", "many")
    }
    figures["ratio"] = round(totals["many"] / totals["one"], 2)
    with timed(figures, "for good"):
        lifecycle.documents_delete(change=change, documents=batch)
    services.process_workspace(workspace=workspace)
    return figures


def added(**workspaces: Workspace) -> dict[str, Any]:
    """Measure the seconds until a new document is found by keywords, meaning and entities.

    The workspaces take turns, so that other load on the machine affects them all alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in workspaces}
    documents: dict[str, list[Document]] = {name: [] for name in workspaces}
    for number in range(ADDED):
        for name, workspace in workspaces.items():
            started = time.perf_counter()
            document = add(workspace, number)
            documents[name].append(document)
            with access.in_workspace(workspace.pk):
                job = IngestionJob.objects.in_workspace(workspace).get(document=document)
            for lane in runner.LANES:
                runner.run_group([job], lane)
            seconds[name].append(round(time.perf_counter() - started, 3))
    for name, workspace in workspaces.items():
        drop(workspace, *documents[name])
    medians = {name: median(found) for name, found in seconds.items()}
    ratio = round(medians["large"] / medians["small"], 2)
    return {"seconds": seconds, "median": medians, "ratio": ratio}


def add(workspace: Workspace, number: int) -> Document:
    text = (
        f"Ada Lind kept the light of Skarrow in {1900 + number}. Bo Strand of Wick sold oil to Ada"
        f" Lind, and Cora Vane married Bo Strand in {1910 + number}."
    )
    with access.in_workspace(workspace.pk):
        return services.document_add(
            workspace=workspace,
            name=f"added {number}.txt",
            title=f"Added {number}",
            content=io.BytesIO(text.encode()),
        )


def drop(workspace: Workspace, *documents: Document) -> None:
    lifecycle.documents_delete(
        change=ChangeContext(workspace, None, via="command"), documents=documents
    )
    services.process_workspace(workspace=workspace)


@contextmanager
def timed(figures: dict[str, Any], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    figures[name] = round(time.perf_counter() - started, 2)


# --- reports --------------------------------------------------------------------------------------
def rewritten(workspace: Workspace) -> dict[str, Any]:
    """Add one document about existing entities, and count which reports are rewritten."""
    with access.in_workspace(workspace.pk):
        known = Entity.objects.in_workspace(workspace).order_by("-rank")
        names = list(known.filter(type="person").values_list("name", flat=True)[5:7])
    before, reports = materials_of(workspace), reports_of(workspace)
    with access.in_workspace(workspace.pk):
        document = services.document_add(
            workspace=workspace,
            name="one more.txt",
            title="One more",
            content=io.BytesIO(f"{names[0]} wrote to {names[1]} twice.".encode()),
        )
    services.process_workspace(workspace=workspace)
    after, now = materials_of(workspace), reports_of(workspace)
    changed = {id_ for id_, material in after.items() if before.get(id_) != material}
    again = {id_ for id_, written in now.items() if reports.get(id_) != written}
    figures = {
        "reports": len(now),
        "rewritten": len(again),
        "whose members or facts changed": len(changed),
        "rewritten though neither changed": len(again - changed),
    }
    drop(workspace, document)
    return figures


def reports_of(workspace: Workspace) -> dict[UUID, Any]:
    with access.in_workspace(workspace.pk):
        rows = CommunityReport.objects.in_workspace(workspace)
        return dict(rows.values_list("community_id", "created_at"))


def materials_of(workspace: Workspace) -> dict[UUID, object]:
    """Map each topic to its members and their facts, the relationships inside it with their
    evidence, and the members of its sub-topics."""
    with access.in_workspace(workspace.pk):
        entities = {
            row[0]: row
            for row in Entity.objects.in_workspace(workspace).values_list(
                "pk", "name", "type", "chunk_count", "degree", "description"
            )
        }
        evidence: dict[UUID, set[object]] = {}
        for link, *place in Evidence.objects.in_workspace(workspace).values_list(
            "relationship_id", "document_id", "start", "end"
        ):
            evidence.setdefault(link, set()).add(tuple(place))
        links: dict[UUID, list[Any]] = {}
        for row in Relationship.objects.in_workspace(workspace).values_list(
            "source_id", "target_id", "weight", "pk"
        ):
            links.setdefault(row[0], []).append(row)
        topics = dict(Community.objects.in_workspace(workspace).values_list("pk", "parent_id"))
        members: dict[UUID, set[UUID]] = {pk: set() for pk in topics}
        for community, entity in CommunityMember.objects.in_workspace(workspace).values_list(
            "community_id", "entity_id"
        ):
            members[community].add(entity)
    parts: dict[UUID, list[Any]] = {pk: [] for pk in topics}
    for community, parent in topics.items():
        if parent is not None:
            parts[parent].append(sorted(map(str, members[community])))
    return {
        community: (
            sorted(entities[one] for one in inside),
            sorted(
                (str(row[0]), str(row[1]), row[2], sorted(map(str, evidence.get(row[3], ()))))
                for one in inside
                for row in links.get(one, ())
                if row[1] in inside
            ),
            sorted(parts[community]),
        )
        for community, inside in members.items()
    }


# --- comparing ------------------------------------------------------------------------------------
def graph_of(workspace: Workspace) -> dict[str, set[Any]]:
    with access.in_workspace(workspace.pk):
        entities = Entity.objects.in_workspace(workspace)
        links = Relationship.objects.in_workspace(workspace)
        foreign = {
            key
            for pk, key, sense in entities.values_list("pk", "key", "sense")
            if pk != entity_id(workspace.pk, key, sense)
        }
        return {
            "ids that do not follow from names": foreign,
            "entities": set(
                entities.values_list(
                    "key", "sense", "name", "type", "mention_count", "chunk_count", "degree",
                    "description",
                )
            ),
            "links": set(
                links.values_list(
                    "source__key", "source__sense", "target__key", "target__sense",
                    "evidence_count", "weight", "description",
                )
            ),
        }  # fmt: skip


def compared(one: dict[str, set[Any]], other: dict[str, set[Any]]) -> dict[str, Any]:
    return {
        part: {
            "number": len(other[part]),
            "missing": len(other[part] - one[part]),
            "unexpected": len(one[part] - other[part]),
        }
        for part in one
    }


Answers = dict[str, list[list[tuple[str, int, float]]]]


def answers_of(workspace: Workspace, wish: Wish) -> Answers:
    """Return what each question finds in each mode: title, start and score."""
    asked = [one.question for one in wish.source.questions[: wish.questions]]
    return {
        mode: [
            [
                (hit.title, hit.start, round(hit.score, 6))
                for hit in search(
                    workspace=workspace, question=question, mode=mode, top_k=TOP_K
                ).hits
            ]
            for question in asked
        ]
        for mode in MODES
    }


def compared_answers(one: Answers, other: Answers) -> dict[str, dict[str, int]]:
    return {
        mode: {
            "asked": len(other[mode]),
            "same passages and scores": _equal(one[mode], other[mode], _by_score),
            "same in the same order": _equal(one[mode], other[mode], list),
        }
        for mode in MODES
    }


def _equal(one: Sequence[Any], other: Sequence[Any], form: Callable[[Any], Any]) -> int:
    return sum(form(a) == form(b) for a, b in zip(one, other, strict=True))


def _by_score(hits: Sequence[tuple[str, int, float]]) -> object:
    """Allow passages with equal scores to come, or be cut off at the end, in any order."""
    last = hits[-1][2] if hits else 0.0
    return sorted(hit for hit in hits if hit[2] > last), len(hits)


if __name__ == "__main__":
    main()
