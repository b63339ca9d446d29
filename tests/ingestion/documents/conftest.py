"""A document that was read, and one whose second version is searched: made once a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.models import Document
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.versioned import SECOND_TEXT, first_version, fresh, read, replaced
from tests.rows import Cast, make_cast

Begun = tuple[Cast, Document]


def begin() -> Begun:
    cast = make_cast()
    return cast, first_version(cast.workspace)


def begin_twice() -> Begun:
    cast, document = begin()
    replaced(document, SECOND_TEXT, user=cast.alice)
    read(cast.workspace, refreshes=False)
    return cast, fresh(document)


read_once = once_a_module(begin)


read_twice = once_a_module(begin_twice)


@pytest.fixture
def once(read_once: Once[Begun], media: Path) -> Begun:
    """A document that was read."""
    return read_once.for_a_test(media)


@pytest.fixture
def twice(read_twice: Once[Begun], media: Path) -> Begun:
    """A document whose second version is searched."""
    return read_twice.for_a_test(media)
