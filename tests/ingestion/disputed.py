"""Conflicts as the stage leaves them, for tests that are not about finding them."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.models import Chunk, Conflict, ConflictSide, Entity

KEYS = ("date:1869", "date:1871")


def make_conflict(
    subject: Entity, chunks: Sequence[Chunk], topic: str = "when it was built", kind: str = "values"
) -> Conflict:
    """A conflict with a side in each of two passages, or two in one. Call in the scope."""
    workspace = subject.workspace
    conflict = Conflict.objects.create(
        workspace=workspace, subject=subject, kind=kind, about=topic[:32], topic=topic
    )
    for ordinal, (key, chunk) in enumerate(zip(KEYS, [*chunks, chunks[0]], strict=False)):
        ConflictSide.objects.create(
            workspace=workspace,
            conflict=conflict,
            chunk=chunk,
            document_id=chunk.document_id,
            ordinal=ordinal,
            start=chunk.start + max(chunk.text.find("Built"), 0),
            end=chunk.end,
            value=key[5:],
            key=key,
        )
    return conflict
