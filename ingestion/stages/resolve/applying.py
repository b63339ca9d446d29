"""Reading documents' names as was decided, from what was extracted of them."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ingestion.extractors import Extraction
from ingestion.rulings import Reading, Ruling, reading_of
from ingestion.stages.resolve import statements as sql
from ingestion.stages.resolve.names import Resolution, resolve
from ingestion.stages.resolve.saving import save
from kb_project.sql import run_sql
from workspaces import access

GROUP: Final = 32
"""Documents written in one transaction."""


def resolve_documents(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    """Resolve documents anew; ``versions`` says which version of each counts."""
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
    run_sql(sql.JOIN_RESOLUTION, values)
    run_sql(sql.LOCK_DOCUMENTS, values)
    found = _extractions(workspace_id, list(versions.values()))
    reading = load_reading(workspace_id, documents)
    resolutions = [resolve(one, found.get(one, []), reading) for one in documents]
    save(workspace_id, resolutions)
    return resolutions


def _extractions(
    workspace_id: uuid.UUID, versions: Sequence[uuid.UUID]
) -> dict[uuid.UUID, list[tuple[uuid.UUID, Extraction]]]:
    found: dict[uuid.UUID, list[tuple[uuid.UUID, Extraction]]] = defaultdict(list)
    values = {"workspace": workspace_id, "versions": versions}
    for document_id, chunk_id, payload in run_sql(sql.EXTRACTIONS, values):
        found[document_id].append((chunk_id, Extraction.from_json(json.loads(payload))))
    return found


def load_reading(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> Reading:
    """How names are read now, and what they mean in these documents."""
    rows = run_sql(sql.RULINGS, {"workspace": workspace_id, "documents": list(documents)})
    return reading_of(Ruling(*row) for row in rows)


def documents_naming(workspace_id: uuid.UUID, keys: Iterable[str]) -> dict[uuid.UUID, uuid.UUID]:
    """The documents that name an entity of one of the keys, with the version that was read."""
    values = {"workspace": workspace_id, "keys": sorted(set(keys))}
    return dict(run_sql(sql.DOCUMENTS_NAMING, values))
