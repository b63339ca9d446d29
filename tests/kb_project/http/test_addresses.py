"""The address a request comes from."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from kb_project.http.addresses import client_address, client_network


def request(remote: str, forwarded: str | None = None):
    made = RequestFactory().get("/", REMOTE_ADDR=remote)
    if forwarded is not None:
        made.META["HTTP_X_FORWARDED_FOR"] = forwarded
    return made


def test_a_header_from_a_stranger_counts_for_nothing(settings):
    settings.TRUSTED_PROXIES = []
    assert client_address(request("203.0.113.9", "198.51.100.1")) == "203.0.113.9"


def test_a_trusted_proxy_is_believed(settings):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    assert client_address(request("10.0.0.2", "198.51.100.1")) == "198.51.100.1"


def test_what_the_client_wrote_before_the_proxy_counts_for_nothing(settings):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    rotating = "1.2.3.4, 198.51.100.1, 10.0.0.3"
    assert client_address(request("10.0.0.2", rotating)) == "198.51.100.1"


@pytest.mark.parametrize("forwarded", ["", "unknown", "a, b", "1.2.3.4.5"])
def test_a_header_without_an_address_leaves_the_proxy(settings, forwarded):
    settings.TRUSTED_PROXIES = ["10.0.0.2"]
    assert client_address(request("10.0.0.2", forwarded)) == "10.0.0.2"


def test_one_network_of_ipv6_counts_as_one_client():
    first, second = request("2001:db8::1"), request("2001:db8::ffff:2")
    assert client_network(first) == client_network(second) == "2001:db8::/64"
    assert client_network(request("::ffff:192.0.2.7")) == "192.0.2.7"
