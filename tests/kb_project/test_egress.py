"""Addresses that people enter lead to the public internet, or where the operator allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import httpx2
import pytest
from hypothesis import given, strategies as st

from kb_project import egress
from kb_project.checks import settings_agree
from kb_project.errors import EndpointError
from kb_project.llm.capabilities import Support
from kb_project.llm.config import ChatConfig
from kb_project.llm.embedders import EndpointEmbedder
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.http import CHAT, Connection, client_for
from kb_project.llm.policy import Retry, RetryPolicy
from kb_project.llm.probe import probe
from kb_project.llm.rerankers import EndpointReranker
from tests.listener import Listener
from tests.patience import PATIENCE
from tests.provider import close_clients

PUBLIC = "93.184.215.14"
REFUSED = [
    # Loopback, private, link-local, carrier-grade NAT, unique-local, unspecified.
    "127.0.0.1",
    "127.255.255.254",
    "[::1]",
    "0.0.0.1",
    "[::]",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.7",
    "169.254.169.254",
    "[fe80::1]",
    "100.100.100.200",
    "[fd00:ec2::254]",
    "[fc00::1]",
    # Multicast, reserved, documentation, benchmarks, and what a cloud answers itself.
    "224.0.0.1",
    "[ff02::1]",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.0.192",
    "198.18.0.1",
    "203.0.113.9",
    "168.63.129.16",
    "[2001:db8::1]",
    # IPv4 addresses inside of IPv6 addresses: mapped, compatible, NAT64, 6to4, Teredo.
    "[::ffff:169.254.169.254]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:7f00:1::]",
    # Odd forms of 169.254.169.254 and of 127.0.0.1.
    "2852039166",
    "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.254.169.254.",
    "2130706433",
    "0x7f.1",
    "127.1",
    "0",
    "169。254。169。254",
    "①②⑦.⓪.⓪.①",
    # Names.
    "localhost",
    "LOCALHOST",
    "localhost.",
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "169.254.169.254.nip.io",
    "127.0.0.1.nip.io",
    # What parsers of addresses disagree about.
    "user@127.0.0.1",
    "example.com@127.0.0.1",
    "example.com\\@127.0.0.1",
    "127.0.0.1%00.example.com",
    "127.0.0.1%2f@example.invalid",
]


@pytest.fixture(autouse=True)
def nothing_is_listed(settings) -> Iterator[None]:
    settings.MODEL_HOSTS_ALLOWED = []
    yield
    close_clients()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as running:
        yield running


@pytest.fixture
def names(monkeypatch) -> dict[str, list[str]]:
    """What names stand for, by the order of look-ups; the last look-up's answer stays."""
    known: dict[str, list[str]] = {}
    real = egress.resolve

    def resolve(host: str, port: int):
        if host not in known:
            return real(host, port)
        answers = known[host]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return [ip_address(one) for one in answer.split()]

    monkeypatch.setattr(egress, "resolve", resolve)
    return known


def asked(endpoint: str, *, timeout: float = PATIENCE, is_operators: bool = False) -> EndpointError:
    connection = Connection(endpoint, "key", is_operators=is_operators)
    with pytest.raises(EndpointError) as raised:
        connection.ask(CHAT, {"model": "m", "messages": []}, timeout, used=Support())
    return raised.value


# --- addresses ------------------------------------------------------------------------------------
@pytest.mark.parametrize("host", REFUSED)
def test_a_refused_address_is_neither_saved_nor_connected_to(listener: Listener, host: str):
    endpoint = f"http://{host}:{listener.port}/v1"

    assert not egress.may_connect(endpoint)
    with egress.http_client() as client, pytest.raises((httpx2.ConnectError, httpx2.InvalidURL)):
        client.get(endpoint, timeout=PATIENCE)
    assert listener.connections == 0


