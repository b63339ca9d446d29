"""Lines of several programs on one terminal, each with the name of the one that wrote it."""

from __future__ import annotations

import threading
from typing import Final, TextIO

COLOURS: Final = ("36", "33", "35", "32", "34", "31")
NAME_WIDTH: Final = 11


class Console:
    """Writes whole lines, whichever thread they come from."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._colours: dict[str, str] = {}

    def say(self, name: str, line: str) -> None:
        if line:
            self._write(f"{self._prefix(name)} {line}")

    def paragraph(self, text: str) -> None:
        """Text between blank lines, without a name."""
        self._write(f"\n{text}\n")

    def _prefix(self, name: str) -> str:
        prefix = f"{name:>{NAME_WIDTH}} |"
        if not self._out.isatty():
            return prefix
        colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
        return f"\033[{colour}m{prefix}\033[0m"

    def _write(self, text: str) -> None:
        with self._lock:
            self._out.write(f"{text}\n")
            self._out.flush()
