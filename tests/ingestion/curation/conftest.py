"""The papers that curation is tried on, read once a module: each test's changes are undone."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from django.test import override_settings

from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.curation.papers import Desk


class Read(NamedTuple):
    """A desk as reading left it, and the folder with its files."""

    desk: Desk
    files: Path


@pytest.fixture(scope="module")
def papers_read(rows_of_the_module: None, tmp_path_factory: pytest.TempPathFactory) -> Read:
    files = tmp_path_factory.mktemp("papers")
    with override_settings(MEDIA_ROOT=str(files), EMBEDDER="fake"):
        build_ports.cache_clear()
        read = Read(Desk(rows.make_cast()), files)
    build_ports.cache_clear()
    return read


@pytest.fixture
def desk(papers_read: Read, media: Path, db: None, fake_embedder: None) -> Desk:
    shutil.copytree(papers_read.files, media, dirs_exist_ok=True)
    return copy.deepcopy(papers_read.desk)
