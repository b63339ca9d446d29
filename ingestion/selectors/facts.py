"""The sentences that a link between two entities rests on."""

from __future__ import annotations

from typing import Final

from ingestion.models import Evidence, Relationship
from ingestion.selectors.spans import SourceSpan, span_of
from workspaces.models import Workspace

MOST: Final = 100


def evidence_of(*, workspace: Workspace, relationship: Relationship) -> list[SourceSpan]:
    """What states the link first, then where the two are only named together."""
    rows = (
        Evidence.objects.in_workspace(workspace)
        .filter(relationship=relationship)
        .select_related("chunk__document")
        .order_by("kind", "-strength", "chunk_id", "start")[:MOST]
    )
    return [span_of(row.chunk, row.start, row.end) for row in rows]
