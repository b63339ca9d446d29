"""The files of documents on disk, once their rows are gone."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.core.files.storage import default_storage

logger = logging.getLogger(__name__)


def forget(blobs: Iterable[str]) -> None:
    """Delete files and the pictures made of their pages; what is not there is no error."""
    for blob in blobs:
        path = Path(default_storage.path(blob))
        path.unlink(missing_ok=True)
        shutil.rmtree(f"{path}.pages", ignore_errors=True)
