"""The web server's listening socket, opened by the supervisor and passed to each web process.

Since the socket outlives the process, requests that arrive while the web server restarts wait
instead of failing.
"""

from __future__ import annotations

import errno
import socket
from typing import Final

from kb_project.errors import UnavailableError

PORTS_TO_TRY: Final = 20
BACKLOG: Final = 128


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket on ``port`` or, if that is taken, on the next free one."""
    for candidate in range(port, port + PORTS_TO_TRY):
        try:
            return _listen(host, candidate)
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


def _listen(host: str, port: int) -> socket.socket:
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
