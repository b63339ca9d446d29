"""Which version of its document a citation, or a passage near a question, speaks of."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from ingestion.models import Document
from kb_project.sql import run_sql
from retrieval import citing_sql as sql
from retrieval.answering.drafts import CitedPassage


def version_numbers(workspace_id: uuid.UUID, cited: Sequence[CitedPassage]) -> dict[int, int]:
    """The version each citation's offsets count in, by the citation's number."""
    if not cited:
        return {}
    values = {
        "workspace": workspace_id,
        "numbers": [one.number for one in cited],
        "documents": [one.document_id for one in cited],
        "starts": [one.start for one in cited],
        "ends": [one.end for one in cited],
        "quotes": [one.quote for one in cited],
    }
    return dict(run_sql(sql.VERSIONS_QUOTED, values))


def with_versions(
    workspace_id: uuid.UUID, nearest: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Passages as ``Answer.nearest`` with the version each one's offsets count in."""
    if not nearest:
        return []
    documents = Document.objects.in_workspace(workspace_id)
    found = documents.filter(pk__in={one["document"] for one in nearest})
    numbers = {str(pk): number for pk, number in found.values_list("pk", "live_number")}
    return [one | {"version": numbers.get(str(one["document"]), 1)} for one in nearest]
