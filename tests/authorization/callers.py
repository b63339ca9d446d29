"""Who calls, and what each may do: one line a caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.test import Client

from kb_project.env import env_str
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

    A program sends a ``token`` of world.py and no cookie: pages do not know it.
    """

    name: str
    may: frozenset[Need]
    person: str = ""
    token: str = ""

    @property
    def is_known(self) -> bool:
        return Need.ACCOUNT in self.may

    @property
    def is_member(self) -> bool:
        return Need.READ in self.may

    @property
    def is_program(self) -> bool:
        return not self.person and self.is_known

    @property
    def is_program_refused(self) -> bool:
        """Whether it sends a token that signs no one in."""
        return bool(self.token) and not self.is_known

    def client(self, people: Mapping[str, object], secrets: Mapping[str, str]) -> Client:
        headers = {"Authorization": f"Bearer {secrets[self.token]}"} if self.token else {}
        client = Client(raise_request_exception=False, headers=headers)
        if self.person:
            client.force_login(people[self.person])  # type: ignore[arg-type]  # a user
        return client


CALLERS = [
    Caller("anonymous", OPEN),
    Caller("unknown_token", OPEN, token="unknown"),
    Caller("expired_token", OPEN, token="expired"),
    Caller("read_only_token", VIEWER, token="read_only"),
    Caller("admin_token", ADMIN, token="admin"),
    Caller("stranger", SIGNED_IN, "stranger"),
    Caller("removed_member", SIGNED_IN, "removed"),
    Caller("viewer", VIEWER, "viewer"),
    Caller("editor", EDITOR, "editor"),
    Caller("curator", CURATOR, "curator"),
    Caller("admin", ADMIN, "admin"),
    Caller("owner", OWNER, "owner"),
]

IS_THOROUGH = env_str("HYPOTHESIS_PROFILE", "usual") == "thorough"


def callers_of(op: Op) -> list[Caller]:
    """Who calls an operation: everyone it refuses; of those it allows, whoever may least and most.

    Between the two each role only adds to the one before. Pages know no token: the one that may
    most calls them. Everyone calls with ``HYPOTHESIS_PROFILE=thorough``.
    """
    if IS_THOROUGH:
        return CALLERS
    allowed = [caller for caller in CALLERS if expected(caller, op) == ALLOWED]
    chosen = {*_ends(allowed, is_program=False), *_ends(allowed, is_program=True)}
    refused = [one for one in CALLERS if one not in allowed]
    if not op.is_api:
        refused = [one for one in refused if not one.token or one.may >= ADMIN]
    return [one for one in CALLERS if one in chosen or one in refused]


def _ends(callers: list[Caller], *, is_program: bool) -> set[Caller]:
    found = [caller for caller in callers if bool(caller.token) == is_program]
    return {found[0], found[-1]} if found else set()


ALLOWED = "allowed"
SIGN_IN = "to the sign-in page"


def expected(caller: Caller, op: Op) -> str | int:
    """What the caller gets: a status, ``ALLOWED`` or ``SIGN_IN``."""
    is_known = caller.is_known and (op.is_api or not caller.is_program)
    if op.needs == Need.NOTHING:
        return 401 if op.is_api and caller.is_program_refused else ALLOWED
    if not is_known:
        return 401 if op.is_api else SIGN_IN
    return _of_the_known(caller, op)


def _of_the_known(caller: Caller, op: Op) -> str | int:
    if op.needs == Need.STAFF:
        # Django's pages lead to theirs for signing in, which refuses.
        return 403 if op.url == "admin:login" else SIGN_IN
    if op.needs == Need.OF_DELETED or (op.is_in_workspace and not caller.is_member):
        return 404
    if op.by_person and caller.is_program:
        return 403
    return ALLOWED if op.needs in caller.may else op.refused
