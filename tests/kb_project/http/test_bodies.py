"""Bodies that are too long or too slow are refused while they arrive, and never stored."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from kb_project.http import limits
from kb_project.http.limits import LARGEST_FORM, LARGEST_JSON, LARGEST_UNKNOWN, most_bytes
from tests.api import PROBLEM_KEYS
from tests.kb_project.http.served import answer, connected, head, problem_in, served
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

SIGN_IN = "/accounts/login/"
API = "/api/v1/workspaces/"
SHOWN = "Authorization: Basic YTpi"  # of no one: who it is, is asked later
W = "5c1b8a7e-0000-4000-8000-000000000001"
FILE = f"/api/v1/workspaces/{W}/documents/"


@pytest.fixture(autouse=True)
def brief(settings, monkeypatch):
    settings.ALLOWED_HOSTS = ["localhost"]
    monkeypatch.setattr(limits, "SECONDS_TO_LINGER", 0.1)


@pytest.fixture
def port() -> Iterator[int]:
    with served() as number:
        yield number


@pytest.fixture
def spooled(monkeypatch) -> list[int]:
    """The bytes of each body that Django was handed."""
    sizes: list[int] = []
    real = tempfile.SpooledTemporaryFile

    def counting(*given: Any, **named: Any) -> Any:
        file: Any = real(*given, **named)
        place = len(sizes)
        sizes.append(0)
        write = file.write

        def count(data: bytes) -> int:
            sizes[place] += len(data)
            return write(data)

        file.write = count
        return file

    monkeypatch.setattr("django.core.handlers.asgi.tempfile.SpooledTemporaryFile", counting)
    return sizes


def asked(client: socket.socket, *lines: str, path: str = SIGN_IN, body: bytes = b"") -> Any:
    client.sendall(head(path, *lines) + body)
    return answer(client)


# --- too long -------------------------------------------------------------------------------------
def test_a_body_that_announces_too_much_is_refused_unread(port, spooled):
    with connected(port) as client:
        status, headers, body = asked(
            client, f"Content-Length: {60 * 1024**2}", path=API, body=b"x" * 1000
        )

    assert (status, headers["connection"]) == (413, "close")
    said = problem_in(body)
    assert set(said) == PROBLEM_KEYS
    assert (said["status"], said["code"]) == (413, "body_too_large")
    assert spooled == [0]


def test_a_page_says_so_as_a_page(port):
    with connected(port) as client:
        status, headers, body = asked(client, f"Content-Length: {LARGEST_UNKNOWN + 1}")

    assert status == 413
    assert headers["content-type"].startswith("text/html")
    assert b"The request is larger than 256 KB." in body


def test_a_stream_is_refused_once_it_has_sent_too_much(port, spooled):
    part = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    with connected(port) as client:
        client.sendall(head(API, "Transfer-Encoding: chunked"))
        for _ in range(LARGEST_UNKNOWN // 0x8000 + 1):
            client.sendall(part)
        status, _, body = answer(client)

    assert (status, problem_in(body)["code"]) == (413, "body_too_large")
    assert spooled[0] <= LARGEST_UNKNOWN


def test_a_client_that_asks_before_it_sends_is_told_at_once(port):
    with connected(port) as client:
        status, _, _ = asked(client, f"Content-Length: {10**9}", "Expect: 100-continue")

    assert status == 413


def test_what_is_short_enough_goes_through(port):
    with connected(port) as client:
        body = b"{}" + b" " * (LARGEST_UNKNOWN - 2)
        status, _, said = asked(
            client, f"Content-Length: {len(body)}", "Connection: close", path=API, body=body
        )

    assert (status, problem_in(said)["code"]) == (401, "not_authenticated")


def test_who_shows_a_token_may_send_more_before_it_is_looked_at(port):
    with connected(port) as client:
        status, _, _ = asked(
            client,
            SHOWN,
            "Content-Type: application/json",
            f"Content-Length: {LARGEST_UNKNOWN + 2}",
            "Connection: close",
            path=API,
            body=b"{}" + b" " * LARGEST_UNKNOWN,
        )

    assert status == 401


# --- too slow -------------------------------------------------------------------------------------
def test_a_body_that_stops_arriving_is_refused(port, spooled, monkeypatch):
    monkeypatch.setattr(limits, "SECONDS_TO_START", 0.3)
    with connected(port) as client:
        status, _, body = asked(client, "Content-Length: 1000", path=API, body=b"x" * 10)

    assert (status, problem_in(body)["code"]) == (408, "body_too_slow")
    assert spooled == [10]


def test_a_body_has_a_last_moment_however_steadily_it_comes(port, settings, monkeypatch):
    settings.BODY_SECONDS, settings.BODY_BYTES_A_SECOND = 0.3, 1
    monkeypatch.setattr(limits, "SECONDS_TO_LINGER", PATIENCE)  # until the client hangs up
    with connected(port) as client:
        client.settimeout(0.05)
        client.sendall(head(API, "Content-Length: 100000"))
        said = b""
        while not said:
            client.sendall(b"x" * 10)
            try:
                said = client.recv(100)
            except TimeoutError:
                continue

    assert b" 408 " in said


# --- how much is too much -------------------------------------------------------------------------
JSON = {b"authorization": b"x", b"content-type": b"application/json; charset=utf-8"}
FORM = {b"cookie": b"a=b; sessionid=c", b"content-type": b"multipart/form-data; boundary=b"}


@pytest.mark.parametrize(
    ("path", "headers", "most"),
    [
        ("/accounts/login/", {}, LARGEST_UNKNOWN),
        (FILE, {b"content-type": b"multipart/form-data"}, LARGEST_UNKNOWN),
        (f"/api/v1/workspaces/{W}/search/", JSON, LARGEST_JSON),
        (f"/w/{W}/entities/new/", JSON, LARGEST_FORM),
        (f"/w/{W}/entities/new/", FORM, LARGEST_FORM),
        (f"/w/{W}/evaluation/sets/{W}/import/", FORM, LARGEST_JSON),
        (f"/w/{W}/documents/{W}/edit/", FORM, LARGEST_FORM),
    ],
)
def test_what_may_be_sent_depends_on_where_and_by_whom(path, headers, most):
    assert most_bytes(path, headers) == most


def patterns(resolver: URLResolver | URLPattern, before: str = "") -> Iterator[tuple[str, Any]]:
    here = before + str(resolver.pattern).lstrip("^")
    if isinstance(resolver, URLPattern):
        yield "/" + here.lstrip("/"), resolver.callback
    else:
        for one in resolver.url_patterns:
            yield from patterns(one, here)


def takes_files(view: Any) -> bool:
    parsers = getattr(getattr(view, "cls", None), "parser_classes", ())
    return any(one.__name__ == "MultiPartParser" for one in parsers) and len(parsers) < 3


def test_every_endpoint_that_takes_files_may_get_them(settings):
    files = [path for path, view in patterns(get_resolver()) if takes_files(view)]
    files += [f"/w/{W}/documents/upload/", f"/w/{W}/documents/{W}/versions/"]

    assert len(files) >= 5
    for path in files:
        known = "/".join(W if "<" in part else part for part in path.split("/"))
        assert most_bytes(known, FORM) >= LARGEST_JSON, path
    assert most_bytes(FILE, FORM) >= settings.MAX_UPLOAD_BYTES
