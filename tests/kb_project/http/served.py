"""The application behind a real server, in a thread of this process."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import uvicorn
from django.db import connections

from kb_project.asgi import InOneThread
from kb_project.http.limits import BoundedProtocol
from tests.patience import PATIENCE, wait_until


@contextmanager
def served() -> Iterator[int]:
    """Yield the port that the application is served on."""
    application = InOneThread()
    config = uvicorn.Config(
        application,
        port=0,
        # Not uvloop: once it has run here, what a confined process forks aborts.
        loop="asyncio",
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_level="critical",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        for one in application._threads:
            one.submit(connections.close_all).result()
            one.shutdown()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as client:
        yield client


def head(path: str, *lines: str, method: str = "POST") -> bytes:
    said = [f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]
    return "\r\n".join(said).encode()


def answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer, once the server has hung up."""
    said = b""
    while part := client.recv(65_536):
        said += part
    return parsed(said)


def parsed(said: bytes) -> tuple[int, dict[str, str], bytes]:
    top, _, body = said.partition(b"\r\n\r\n")
    status, *lines = top.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


def problem_in(body: bytes) -> dict[str, Any]:
    return dict(json.loads(body))
