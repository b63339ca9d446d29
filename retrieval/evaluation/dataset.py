"""Data sets on disk: documents with questions whose evidence is known.

``documents.jsonl``: ``{"id", "title", "text", "chunks"?: [text, …]}``; ``chunks`` fixes how the
document is cut.
``questions.jsonl``: ``{"question", "evidence": [title or id, or {"doc", "chunk"}], "answer"?}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_project.errors import InputError

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
        raise InputError(f"{path} cannot be read: {error}.", code="dataset_unreadable") from error
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
