"""Measure answers: how many questions get one, whether it rests on the evidence, how long it takes.

    python benchmarks/ask.py DATASET_DIR [--foreign DATASET_DIR] [--mode M] [--keep SLUG]

Asks every question of a data set and, with ``--foreign``, the questions of another one, which the
documents do not answer and which should be refused. Every quote is compared with its document.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.models import DocumentVersion
from retrieval.conversations import asking
from retrieval.evaluation import dataset, metrics
from retrieval.evaluation.dataset import Filled, SourceQuestion, filled_workspace
from retrieval.models import Answer, Citation
from retrieval.search.modes import DEFAULT_MODE
from workspaces import access

RESULTS: Final = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's result; ``cited`` is the share of its evidence in cited documents."""

    is_supported: bool
    sentences: int
    cited: float
    wrong_quotes: int
    milliseconds: float


def ask(filled: Filled, texts: dict[Any, str], question: SourceQuestion, mode: str) -> Asked:
    answer = asking.ask(
        workspace=filled.workspace, user=None, question=question.question, mode=mode
    )
    citations = citations_of(filled, answer)
    places = {filled.indices[citation.document_id] for citation in citations}
    covered = [bool(places & evidence.documents) for evidence in question.evidence]
    return Asked(
        is_supported=answer.is_supported,
        sentences=len(answer.sentences),
        cited=sum(covered) / len(covered),
        wrong_quotes=sum(texts[c.document_id][c.start : c.end] != c.quote for c in citations),
        milliseconds=float(answer.trace["total_ms"]),
    )


def citations_of(filled: Filled, answer: Answer) -> list[Citation]:
    with access.in_workspace(filled.workspace.pk):
        return list(Citation.objects.in_workspace(filled.workspace).filter(answer=answer))


def summary(asked: Sequence[Asked], foreign: Sequence[Asked]) -> dict[str, Any]:
    answered = [one for one in asked if one.is_supported]
    times = [one.milliseconds for one in asked]
    return {
        "questions": len(asked),
        "answered": round(metrics.mean([one.is_supported for one in asked]), 4),
        "evidence_cited": round(metrics.mean([one.cited for one in asked]), 4),
        "sentences": round(metrics.mean([one.sentences for one in answered]), 2),
        "wrong_quotes": sum(one.wrong_quotes for one in asked),
        "foreign_questions": len(foreign),
        "foreign_answered": round(metrics.mean([one.is_supported for one in foreign]), 4),
        "total_ms": {
            "p50": round(metrics.percentile(times, 0.5), 1),
            "p95": round(metrics.percentile(times, 0.95), 1),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How answers do.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--foreign", type=Path, help="a data set whose questions are not answered")
    parser.add_argument("--mode", default=DEFAULT_MODE)
    parser.add_argument("--keep", default="", metavar="SLUG", help="keep the workspace so named")
    options = parser.parse_args()
    source = dataset.load(options.dataset)
    others = dataset.load(options.foreign).questions if options.foreign else ()
    with filled_workspace(source, keep=options.keep) as filled:
        with access.in_workspace(filled.workspace.pk):
            versions = DocumentVersion.objects.in_workspace(filled.workspace)
            versions = versions.filter(DocumentVersion.IS_LIVE_VERSION)
            texts = dict(versions.values_list("document_id", "text"))
        asking.ask(workspace=filled.workspace, user=None, question="warm up", mode=options.mode)
        asked = [ask(filled, texts, one, options.mode) for one in source.questions]
        foreign = [ask(filled, texts, one, options.mode) for one in others]
    report = {"dataset": source.name, "mode": options.mode} | summary(asked, foreign)
    print("\n".join(f"{name:18} {value}" for name, value in report.items()))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"ask-{source.name}.json"
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
