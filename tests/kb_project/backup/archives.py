"""A small archive, with one of the things that matter."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from tests import backups, rows
from workspaces import access


def make_archive(folder: Path) -> Path:
    """The backup of a workspace with one document and its file."""
    workspace = rows.make_cast().workspace
    document = rows.make_document(workspace, "Log", "Ada Lind.", names={"Ada Lind": "person"})
    blob = f"{workspace.pk}/{document.pk}"
    with access.in_workspace(workspace.pk):
        document.versions.update(blob=blob)
    file = Path(settings.MEDIA_ROOT) / blob
    file.parent.mkdir(parents=True)
    file.write_bytes(b"Ada Lind.")
    return backups.write(folder / "one.zip", "harbour")
