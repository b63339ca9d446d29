"""Console output, and the welcome message once the product answers."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

COLOURS: Final = ("36", "33", "35", "32", "34", "31")
NAME_WIDTH: Final = 11


class Console:
    """Writes whole lines from any thread."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._colours: dict[str, str] = {}

    def say(self, name: str, line: str) -> None:
        if line:
            self._write(f"{self._prefix(name)} {line}")

    def paragraph(self, text: str) -> None:
        """Write text between blank lines, without a name."""
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


SECONDS_BETWEEN_TRIES: Final = 0.1
SECONDS_FOR_AN_ANSWER: Final = 30.0


@dataclass(frozen=True)
class SignIn:
    email: str
    password: str


def welcome_text(address: str, sign_in: SignIn | None) -> str:
    """
    >>> print(welcome_text("http://127.0.0.1:8000", SignIn("ada@demo.test", "open")))
      Concordance is ready:  http://127.0.0.1:8000
      Sign in to the demo:   ada@demo.test / open
      Ctrl-C stops everything.
    """
    lines = [f"Concordance is ready:  {address}"]
    if sign_in is not None:
        lines.append(f"Sign in to the demo:   {sign_in.email} / {sign_in.password}")
    lines.append("Ctrl-C stops everything.")
    return "\n".join(f"  {line}" for line in lines)


def call_when_answering(host: str, port: int, then: Callable[[], None]) -> None:
    """Call ``then`` from another thread as soon as the web server answers anything at all."""

    def wait() -> None:
        while not _answers(host, port):
            time.sleep(SECONDS_BETWEEN_TRIES)
        then()

    threading.Thread(target=wait, daemon=True).start()


def _answers(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS_FOR_AN_ANSWER)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("HEAD", "/")
        connection.getresponse()
        return True
    return False
