"""The workspace that tests of consistency break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from ingestion.health import services as health
from ingestion.pipeline import runner
from tests.ingestion.health.harbour import bring_back, harbour, mended, work
from workspaces.models import Workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("media")


@pytest.fixture(scope="module")
def once(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, folder: Path
) -> Iterator[Workspace]:
    with django_db_blocker.unblock(), harbour(folder) as made:
        yield made


@pytest.fixture
def workspace(once: Workspace, django_db_blocker: DjangoDbBlocker) -> Workspace:
    """A real workspace, which a test that breaks it mends, with all of its documents."""
    with django_db_blocker.unblock():
        bring_back(once)
        if not health.check(once.pk, is_deep=True).is_settled:
            runner.request_refresh(once.pk)
            work(once)
            assert mended(once, is_deep=True).is_settled
    return once
