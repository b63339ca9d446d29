"""What a hostile server can do to the line, and what it never learns or gives away."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest

from kb_project.errors import ModelError
from kb_project.llm.capabilities import Support
from kb_project.llm.http import CHAT, Connection
from kb_project.llm.openai_client import OpenAiProvider
from kb_project.llm.provider import UnsupportedError
from tests.patience import NEVER
from tests.provider import close_clients

KEY: Final = "sk-very-secret-0123456789"
TEXT: Final = "The cellar key lies under the third stone."
BODY: Final = {"model": "m", "messages": [{"role": "user", "content": TEXT}]}
MOST: Final = 2_000_000


class _Hostile(BaseHTTPRequestHandler):
    """``/500/flood`` answers that status, with a body that does not end."""

    sent = 0

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        read = self.rfile.read(int(self.headers["Content-Length"]))
        _, status, how, *_ = self.path.split("/")
        self.send_response(int(status))
        if how.startswith("gzip"):
            self.send_header("Content-Encoding", "gzip")
        if how == "elsewhere":
            self.send_header("Location", "/200/echo/chat/completions")
        self.end_headers()
        try:
            self.wfile.write(json.dumps({"error": {"message": f"{KEY} {read!r}"}}).encode())
            while how == "flood":
                self.wfile.write(b"x" * 65_536)
                _Hostile.sent += 65_536
        except OSError:
            self.close_connection = True


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    close_clients()


def asked(endpoint: str) -> Exception:
    with pytest.raises((ModelError, UnsupportedError)) as raised:
        Connection(endpoint, KEY).ask(CHAT, BODY, NEVER, used=Support())
    return raised.value


@pytest.mark.parametrize("status", [302, 400, 401, 404, 429, 500, 503])
def test_a_refusal_without_end_is_hung_up_on(address: str, status: int):
    _Hostile.sent = 0
    error = asked(f"{address}/{status}/flood/v1")

    assert isinstance(error, ModelError | UnsupportedError)
    # What lies in the buffers of both sides was sent as well.
    assert _Hostile.sent < 20 * MOST


@pytest.mark.parametrize("how", ["echo", "gzip", "flood", "elsewhere"])
@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 413, 422, 429, 500, 501])
def test_neither_key_nor_text_is_in_what_may_be_logged(address: str, status: int, how: str):
    error = asked(f"{address}/{status}/{how}/v1")

    told = "".join(traceback.format_exception(error))
    assert KEY not in told
    assert TEXT not in told


def test_no_representation_holds_the_key(address: str):
    provider = OpenAiProvider(address, KEY)

    assert KEY not in f"{provider!r} {provider._connection!r}"
