"""The papers that the queue is tried on, read once a module: each test's changes are undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rows
from tests.ingestion.once import Once
from tests.ingestion.suggestions import papers


@pytest.fixture(scope="module")
def cast_once(
    rows_of_the_module: None, tmp_path_factory: pytest.TempPathFactory
) -> Once[rows.Cast]:
    return Once(tmp_path_factory.mktemp("papers"), papers.make_cast)


@pytest.fixture
def cast(cast_once: Once[rows.Cast], media: Path, db: None, fake_embedder: None) -> rows.Cast:
    return cast_once.for_a_test(media)
