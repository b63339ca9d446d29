"""Interrupts what a thread is waiting for, from another thread.

Code that works on something stoppable puts a ``Halt`` around it. Anything that waits inside, in the
same thread or in one it starts calls in, registers how to cut its wait short.
That includes network streams: closing a socket does not wake a thread that reads from it, and a
client's timeout is minutes, so the halting thread shuts the connection down, and the reader sees it
end.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any

import httpcore2
import httpx2

from kb_project.egress import with_backend
from kb_project.errors import ReplyError

Cut = Callable[[], None]


class Halt:
    """A flag, set once from any thread; never unset."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._cuts: list[Cut] = []

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    def set(self) -> None:
        """Cut short everything that waits now; later waits are cut at once."""
        with self._lock:
            self._set.set()
            cuts = list(self._cuts)
        for cut in cuts:
            cut()

    @contextmanager
    def cutting(self, cut: Cut) -> Iterator[None]:
        """Register ``cut`` to end the wait inside; called from another thread, at most once."""
        with self._lock:
            self._cuts.append(cut)
        try:
            if self.is_set:
                cut()
            yield
        finally:
            with self._lock:
                self._cuts.remove(cut)


_halt: ContextVar[Halt | None] = ContextVar("_halt", default=None)


@contextmanager
def halted_by(halt: Halt) -> Iterator[None]:
    token = _halt.set(halt)
    try:
        yield
    finally:
        _halt.reset(token)


def current() -> Halt | None:
    return _halt.get()


def is_halted() -> bool:
    """Whether the halt around this work is set."""
    halt = _halt.get()
    return halt is not None and halt.is_set


def check() -> None:
    """Raise ReplyError if this work is halted."""
    if is_halted():
        raise stopped()


def stopped() -> ReplyError:
    return ReplyError("The answer was stopped.", code="stopped")


class HaltingStream(httpcore2.NetworkStream):
    """A connection to one server, which a halt can cut off."""

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
        halt = current()
        if halt is None:
            yield
            return
        with halt.cutting(self._hang_up):
            yield

    def _hang_up(self) -> None:
        found = self._inner.get_extra_info("socket")
        # A closed one no longer waits for anything.
        with suppress(OSError):
            # On the plain socket: TLS would wait for its closing handshake.
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
        check()
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
    """Make the client's connections interruptible."""
    return with_backend(client, HaltingBackend)
