"""Network streams that a halt cuts off while they wait for a server that says nothing.

Closing a socket does not wake a thread that reads from it, and a client's timeout is minutes: so
the connection is shut down, from the thread that halts, and the reader finds it ended.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from ssl import SSLContext
from typing import Any

import httpcore2
import httpx2

from kb_project.llm import halting


class HaltingStream(httpcore2.NetworkStream):
    """A connection to one server."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._waiting():
            return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with self._waiting():
            self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        with self._waiting():
            return HaltingStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        halt = halting.current()
        if halt is None:
            yield
            return
        with halt.cutting(self._hang_up):
            yield

    def _hang_up(self) -> None:
        found = self._inner.get_extra_info("socket")
        # One that is closed already waits for nothing.
        with suppress(OSError):
            # The plain socket's: TLS would wait to say goodbye.
            socket.socket.shutdown(found, socket.SHUT_RDWR)


class HaltingBackend(httpcore2.NetworkBackend):
    """Opens connections that can be cut off."""

    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        halting.check()
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return HaltingStream(stream)

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        return HaltingStream(self._inner.connect_unix_socket(path, timeout, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


def make_halting(client: httpx2.Client) -> httpx2.Client:
    """The client, with connections that can be cut off, those through a proxy too."""
    # The client takes no backend of one's own, and to build its transports oneself would lose what
    # it reads from the environment: proxies and certificates.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - see above
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore2.ConnectionPool):
            inner = pool._network_backend  # noqa: SLF001 - see above
            pool._network_backend = HaltingBackend(inner)  # noqa: SLF001 - see above
    return client
