"""What the server refuses before the application sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kb_project.asgi import InOneThread
from kb_project.http import limits
from tests.api import PROBLEM_KEYS
from tests.kb_project.http.served import answer, connected, head, parsed, problem_in, served

pytestmark = pytest.mark.django_db(transaction=True)

HEALTH = "/healthz"


@pytest.fixture(autouse=True)
def hosts(settings):
    settings.ALLOWED_HOSTS = ["localhost"]


@pytest.fixture
def port() -> Iterator[int]:
    with served() as number:
        yield number


def test_headers_that_never_end_are_timed_out(settings, port):
    settings.HEADER_SECONDS = 0.3
    with connected(port) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        status, _, body = answer(client)

    assert (status, problem_in(body)["code"]) == (408, "headers_too_slow")


def test_a_connection_that_says_nothing_is_closed(settings, port):
    settings.HEADER_SECONDS = 0.3
    with connected(port) as client:
        assert answer(client)[0] == 408


def test_the_second_request_of_a_connection_is_timed_as_well(settings, port):
    with connected(port) as client:
        client.sendall(head(HEALTH, method="GET"))
        assert b"200" in client.recv(65_536)
        settings.HEADER_SECONDS = 0.3
        client.sendall(b"GET /heal")
        said = b""
        while part := client.recv(65_536):
            said += part

    assert b"headers_too_slow" in said


def test_headers_that_are_too_large_are_refused(port):
    with connected(port) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * limits.MOST_HEADER_BYTES)
        status, _, body = answer(client)

    assert (status, problem_in(body)["code"]) == (431, "headers_too_large")


def test_one_connection_too_many_is_refused_and_may_come_again(settings, port):
    settings.MOST_CONNECTIONS = 3
    with ExitStack() as open_:
        for _ in range(3):
            client = open_.enter_context(connected(port))
            client.sendall(head(HEALTH, method="GET"))
            assert b"200" in client.recv(65_536)
        status, headers, body = answer(open_.enter_context(connected(port)))

    assert (status, headers["retry-after"]) == (503, str(limits.RETRY_AFTER))
    assert set(problem_in(body)) == PROBLEM_KEYS
    with connected(port) as client:
        client.sendall(head(HEALTH, "Connection: close", method="GET"))
        assert answer(client)[0] == 200


def test_one_request_too_many_is_refused_in_the_same_shape(settings):
    settings.MOST_REQUESTS = 0
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(InOneThread()({"type": "http"}, None, send))

    headers = b"\r\n".join(name + b": " + value for name, value in sent[0]["headers"])
    status, said, body = parsed(b"HTTP/1.1 503 X\r\n" + headers + b"\r\n\r\n" + sent[1]["body"])
    assert (status, sent[0]["status"], said["retry-after"]) == (503, 503, "2")
    assert problem_in(body)["code"] == "busy"
