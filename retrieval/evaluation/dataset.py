"""Data sets: documents with questions whose evidence is known, and workspaces filled with them.

``documents.jsonl``: ``{"id", "title", "text", "chunks"?: [text, …]}``; ``chunks`` fixes how the
document is cut.
``questions.jsonl``: ``{"question", "evidence": [title or id, or {"doc", "chunk"}], "answer"?}``.

A workspace for an evaluation is filled with the documents, used, and deleted afterwards. This is
the only part of retrieval that drives ingestion.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from ingestion.documents import services as ingestion
from ingestion.models import Document, DocumentState, DocumentVersion
from kb_project.errors import ConflictError, InputError
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.language_models import services as model_services
from workspaces.models import Membership, Workspace
from workspaces.people import services as people_services

logger = logging.getLogger(__name__)

Span = tuple[int, int]

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """``spans`` locate its chunks in ``text``; None leaves chunking to the settings."""

    id: str
    title: str
    text: str
    spans: tuple[Span, ...] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Alternative documents, as indices in the data set, and optionally one chunk."""

    documents: frozenset[int]
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    question: str
    evidence: tuple[Evidence, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    documents: tuple[SourceDocument, ...]
    questions: tuple[SourceQuestion, ...]


def load(folder: Path) -> Dataset:
    """Read a data set. Raises InputError naming the file and line at fault."""
    documents = tuple(_document(*line) for line in _lines(folder / "documents.jsonl"))
    known = _Names(documents)
    questions = tuple(_question(*line, known) for line in _lines(folder / "questions.jsonl"))
    for what, found in (("documents", documents), ("questions", questions)):
        if not found:
            raise InputError(f"{folder / what}.jsonl is empty.", code="dataset_empty")
    return Dataset(folder.resolve().name, documents, questions)


def place_chunks(text: str, chunks: list[str]) -> tuple[str, tuple[Span, ...]]:
    """Locate the chunks in the text; if they are not in it, return a text joined from the
    chunks.

    >>> place_chunks("One. Two.", ["One.", "Two."])
    ('One. Two.', ((0, 4), (5, 9)))
    >>> place_chunks("Other.", ["One.", "Two."])
    ('One.\\n\\nTwo.', ((0, 4), (6, 10)))
    """
    spans: list[Span] = []
    for chunk in chunks:
        before, after = spans[-1] if spans else (-1, 0)
        start = text.find(chunk, after)
        if start == -1:  # overlapping chunks
            start = text.find(chunk, before + 1)
        if start == -1:
            return place_chunks("\n\n".join(chunks), chunks)
        spans.append((start, start + len(chunk)))
    return text, tuple(spans)


def readable(text: str) -> str:
    """Normalise the text as the plain-text reader does: one kind of line break, no control
    characters."""
    return _SURROGATES.sub("\ufffd", _UNREADABLE.sub("", _BREAKS.sub("\n", text)))


class _Names:
    """Looks up documents by id or, failing that, by title."""

    def __init__(self, documents: tuple[SourceDocument, ...]) -> None:
        self.ids = {document.id: index for index, document in enumerate(documents)}
        self.titles: dict[str, set[int]] = {}
        for index, document in enumerate(documents):
            self.titles.setdefault(document.title, set()).add(index)

    def find(self, name: str) -> frozenset[int]:
        if name in self.ids:
            return frozenset({self.ids[name]})
        return frozenset(self.titles.get(name, ()))


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each record with its place, for error messages."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{path} cannot be read: {why}.", code="dataset_unreadable") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path} line {number}", _record(f"{path} line {number}", line)


