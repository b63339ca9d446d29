"""The address a request comes from, behind proxies or not, and the one that people are sent to."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Network = IPv4Network | IPv6Network


def client_address(request: HttpRequest) -> str:
    """Return the address of the nearest client that is no proxy of ours; '' if there is none.

    ``X-Forwarded-For`` is read from its end, and only as far as each address that sent it is in
    ``TRUSTED_PROXIES``: what a client writes into the header counts for nothing.
    """
    nearest = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    while forwarded and _is_trusted(nearest):
        before = forwarded.pop().strip()
        if not _is_address(before):
            break
        nearest = before
    return nearest


def public_url(request: HttpRequest, path: str) -> str:
    """Return the URL of a path, for links in e-mails.

    A request's Host may name any port; ``PUBLIC_ADDRESS`` is what the installation says it is.
    """
    if settings.PUBLIC_ADDRESS:
        return f"{settings.PUBLIC_ADDRESS}{path}"
    return request.build_absolute_uri(path)


def client_network(request: HttpRequest) -> str:
    """Return what limits by address count by: an IPv4 address, or the /64 of an IPv6 address."""
    address = client_address(request)
    if not _is_address(address):
        return address
    parsed = ip_address(address)
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_trusted(address: str) -> bool:
    if not _is_address(address):
        return False
    parsed = ip_address(address)
    return any(parsed in network for network in _networks(tuple(settings.TRUSTED_PROXIES)))


@lru_cache(maxsize=4)
def _networks(proxies: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(proxy, strict=False) for proxy in proxies)