@pytest.mark.parametrize("text", [PUBLIC, "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_an_address_of_the_internet_is_public(text: str):
    assert egress.is_public(ip_address(text))


def test_nat64_of_a_public_address_is_public():
    assert egress.is_public(ip_address("64:ff9b::5db8:d70e"))


@given(st.ip_addresses())
def test_what_is_refused_is_refused_in_its_ipv6_forms_too(address):
    if address.version == 4 and not egress.is_public(address):
        number = int(address)
        mapped = ip_address((0xFFFF << 32) | number)
        nat64 = ip_address(int(ip_address("64:ff9b::")) | number)
        six_to_four = ip_address((0x2002 << 112) | (number << 80))
        assert not any(map(egress.is_public, (mapped, nat64, six_to_four)))


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(address):
    is_special = address.is_private or address.is_loopback or address.is_link_local
    is_special |= address.is_multicast or address.is_reserved or address.is_unspecified
    if is_special and egress._target(address) == address:
        assert not egress.is_public(address)


def test_this_machines_own_addresses_are_found():
    assert egress._is_own(ip_address("127.0.0.1"))
    assert not egress._is_own(ip_address(PUBLIC))


# --- names ----------------------------------------------------------------------------------------
def test_a_name_that_stands_for_loopback_is_refused(listener, names):
    names["models.evil.example"] = ["127.0.0.1"]

    asked(f"http://models.evil.example:{listener.port}/v1")

    assert not egress.may_connect(f"http://models.evil.example:{listener.port}/v1")
    assert listener.connections == 0


def test_a_name_that_changes_between_look_ups_is_refused(listener, names):
    endpoint = f"http://models.evil.example:{listener.port}/v1"
    names["models.evil.example"] = [PUBLIC, "127.0.0.1"]

    was_saved = egress.may_connect(endpoint)
    asked(endpoint)

    assert was_saved
    assert listener.connections == 0


def test_the_socket_connects_to_the_address_that_was_checked(names, monkeypatch):
    """One look-up: what the name stands for at the next one is never asked."""
    names["models.evil.example"] = [PUBLIC, "127.0.0.1"]
    connected: list[str] = []

    class Backend(egress.httpcore2.MockBackend):
        def connect_tcp(self, host, port, *args, **kwargs):
            connected.append(host)
            return super().connect_tcp(host, port, *args, **kwargs)

    egress.GuardedBackend(Backend([])).connect_tcp("models.evil.example", 80)

    assert connected == [PUBLIC]
    assert names["models.evil.example"] == ["127.0.0.1"]


def test_of_several_addresses_only_the_allowed_are_tried(listener, names, settings):
    settings.MODEL_HOSTS_ALLOWED = [f"127.0.0.1:{listener.port}"]
    names["models.internal"] = ["10.0.0.1 ::1 127.0.0.1"]

    with egress.http_client() as client:
        answer = client.get(f"http://models.internal:{listener.port}/", timeout=PATIENCE)

    assert answer.status_code == 200
    assert f"Host: models.internal:{listener.port}".encode() in listener.heard[0]


def test_a_look_up_without_an_answer_ends(monkeypatch):
    never = threading.Event()
    monkeypatch.setattr(egress, "RESOLVE_SECONDS", 0.05)
    monkeypatch.setattr(egress, "_looked_up", lambda *_: never.wait(PATIENCE) and [])

    assert egress.resolve("slow.example", 80) == []
    never.set()


# --- redirects and proxies ------------------------------------------------------------------------
def test_a_redirect_is_not_followed(settings, listener):
    elsewhere = f"http://127.0.0.1:{listener.port}/secret".encode()
    moved = b"HTTP/1.1 307 Moved\r\nContent-Length: 0\r\nConnection: close\r\nLocation: "
    with Listener(moved + elsewhere + b"\r\n\r\n") as first:
        settings.MODEL_HOSTS_ALLOWED = [f"localhost:{first.port}"]
        with egress.http_client() as client:
            answer = client.get(f"http://localhost:{first.port}/", timeout=PATIENCE)

    assert (answer.status_code, first.connections, listener.connections) == (307, 1, 0)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_not_asked(listener, monkeypatch, name: str):
    monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")

    with egress.http_client() as client, pytest.raises(httpx2.ConnectError):
        client.get("http://models.invalid/", timeout=PATIENCE)

    assert listener.connections == 0


# --- one sentence ---------------------------------------------------------------------------------
def public(monkeypatch) -> None:
    """Take loopback for the internet: what an unlisted host answers can be seen."""
    monkeypatch.setattr(egress, "is_public", lambda _: True)


def test_all_failures_of_an_unlisted_host_read_the_same(monkeypatch):
    told = {parts(asked("http://127.0.0.1:9/v1")), parts(asked("http://127.0.0.1:22000/v1"))}
    public(monkeypatch)
    told.add(parts(asked("http://127.0.0.1:9/v1")))
    replies = [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>",
        b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{"choices',
    ]
    for reply in replies:
        with Listener(reply) as listener:
            told.add(parts(asked(f"http://127.0.0.1:{listener.port}/v1")))
            assert listener.connections

    assert len(told) == 1
    assert "127.0.0.1 does not answer like the expected service" in told.pop()[1]


def test_an_unlisted_host_that_hangs_reads_the_same_too(monkeypatch):
    closed = parts(asked("http://127.0.0.1:9/v1"))
    public(monkeypatch)
    with Listener(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n") as listener:
        assert parts(asked(f"http://127.0.0.1:{listener.port}/v1", timeout=0.3)) == closed


def test_a_listed_host_is_explained(settings):
    settings.MODEL_HOSTS_ALLOWED = ["127.0.0.1"]

    assert "cannot be reached" in asked("http://127.0.0.1:9/v1").happened


def test_the_operators_own_endpoint_may_be_anywhere(listener):
    connection = Connection(f"http://127.0.0.1:{listener.port}/v1", "key", is_operators=True)

    assert connection.ask(CHAT, {"model": "m", "messages": []}, 3, used=Support()) == {}
    assert listener.connections == 1


def parts(error: EndpointError) -> tuple[str, str, str, str]:
    return error.code, error.happened, error.kept, error.next_step


# --- every caller ---------------------------------------------------------------------------------
def test_chat_embeddings_and_reranking_all_take_the_guarded_way(listener):
    endpoint, once = f"http://localhost:{listener.port}/v1", Retry(RetryPolicy(attempts=1))
    embedder = EndpointEmbedder(endpoint=endpoint, key="", model="m", retry=once)
    reranker = EndpointReranker(
        endpoint=endpoint, key="", model="m", store=MemoryCallStore(), retry=once
    )

    tested = probe(ChatConfig(endpoint, "m"), embedding_model="e")
    with pytest.raises(EndpointError):
        embedder.embed_passages(["text"])
    with pytest.raises(EndpointError):
        reranker.rank("question", ["text"])

    assert not any(check.ok for check in tested.checks)
    assert listener.connections == 0


def test_a_client_of_an_entered_address_has_one_guarded_transport():
    client = client_for("https://models.example.org/v1", "key")._client
    transport: Any = client._transport

    backend = transport._pool._network_backend
    assert isinstance(backend._inner, egress.GuardedBackend)
    assert not any(client._mounts.values())
    assert not client.follow_redirects


# --- what the operator lists ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("entry", "allowed", "refused"),
    [
        ("127.0.0.1", "http://127.0.0.1:1/", "http://127.0.0.2:1/"),
        ("127.0.0.1:80", "http://127.0.0.1/", "http://127.0.0.1:81/"),
        ("127.0.0.1:443", "https://127.0.0.1/", "http://127.0.0.1/"),
        ("10.0.0.0/8", "http://10.9.8.7:1/", "http://192.168.0.1:1/"),
        ("10.0.0.0/8", "http://[::ffff:10.9.8.7]/", "http://[::ffff:192.168.0.1]/"),
        ("[::1]:8080", "http://[::1]:8080/", "http://[::1]:8081/"),
        ("fd00::/8", "http://[fd00::1]/", "http://[fe80::1]/"),
        ("Models.Internal", "http://models.internal.:9/", "http://other.internal:9/"),
        ("models.internal:80", "http://MODELS.internal/", "http://models.internal:81/"),
    ],
)
def test_an_entry_allows_a_host_a_host_with_a_port_or_a_network(
    settings, entry: str, allowed: str, refused: str
):
    settings.MODEL_HOSTS_ALLOWED = [entry]

    assert egress.may_connect(allowed)
    assert not egress.may_connect(refused)


@pytest.mark.parametrize("entry", ["http://localhost", "a b", "host:0", "host:99999", "*.internal"])
def test_an_entry_that_means_nothing_is_an_error_of_the_settings(settings, entry: str):
    settings.MODEL_HOSTS_ALLOWED = [entry]

    assert "kb.E006" in {found.id for found in settings_agree(None)}
