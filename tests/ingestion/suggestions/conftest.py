"""The papers that the queue is tried on, read once a module: each test's changes are undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rows
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.suggestions import papers

cast_once = once_a_module(papers.make_cast)


@pytest.fixture
def cast(cast_once: Once[rows.Cast], media: Path, db: None, fake_embedder: None) -> rows.Cast:
    return cast_once.for_a_test(media)
