"""What all tests of a module begin with, made once: the changes of each test are undone."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest
from django.test import override_settings

from kb_project.ports import build_ports
from tests import databases

Made = TypeVar("Made")


class Once(Generic[Made]):
    """Rows and files as ``make`` left them, with the fake embedder.

    For a fixture by ``once_a_module``, and tests within a transaction: the threads of a test would
    not see what it changed. ``Kept`` is for tests that commit.
    """

    def __init__(self, files: Path, make: Callable[[], Made]) -> None:
        files.mkdir(exist_ok=True)
        self._files = files
        with override_settings(MEDIA_ROOT=str(files), EMBEDDER="fake"):
            build_ports.cache_clear()
            self.made = make()
        build_ports.cache_clear()

    def for_a_test(self, media: Path) -> Made:
        """Return a copy of what was made, with the files in the test's own folder."""
        shutil.copytree(self._files, media, dirs_exist_ok=True)
        return copy.deepcopy(self.made)


class Kept(Once[Made]):
    """The same for tests that commit, after which tables are empty: the rows are put back, as rows.

    Sequences go on, and graphs must still be there.
    """

    def __init__(self, files: Path, make: Callable[[], Made]) -> None:
        super().__init__(files, make)
        self._rows = databases.keep_rows()
        databases.empty_tables()

    def for_a_test(self, media: Path) -> Made:
        databases.put_back(self._rows)
        return super().for_a_test(media)


def once_a_module(make: Callable[[], Made], kind: type[Once[Made]] = Once) -> Any:
    """Return a module's fixture that has what ``make`` makes."""

    @pytest.fixture(scope="module")
    def made_once(rows_of_the_module: None, tmp_path_factory: pytest.TempPathFactory) -> Once[Made]:
        return kind(tmp_path_factory.mktemp("files"), make)

    return made_once