def _record(place: str, line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON.", code="dataset_invalid") from error
    if not isinstance(record, dict):
        raise InputError(f"{place} is not a JSON object.", code="dataset_invalid")
    return record


def _text(place: str, record: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = record.get(key, default)
    if not isinstance(value, str | int | float):
        raise InputError(f"{place} has no text '{key}'.", code="dataset_invalid")
    return readable(str(value))


def _list(place: str, record: Mapping[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise InputError(f"{place}: '{key}' is not a list.", code="dataset_invalid")
    return value or []


def _document(place: str, record: Mapping[str, Any]) -> SourceDocument:
    identity = _text(place, record, "id")
    title, text = _text(place, record, "title", identity), _text(place, record, "text", "")
    chunks = [readable(str(chunk)) for chunk in _list(place, record, "chunks")]
    if not chunks:
        return SourceDocument(identity, title, text, None)
    text, spans = place_chunks(text, chunks)
    return SourceDocument(identity, title, text, spans)


def _question(place: str, record: Mapping[str, Any], known: _Names) -> SourceQuestion:
    evidence = tuple(_evidence(place, one, known) for one in _list(place, record, "evidence"))
    if not evidence:
        raise InputError(f"{place} has no evidence.", code="dataset_invalid")
    question = _text(place, record, "question")
    return SourceQuestion(question, evidence, _text(place, record, "answer", ""))


def _evidence(place: str, value: object, known: _Names) -> Evidence:
    chunk = value.get("chunk") if isinstance(value, dict) else None
    name = str(value.get("doc")) if isinstance(value, dict) else str(value)
    documents = known.find(readable(name))
    if not documents:
        raise InputError(f"{place} names evidence that is not a document.", code="dataset_invalid")
    if chunk is not None and not isinstance(chunk, int):
        raise InputError(f"{place} names a chunk without a number.", code="dataset_invalid")
    return Evidence(documents, chunk)


# --- workspaces -----------------------------------------------------------------------------------
OnProgress = Callable[[int, int], None]
NAME_LENGTH: Final = 100
NAMED: Final = "Evaluation of "
# Documents added in one transaction.
BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Filled:
    """``indices`` maps documents to their places in the data set; ``failed`` could not be read."""

    workspace: Workspace
    indices: dict[UUID, int]
    seconds: float
    is_reused: bool
    failed: int


@contextmanager
def filled_workspace(
    dataset: Dataset, *, keep: str = "", on_progress: OnProgress | None = None
) -> Iterator[Filled]:
    """Yield a workspace with the data set's documents, deleted afterwards in any case.

    ``keep`` is the slug of a workspace to keep, and to reuse as long as its documents are those of
    the data set. Raises ConflictError if that workspace was not made by an evaluation.
    """
    workspace, is_reused = _open(dataset, keep)
    try:
        started = time.perf_counter()
        if not is_reused:
            _add(workspace, dataset)
        ingestion.process_workspace(workspace=workspace, on_progress=on_progress)
        seconds = 0.0 if is_reused else time.perf_counter() - started
        yield _filled(workspace, seconds=seconds, is_reused=is_reused)
    finally:
        if not keep:
            workspace_purge(workspace.pk)


def _open(dataset: Dataset, keep: str) -> tuple[Workspace, bool]:
    """Return the workspace to fill, and whether it already has the documents."""
    kept = Workspace.objects.filter(slug=keep).first() if keep else None
    if kept is not None:
        _refuse_if_in_use(kept)
        if _contents(kept) == _wanted(dataset):
            return kept, True
        workspace_purge(kept.pk)
    slug = keep or f"evaluation-{secrets.token_hex(6)}"
    name = f"{NAMED}{dataset.name}"[:NAME_LENGTH]
    made = people_services.workspace_create(name=name, owner=None, slug=slug)
    # Only the operator's command makes it.
    model_services.installation_model_allow(workspace=made, is_allowed=True)
    return made, False


def _refuse_if_in_use(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        has_members = Membership.objects.in_workspace(workspace).exists()
    if has_members or not workspace.name.startswith(NAMED):
        raise ConflictError(
            f"The workspace '{workspace.slug}' was not created by an evaluation.",
            code="workspace_in_use",
            kept="It was not changed.",
            next_step="Choose another slug for --keep.",
        )


def _add(workspace: Workspace, dataset: Dataset) -> None:
    documents = [
        ingestion.NewDocument(
            name=_file_name(index),
            title=document.title,
            content=io.BytesIO(document.text.encode()),
            filing=ingestion.Filing(chunking=_chunking(document)),
        )
        for index, document in enumerate(dataset.documents)
    ]
    for first in range(0, len(documents), BATCH):
        with access.in_workspace(workspace.pk):
            ingestion.documents_add(workspace=workspace, documents=documents[first : first + BATCH])


def _file_name(index: int) -> str:
    return f"{index:06d}.txt"


def _chunking(document: SourceDocument) -> dict[str, object]:
    if document.spans is None:
        return {}
    return {"strategy": "given", "spans": [list(span) for span in document.spans]}


def _contents(workspace: Workspace) -> dict[str, tuple[object, ...]]:
    """Return a workspace's documents, in the form of ``_wanted``."""
    with access.in_workspace(workspace.pk):
        versions = DocumentVersion.objects.in_workspace(workspace).select_related("document")
        return {
            version.document.name: (version.document.sha256, version.chunking)
            for version in versions.defer("text")
        }


def _wanted(dataset: Dataset) -> dict[str, tuple[object, ...]]:
    return {
        _file_name(index): (
            hashlib.sha256(document.text.encode()).hexdigest(),
            _chunking(document),
        )
        for index, document in enumerate(dataset.documents)
    }


def _filled(workspace: Workspace, *, seconds: float, is_reused: bool) -> Filled:
    with access.in_workspace(workspace.pk):
        rows = Document.objects.in_workspace(workspace).values_list("pk", "name", "state")
        documents = list(rows)
    return Filled(
        workspace=workspace,
        indices={pk: int(name.removesuffix(".txt")) for pk, name, _ in documents},
        seconds=seconds,
        is_reused=is_reused,
        failed=sum(state == DocumentState.ATTENTION for _, _, state in documents),
    )
