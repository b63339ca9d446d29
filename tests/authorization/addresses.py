"""Every address of the product, with the methods that its view takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
CATCH_ALL: Final = "^.*$"
"""The API's answer to an address that does not exist. It has no name; nor have some redirects of
Django's admin and of allauth."""
REDIRECTS: Final = frozenset(
    f"social/{old}" for old in ("login/cancelled/", "login/error/", "signup/", "connections/")
)
"""Former addresses of allauth's pages."""
NOT_CONFIGURED: Final = frozenset({"openid_connect_login", "openid_connect_callback"})
"""They answer 404 to everything without a provider; tests of accounts have one."""


@dataclass(frozen=True)
class Address:
    """A named address; ``parts`` are what it is reversed with."""

    name: str
    parts: frozenset[str]
    view: Any

    @property
    def namespace(self) -> str:
        return self.name.rpartition(":")[0]

    def path(self, parts: Mapping[str, Any]) -> str:
        return reverse(self.name, kwargs={part: parts[part] for part in self.parts})

    def methods(self, path: str, client: Client) -> set[str]:
        """The methods that the view takes: a class's own, or what a function names when it refuses
        another.
        """
        made_of = getattr(self.view, "view_class", None) or getattr(self.view, "cls", None)
        if made_of is not None:
            own = {method for method in METHODS if hasattr(made_of, method.lower())}
            # Django's form views take PUT as they take POST; nothing of ours sends it to a page.
            return own if "DELETE" in own or self.namespace.endswith("_api") else own - {"PUT"}
        refused = client.generic("TRACE", path)
        allowed = refused.headers.get("Allow", "")
        assert allowed, f"{self.name} takes any method: {refused.status_code} to TRACE"
        return {method.strip() for method in allowed.split(",")} & set(METHODS)


@cache
def all_addresses() -> dict[str, Address]:
    return {address.name: address for address in _below("", get_resolver(), frozenset())}


def _below(prefix: str, resolver: URLResolver, outer: frozenset[str]) -> Iterator[Address]:
    for entry in resolver.url_patterns:
        parts = outer | frozenset(entry.pattern.regex.groupindex)
        if isinstance(entry, URLResolver):
            space = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from _below(space, entry, parts)
        elif entry.name in NOT_CONFIGURED:
            continue
        elif entry.name:
            yield Address(f"{prefix}{entry.name}", parts, entry.callback)
        else:
            pattern = str(entry.pattern)
            is_known = pattern in {CATCH_ALL, *REDIRECTS} or prefix == "admin:"
            assert is_known, f"the address {entry.pattern} below '{prefix}' has no name"
