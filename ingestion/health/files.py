"""Compares files of versions with what is on disk."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Final

from django.conf import settings

from ingestion.health.state import DriftRow, WorkspaceState
from ingestion.models import DocumentVersion
from workspaces import access

# A file is written before the rows that name it: a recent one may still be an upload.
YOUNG_SECONDS: Final = 3600.0
# Page pictures are stored beside their file.
PICTURES: Final = ".pages"
ASIDE: Final = "set-aside"


def missing(state: WorkspaceState) -> list[DriftRow]:
    rows = DocumentVersion.objects.in_workspace(state.workspace_id)
    blobs = rows.values_list("document_id", "blob")
    root = Path(settings.MEDIA_ROOT)
    return [(str(owner), owner) for owner, blob in blobs if not (root / blob).is_file()]


def orphans(state: WorkspaceState) -> list[DriftRow]:
    workspace_id = state.workspace_id
    return [(f"{workspace_id}/{path.name}", None) for path in _unknown(workspace_id)]


def _unknown(workspace_id: uuid.UUID) -> Iterator[Path]:
    folder = Path(settings.MEDIA_ROOT) / str(workspace_id)
    if not folder.is_dir():
        return
    known = set(DocumentVersion.objects.in_workspace(workspace_id).values_list("blob", flat=True))
    latest = time.time() - YOUNG_SECONDS
    for path in folder.iterdir():
        blob = f"{workspace_id}/{path.name.removesuffix(PICTURES)}"
        if blob not in known and path.stat().st_mtime < latest:
            yield path


def set_aside(workspace_id: uuid.UUID) -> Path:
    """Move files that belong to no document out of the way; returns the folder.

    They are not deleted, because a user may have uploaded them.
    """
    aside = Path(settings.MEDIA_ROOT) / ASIDE / str(workspace_id)
    with access.in_workspace(workspace_id):
        unknown = list(_unknown(workspace_id))
    for path in unknown:
        aside.mkdir(parents=True, exist_ok=True)
        path.rename(_free_name(aside / path.name))
    return aside


def _free_name(path: Path) -> Path:
    """Return that path, or a numbered one beside it if it is taken."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in count(1))
    return next(one for one in chain((path,), numbered) if not one.exists())
