"""What curation is tried on, made once a module: each test's changes are undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rows
from tests.ingestion.curated import make_graph
from tests.ingestion.curation.papers import Desk
from tests.ingestion.once import Once, once_a_module

papers_read = once_a_module(lambda: Desk(rows.make_cast()))


@pytest.fixture
def desk(papers_read: Once[Desk], media: Path, db: None, fake_embedder: None) -> Desk:
    return papers_read.for_a_test(media)


def make_graph_cast() -> rows.Cast:
    cast = rows.make_cast()
    make_graph(cast)
    return cast


graph_made = once_a_module(make_graph_cast)


@pytest.fixture
def cast(graph_made: Once[rows.Cast], media: Path) -> rows.Cast:
    return graph_made.for_a_test(media)
