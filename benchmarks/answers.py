"""Measure answer quality: correct, short, and honest about what the documents lack.

    python benchmarks/answers.py DATASET_DIR [--mode M] [--keep SLUG]

The folder holds ``questions.jsonl`` and either ``documents.jsonl`` (``{"id", "title", "text"}``) or
``documents/`` with files of any format; a file that the questions name but the folder lacks is
looked for in ``../corpora``. The script loads everything into a workspace and asks every question.
It writes the answers to ``benchmarks/results/answers-NAME.jsonl``, in the form that ``score.py``
reads, and prints the scores if the folder or ``../answers`` has that script.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.documents import services as ingestion
from ingestion.models import Document, DocumentState
from kb_project.commands import ensure_migrated
from retrieval.conversations import asking, queries
from retrieval.models import Conversation
from retrieval.search.modes import DEFAULT_MODE
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import Workspace
from workspaces.people import services as people_services

RESULTS: Final = ROOT / "benchmarks" / "results"


def texts_of(folder: Path) -> list[ingestion.NewDocument]:
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        ingestion.NewDocument(f"{index:06d}.txt", one["title"], io.BytesIO(one["text"].encode()))
        for index, one in enumerate(map(json.loads, lines))
    ]


def files_of(folder: Path, questions: Sequence[dict[str, Any]]) -> list[Path]:
    files = {path.name: path for path in sorted((folder / "documents").iterdir())}
    for name in sorted({one["document"] for one in questions if one.get("document")}):
        files.setdefault(name, folder.parent / "corpora" / name)
    return list(files.values())


@contextmanager
def filled(folder: Path, questions: Sequence[dict[str, Any]], keep: str) -> Iterator[Workspace]:
    """Yield a workspace with the documents; with ``keep``, reuse the one with that slug and keep
    it."""
    kept = Workspace.objects.filter(slug=keep).first() if keep else None
    workspace = kept or people_services.workspace_create(
        name=f"Evaluation of {folder.name}", owner=None, slug=keep or f"answers-{os.getpid()}"
    )
    try:
        if kept is None:
            add(workspace, folder, questions)
        ingestion.process_workspace(workspace=workspace)
        yield workspace
    finally:
        if not keep:
            workspace_purge(workspace.pk)


def add(workspace: Workspace, folder: Path, questions: Sequence[dict[str, Any]]) -> None:
    with access.in_workspace(workspace.pk):
        if (folder / "documents.jsonl").exists():
            ingestion.documents_add(workspace=workspace, documents=texts_of(folder))
            return
        for path in files_of(folder, questions):
            with path.open("rb") as file:
                ingestion.document_upload(workspace=workspace, file=file, name=path.name)


def unread(workspace: Workspace) -> list[str]:
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).filter(state=DocumentState.ATTENTION)
        return list(rows.values_list("name", flat=True))


def forget_answers(workspace: Workspace) -> None:
    """Delete earlier conversations, whose answers would otherwise be reused."""
    with access.in_workspace(workspace.pk):
        Conversation.objects.in_workspace(workspace).delete()


def ask(workspace: Workspace, question: str, mode: str) -> dict[str, Any]:
    started = time.perf_counter()
    answer = asking.ask(workspace=workspace, user=None, question=question, mode=mode)
    seconds = time.perf_counter() - started
    view = queries.answer_view(workspace=workspace, answer=answer)
    return {
        "supported": view["supported"],
        "sentences": [one["text"] for one in view["sentences"]],
        "nearest": [one["text"] for one in view["nearest"]],
        "outcome": view.get("outcome", ""),
        "trace": view["trace"],
        "ms": round(1000 * seconds, 1),
    }


def score(folder: Path, predictions: Path) -> str:
    for script in (folder / "score.py", folder.parent / "answers" / "score.py"):
        if script.exists():
            command = [sys.executable, str(script), str(folder / "questions.jsonl")]
            return subprocess.run(
                [*command, str(predictions)], check=True, capture_output=True, text=True
            ).stdout
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="What a reader gets.")
    parser.add_argument("dataset", type=Path, help="a folder with documents and questions")
    parser.add_argument("--mode", default=DEFAULT_MODE)
    parser.add_argument("--keep", default="", metavar="SLUG", help="keep the workspace so named")
    options = parser.parse_args()
    ensure_migrated(print)
    folder = options.dataset.resolve()
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    RESULTS.mkdir(parents=True, exist_ok=True)
    predictions = RESULTS / f"answers-{folder.name}.jsonl"
    with filled(folder, questions, options.keep) as workspace:
        for name in unread(workspace):
            print(f"could not be read: {name}")
        forget_answers(workspace)
        ask(workspace, "warm up", options.mode)
        said = [
            {"id": one["id"]} | ask(workspace, one["question"], options.mode) for one in questions
        ]
    with predictions.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in said)
    print(score(folder, predictions), end="")
    print("outcomes", dict(Counter(one["outcome"] for one in said)))
    print("ms p50", statistics.median(one["ms"] for one in said))
    print(f"written to {predictions.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
