"""What commands print: progress, until they are interrupted, and the result of ingest."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from ingestion.documents import queries
from ingestion.documents.outcomes import DocumentOutcome
from ingestion.models import DocumentState
from kb_project.text.words import counted
from workspaces.models import Workspace

SECONDS_BETWEEN_LINES: Final = 5.0
INTERRUPTED: Final = 130  # what a shell expects after Ctrl-C
DOING: Final = {
    "files": "files",
    "tables": "tables read",
    "check": "parts checked",
    "rows": "rows written",
    "workspaces": "workspaces finished",
}


class Progress:
    """Writes a line every few seconds, once the work takes longer than that."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = time.monotonic()
        self._stream.write(f"{done:,} of {total:,} {DOING.get(what, what)}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM stop the block as Ctrl-C does, so that it cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# --- what the command ingest prints ---------------------------------------------------------------
REFUSED: Final = {
    "document": None,
    "state": "refused",
    "chunks": 0,
    "entities": 0,
    "relationships": 0,
    "problem": None,
    "duplicate": False,
}


@dataclass(slots=True)
class Intake:
    """The result of taking in files: documents in order, the duplicates among them, and refused
    files.
    """

    documents: list[Any] = field(default_factory=list)
    duplicates: set[Any] = field(default_factory=set)
    refused: list[tuple[Path, str]] = field(default_factory=list)


def as_json(
    ingested: Sequence[DocumentOutcome], intake: Intake, total: dict[str, Any]
) -> Iterator[str]:
    for outcome in ingested:
        line = _line(outcome) | {"duplicate": outcome.document.pk in intake.duplicates}
        yield json.dumps(line, ensure_ascii=False)
    for path, sentence in intake.refused:
        line = {**REFUSED, "title": path.name, "name": path.name, "warnings": [sentence]}
        yield json.dumps(line, ensure_ascii=False)
    yield json.dumps({"total": total})


def _line(outcome: DocumentOutcome) -> dict[str, Any]:
    return {
        "document": str(outcome.document.pk),
        "title": outcome.document.title,
        "name": outcome.document.name,
        "state": outcome.document.state,
        "chunks": outcome.chunks,
        "entities": outcome.entities,
        "relationships": outcome.relationships,
        "warnings": list(outcome.warnings),
        "problem": outcome.problem,
    }


def as_text(
    ingested: Sequence[DocumentOutcome], intake: Intake, total: dict[str, Any]
) -> Iterator[str]:
    yield f"{'state':<16}{'chunks':>7}{'entities':>10}{'relationships':>15}  document"
    for outcome in ingested:
        state = DocumentState(outcome.document.state).label
        counts = f"{outcome.chunks:>7}{outcome.entities:>10}{outcome.relationships:>15}"
        yield f"{state:<16}{counts}  {outcome.document.title}"
        yield from (f"    {sentence}" for sentence in _remarks(outcome, intake))
    for path, sentence in intake.refused:
        yield f"{'Refused':<16}{'':>32}  {path.name}\n    {sentence}"
    paused = f", {total['paused']} paused" if total["paused"] else ""
    attention = total["needs_attention"] + total["refused"]
    yield (
        f"{counted(total['documents'], 'document')},"
        f" {counted(attention, 'needs attention', 'need attention')}{paused}; the workspace has"
        f" {counted(total['entities'], 'entity', 'entities')} and"
        f" {counted(total['relationships'], 'relationship')}. {total['seconds']} s"
    )


def _remarks(outcome: DocumentOutcome, intake: Intake) -> Iterator[str]:
    if outcome.document.pk in intake.duplicates:
        yield "Already in the workspace; not added again."
    if outcome.problem:
        parts = (outcome.problem.get(part, "") for part in ("happened", "kept", "next_step"))
        yield " ".join(part for part in parts if part)
    yield from outcome.warnings


def total_of(
    workspace: Workspace, ingested: Sequence[DocumentOutcome], intake: Intake, seconds: float
) -> dict[str, Any]:
    counts = queries.workspace_counts(workspace=workspace)
    states = [outcome.document.state for outcome in ingested]
    return {
        "workspace": workspace.slug,
        "documents": len(ingested) + len(intake.refused),
        "ready": states.count(DocumentState.READY),
        "needs_attention": states.count(DocumentState.ATTENTION),
        "paused": states.count(DocumentState.PAUSED),
        "refused": len(intake.refused),
        "duplicates": len(intake.duplicates),
        "chunks": sum(outcome.chunks for outcome in ingested),
        "entities": counts.entities,
        "relationships": counts.relationships,
        "seconds": round(seconds, 2),
    }
