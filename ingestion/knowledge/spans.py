"""Places in documents, with their text."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.models import (
    Chunk,
    Claim,
    ConflictSide,
    Document,
    Evidence,
    FindingEvidence,
    Mention,
)
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A place in a document: ``text`` is the document's text from ``start`` to ``end``."""

    document: Document
    chunk_id: uuid.UUID
    start: int
    end: int
    text: str


def spans_of(workspace: Workspace, sources: Sequence[dict[str, Any]]) -> list[SourceSpan]:
    """The places listed in ``[{"chunk", "start", "end"}, …]``, except those that are gone.

    If a ``version`` is given too, offsets refer to its text: places in an earlier one are gone.
    """
    chunks = {
        str(chunk.pk): chunk
        for chunk in Chunk.objects.in_workspace(workspace)
        .filter(pk__in={source["chunk"] for source in sources})
        .select_related("document")
    }
    return [
        _span(chunk, source["start"], source["end"])
        for source in sources
        if (chunk := chunks.get(source["chunk"]))
        and source.get("version", chunk.document.live_number) == chunk.document.live_number
    ]


def spans_by_place(
    workspace: Workspace, sources: Sequence[dict[str, Any]]
) -> dict[tuple[str, int, int], SourceSpan]:
    """The same places by their chunk's id, start and end."""
    spans = spans_of(workspace, sources) if sources else []
    return {(str(one.chunk_id), one.start, one.end): one for one in spans}


def span_of(place: Claim | ConflictSide | Evidence | FindingEvidence | Mention) -> SourceSpan:
    return _span(place.chunk, place.start, place.end)


def _span(chunk: Chunk, start: int, end: int) -> SourceSpan:
    text = chunk.text[start - chunk.start : end - chunk.start]
    return SourceSpan(chunk.document, chunk.pk, start, end, text)
