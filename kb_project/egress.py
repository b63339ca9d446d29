"""The one way out to addresses that the people of a workspace enter.

A name is resolved when a connection is opened, every address it has is checked, and the socket
connects to one that passed: what the name stands for a moment later does not matter. The ``Host``
header and TLS's server name stay the name. Redirects are not followed, and proxies named in the
environment are not used, since they would resolve the name again.

Only addresses of the public internet pass, and what the operator lists in ``MODEL_HOSTS_ALLOWED``:
hosts, networks, or hosts with a port. Whatever fails at a host that is not listed is explained by
one sentence, so that nobody learns from it what the server's own network answers.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

import httpcore2
import httpx2
from django.conf import settings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

RESOLVE_SECONDS: Final = 5.0
USUAL_PORTS: Final = {"http": 80, "https": 443}
_NAT64: Final = IPv6Network("64:ff9b::/96")
_PUBLIC_V6: Final = IPv6Network("2000::/3")
# IANA's special-purpose registries, as far as they are not outside 2000::/3 anyway.
_REFUSED: Final[tuple[Network, ...]] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's own services, reached from its machines only
        "169.254.0.0/16",  # link-local, where clouds hand out credentials
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)


def not_reached(host: str) -> str:
    """Say that a host is not reached, whether it is away or not allowed."""
    return f"{host} does not answer like the expected service, or its address is not allowed here."


def http_client(**options: Any) -> httpx2.Client:
    """Return a client that reaches allowed addresses only."""
    client = httpx2.Client(
        trust_env=False,
        follow_redirects=False,
        # Certificates that the operator names in the environment stay trusted.
        verify=httpx2.create_ssl_context(trust_env=True),
        **options,
    )
    return with_backend(client, GuardedBackend)


def may_connect(url: str) -> bool:
    """Whether the URL's host is listed, or has an address that may be reached."""
    host, port = _place(url)
    return bool(host and port) and (is_listed(url) or bool(addresses_of(host, port)))


def is_listed(url: str) -> bool:
    """Whether the operator lists the URL's host by its name or address."""
    host, port = _place(url)
    address = _literal(host)
    if address is not None:
        return _is_listed_address(address, port)
    return _is_listed_name(host, port)


def addresses_of(host: str, port: int) -> list[Address]:
    """Return the addresses of a host that may be reached at this port."""
    found = resolve(host, port)
    if _is_listed_name(host, port):
        return found
    return [one for one in found if _is_listed_address(one, port) or is_public(one)]


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, and not this machine's own.

    >>> [is_public(ip_address(text)) for text in ("93.184.215.14", "10.0.0.1", "::ffff:10.0.0.1")]
    [True, False, False]
    """
    address = _target(address)
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return False
    return not any(address in network for network in _REFUSED) and not _is_own(address)


def resolve(host: str, port: int) -> list[Address]:
    """Return a host's addresses; none if it has none or its look-up takes too long."""
    found: SimpleQueue[list[Address]] = SimpleQueue()
    # A look-up cannot be interrupted: its thread is left to end alone.
    Thread(target=lambda: found.put(_looked_up(host, port)), daemon=True).start()
    try:
        return found.get(timeout=RESOLVE_SECONDS)
    except Empty:
        return []


def _place(url: str) -> tuple[str, int]:
    """Return host and port as the client reads them from a URL; nothing if it reads none."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return "", 0
    return parsed.raw_host.decode("ascii"), parsed.port or USUAL_PORTS.get(parsed.scheme, 0)


def _looked_up(host: str, port: int) -> list[Address]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError):
        return []
    return [ip_address(address[0]) for *_, address in rows]


def _target(address: Address) -> Address:
    """Return where an address leads: a mapped or a NAT64 address leads to an IPv4 address."""
    if not isinstance(address, IPv6Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address


def _is_own(address: Address) -> bool:
    """Whether this machine has the address: a firewall in front would not see the connection."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as unsent:
        # Of a datagram socket, this only chooses a route; nothing is sent.
        unsent.connect((str(address), 9))
        return bool(ip_address(unsent.getsockname()[0]) == address)
    return False


# --- what the operator lists ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Listed:
    """A network, or a name; without a ``port``, at every port."""

    name: str = ""
    network: Network | None = None
    port: int | None = None


def listed_in(entry: str) -> Listed:
    """Parse an entry of the list. Raises ValueError.

    >>> listed_in("models.internal:8080")
    Listed(name='models.internal', network=None, port=8080)
    >>> listed_in("[::1]:8080")
    Listed(name='', network=IPv6Network('::1/128'), port=8080)
    """
    with suppress(ValueError):
        return Listed(network=ip_network(entry.strip("[]"), strict=False))
    host, colon, port = entry.rpartition(":") if ":" in entry else (entry, "", "")
    if colon and not 0 < int(port) < 65_536:
        raise ValueError(f"{entry} has no valid port")
    with suppress(ValueError):
        return Listed(network=ip_network(ip_address(host.strip("[]"))), port=int(port))
    if not host or set(host) & set("/:@ *[]"):
        raise ValueError(f"{entry} is not a host, a host with a port, or a network")
    return Listed(name=_plain(host), port=int(port) if colon else None)


@lru_cache(maxsize=8)
def _listed(entries: tuple[str, ...]) -> tuple[Listed, ...]:
    return tuple(map(listed_in, entries))


def _entries(port: int) -> Iterable[Listed]:
    entries = _listed(tuple(settings.MODEL_HOSTS_ALLOWED))
    return (entry for entry in entries if entry.port in (None, port))


def _is_listed_name(host: str, port: int) -> bool:
    return any(entry.name and entry.name == _plain(host) for entry in _entries(port))


def _is_listed_address(address: Address, port: int) -> bool:
    target = _target(address)
    return any(entry.network is not None and target in entry.network for entry in _entries(port))


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _plain(name: str) -> str:
    return name.lower().rstrip(".")


# --- the connection -------------------------------------------------------------------------------
class GuardedBackend(httpcore2.NetworkBackend):
    """Opens connections to addresses that passed the check, and to no others."""

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
        until = None if timeout is None else time.monotonic() + timeout
        failure: Exception = httpcore2.ConnectError(not_reached(host))
        for address in addresses_of(host, port):
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise httpcore2.ConnectTimeout(not_reached(host))
            try:
                return self._inner.connect_tcp(
                    str(address), port, left, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        raise httpcore2.ConnectError(not_reached(path))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


def with_backend(
    client: httpx2.Client, wrap: Callable[[httpcore2.NetworkBackend], httpcore2.NetworkBackend]
) -> httpx2.Client:
    """Wrap what opens the client's connections, including those through a proxy."""
    # The client accepts no custom backend, and building its transports here would lose what it
    # reads from the environment: proxies and certificates.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - see above
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore2.ConnectionPool):
            inner = pool._network_backend  # noqa: SLF001 - see above
            pool._network_backend = wrap(inner)  # noqa: SLF001 - see above
    return client
