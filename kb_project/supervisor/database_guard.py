"""Keeps the bundled database running while the product runs."""

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
    """Starts the server, restarts it when it dies, and stops it at the end if it started it."""

    def __init__(self, data_dir: Path, say: Say) -> None:
        self._data_dir = data_dir
        self._say = say
        self._next_look = 0.0
        self._ours = False
        self._postmaster = 0

    def start(self) -> None:
        self._ours = embedded.running(self._data_dir) is None
        self._postmaster = embedded.postmaster_pid(embedded.ensure(self._data_dir))

    def look(self) -> None:
        """Check the server, if enough time has passed since the last check."""
        if time.monotonic() < self._next_look:
            return
        try:
            # A process that needed the database may have restarted it already.
            postmaster = embedded.postmaster_pid(embedded.ensure(self._data_dir))
        except KBError as error:
            self._say(NAME, f"does not answer and cannot be started: {error.sentence}")
        else:
            if postmaster != self._postmaster:
                self._say(NAME, "died; restarted.")
            self._postmaster = postmaster
        self._next_look = time.monotonic() + SECONDS_BETWEEN_LOOKS

    def stop(self) -> None:
        """Stop the server, unless others use it or it was already running before."""
        if not self._ours:
            return
        if not embedded.stop(self._data_dir, only_if_idle=True):
            self._say(
                NAME, "in use by another process; left running (`manage.py pg stop` stops it)."
            )
