"""Steps of `manage.py run` around the supervisor: console, lock, listening socket, welcome.

The supervisor opens the web server's socket and passes it to each web process. Since the socket
outlives the process, requests that arrive while the web server restarts wait instead of failing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

from kb_project.env import is_loopback
from kb_project.errors import ConflictError, UnavailableError

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


def welcome_text(address: str, email: str, password: str) -> str:
    """
    >>> print(welcome_text("http://127.0.0.1:8000", "ada@demo.test", "open"))
      Concordance is ready:  http://127.0.0.1:8000
      Sign in to the demo:   ada@demo.test / open
      Ctrl-C stops everything.
    """
    lines = [f"Concordance is ready:  {address}"]
    if email and password:
        lines.append(f"Sign in to the demo:   {email} / {password}")
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


def mail_warning(backend: str, host: str) -> str:
    """Return a warning if mails, with their links, are printed where others may read them.

    >>> mail_warning("django.core.mail.backends.console.EmailBackend", "127.0.0.1")
    ''
    """
    if is_loopback(host) or not backend.endswith("console.EmailBackend"):
        return ""
    return (
        "Warning: mails are printed here instead of sent, and a reset link opens its account for"
        " anyone who reads this output. Set EMAIL_HOST."
    )


PORTS_TO_TRY: Final = 20
BACKLOG: Final = 128


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket on ``port`` or, if that is taken, on the next free one."""
    for candidate in range(port, port + PORTS_TO_TRY):
        try:
            return listen(host, candidate)
        except OSError as problem:
            if problem.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise UnavailableError(
                    f"Cannot listen on {host}: {problem.strerror}.", code="address_unavailable"
                ) from problem
    raise UnavailableError(
        f"All ports from {port} to {port + PORTS_TO_TRY - 1} are in use.",
        code="ports_taken",
        next_step="Choose another port: `make run PORT=9000`.",
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Only skips the wait after a previous run; a port in use is still refused.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def only_supervisor(data_dir: Path, address: str) -> Iterator[None]:
    """Hold the folder for the block; raises ConflictError, with the address, if another process
    does.

    The lock is released when its process dies, however that happens.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "run.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ConflictError(
                f"Concordance is already running here: {lock.read().strip()}",
                code="already_running",
                next_step="Press Ctrl-C in its terminal to stop it.",
            ) from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield
