"""A listener on loopback that counts connections, for tests that must make none."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Final

from tests.patience import PATIENCE

BYE: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class Listener:
    """Answers every connection with the same bytes; none at all without a ``reply``."""

    def __init__(self, reply: bytes = BYE) -> None:
        self.connections = 0
        self.heard: list[bytes] = []
        self._reply = reply
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE)

    def _serve(self) -> None:
        while True:
            try:
                call, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with call, contextlib.suppress(OSError):
                call.settimeout(PATIENCE)
                self.heard.append(call.recv(65_536))
                call.sendall(self._reply)
