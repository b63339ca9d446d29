"""Looks after the bundled database while the product runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from kb_project.database import embedded
from kb_project.errors import KBError
from kb_project.supervisor.part import Say

NAME: Final = "database"
SECONDS_BETWEEN_LOOKS: Final = 3.0


class DatabaseGuard:
    """Starts the server, starts it again when it dies, and stops it if it was not there before."""

    def __init__(self, data_dir: Path, say: Say) -> None:
        self._data_dir = data_dir
        self._say = say
        self._next_look = 0.0
        self._ours = False

    def start(self) -> None:
        self._ours = embedded.running(self._data_dir) is None
        embedded.ensure(self._data_dir)

    def look(self) -> None:
        """Does nothing until it is time to look again."""
        if time.monotonic() < self._next_look:
            return
        if embedded.running(self._data_dir) is None:
            self._start_again()
        self._next_look = time.monotonic() + SECONDS_BETWEEN_LOOKS

    def stop(self) -> None:
        """Leaves a server alone that others use, or that was running when we came."""
        if not self._ours:
            return
        if not embedded.stop(self._data_dir, only_if_idle=True):
            self._say(NAME, "in use elsewhere, left running (`manage.py pg stop` stops it).")

    def _start_again(self) -> None:
        try:
            embedded.ensure(self._data_dir)
        except KBError as error:
            self._say(NAME, f"stopped answering and did not start again: {error.sentence}")
        else:
            self._say(NAME, "stopped answering; started again.")
