"""Tells where the product is, once it is really there."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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
