"""Resolve documents' names from their extractions, applying the decisions on record."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from ingestion.extractors import Extraction
from ingestion.resolution import locks
from ingestion.resolution.active import load_reading
from ingestion.stages.resolve import sql
from ingestion.stages.resolve.names import Resolution, resolve
from ingestion.stages.resolve.saving import save
from kb_project.sql import run_sql
from workspaces import access

GROUP: Final = 32
"""Documents written in one transaction."""


def resolve_documents(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    """Resolve documents again; ``versions`` gives the version of each that counts."""
    documents = sorted(versions)
    resolved: list[Resolution] = []
    for first in range(0, len(documents), GROUP):
        group = documents[first : first + GROUP]
        with access.in_workspace(workspace_id):
            resolved += _resolve_group(workspace_id, {one: versions[one] for one in group})
    return resolved


def _resolve_group(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    documents = list(versions)
    values = {"workspace": workspace_id, "documents": documents}
    locks.join(workspace_id)
    run_sql(sql.LOCK_DOCUMENTS, values)
    resolutions = read_documents(workspace_id, versions)
    save(workspace_id, resolutions)
    return resolutions


def read_documents(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    """Resolve documents without writing anything. Call in the workspace's scope."""
    documents = list(versions)
    found, starts = _extractions(workspace_id, list(versions.values()))
    reading = load_reading(workspace_id, documents)
    return [resolve(one, found.get(one, []), reading, starts) for one in documents]


Extractions = dict[uuid.UUID, list[tuple[uuid.UUID, Extraction]]]


def _extractions(
    workspace_id: uuid.UUID, versions: Sequence[uuid.UUID]
) -> tuple[Extractions, dict[uuid.UUID, int]]:
    """The extractions by document, and where each passage begins."""
    found: Extractions = defaultdict(list)
    starts: dict[uuid.UUID, int] = {}
    values = {"workspace": workspace_id, "versions": versions}
    for document_id, chunk_id, start, payload in run_sql(sql.EXTRACTIONS, values):
        found[document_id].append((chunk_id, Extraction.from_json(json.loads(payload))))
        starts[chunk_id] = start
    return found, starts
