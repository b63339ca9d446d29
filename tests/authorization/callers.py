"""Who calls, and what each may do: one line a caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.test import Client

from tests.authorization.operation import Need, Op

OPEN = frozenset({Need.NOTHING})
SIGNED_IN = OPEN | {Need.ACCOUNT}
VIEWER = SIGNED_IN | {Need.READ}
EDITOR = VIEWER | {Need.EDIT}
CURATOR = EDITOR | {Need.CURATE}
ADMIN = CURATOR | {Need.ADMINISTER}
OWNER = ADMIN | {Need.OWN}


@dataclass(frozen=True)
class Caller:
    """Someone who calls, with what they may. ``person`` is a name in world.py; '' signs no one in.

    A program sends ``headers`` and no cookie: pages do not know it, so it may nothing there.
    """

    name: str
    may: frozenset[Need]
    person: str = ""
    headers: Callable[[Mapping[str, str]], dict[str, str]] = field(default=lambda _: {})

    @property
    def is_known(self) -> bool:
        return Need.ACCOUNT in self.may

    @property
    def is_member(self) -> bool:
        return Need.READ in self.may

    @property
    def is_program(self) -> bool:
        return not self.person and self.is_known

    def client(self, people: Mapping[str, object], secrets: Mapping[str, str]) -> Client:
        client = Client(raise_request_exception=False, headers=self.headers(secrets))
        if self.person:
            client.force_login(people[self.person])  # type: ignore[arg-type]  # a user
        return client


def bearer(name: str) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """The headers of a token that world.py made under this name."""
    return lambda secrets: {"Authorization": f"Bearer {secrets[name]}"}


CALLERS = [
    Caller("anonymous", OPEN),
    Caller("unknown_token", OPEN, headers=bearer("unknown")),
    Caller("stranger", SIGNED_IN, "stranger"),
    Caller("removed_member", SIGNED_IN, "removed"),
    Caller("viewer", VIEWER, "viewer"),
    Caller("editor", EDITOR, "editor"),
    Caller("curator", CURATOR, "curator"),
    Caller("admin", ADMIN, "admin"),
    Caller("owner", OWNER, "owner"),
]

ALLOWED = "allowed"
SIGN_IN = "to the sign-in page"


def expected(caller: Caller, op: Op) -> str | int:
    """What the caller gets: a status, ``ALLOWED`` or ``SIGN_IN``."""
    is_known = caller.is_known and (op.is_api or not caller.is_program)
    if op.needs == Need.NOTHING:
        return ALLOWED
    if op.needs == Need.STAFF:
        return SIGN_IN
    if not is_known:
        return 401 if op.is_api else SIGN_IN
    if op.is_in_workspace and not caller.is_member:
        return 404
    return ALLOWED if op.needs in caller.may else 403
