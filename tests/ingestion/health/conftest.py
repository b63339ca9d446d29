"""The workspace that tests of consistency break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.databases import empty_tables, forget_rows, keep_rows, put_back
from tests.ingestion.health.harbour import harbour
from workspaces.models import Workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("media")


@pytest.fixture(scope="module")
def once(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, folder: Path
) -> Iterator[tuple[Workspace, str]]:
    with django_db_blocker.unblock(), harbour(folder) as made:
        yield made, keep_rows()
        forget_rows()


@pytest.fixture
def workspace(once: tuple[Workspace, str]) -> Workspace:
    """A real workspace, whose rows are as they were when all of its documents had been read."""
    made, kept = once
    empty_tables()
    put_back(kept)
    return made
