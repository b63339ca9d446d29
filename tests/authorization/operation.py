"""A page or an operation of the API with what it needs: a line of the table.

A line is ``op("METHOD url-name", NEED)``. The need is written here by hand and never read from the
code. It may add ``sends``, the fields of a body that passes validation (a form on pages, JSON in
the API), ``files``, ``query``, the objects an address is ``at`` (otherwise ``WHERE`` of world.py),
and the status it ``answers`` to those who may, where that is neither 2xx nor a redirect. ``$name``
stands for the id of an object in world.py. An operation whose need depends on its object has a line
for each kind of object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Need(Enum):
    """What an operation asks of its caller. The first three are the exceptions to capabilities."""

    NOTHING = "no account"
    ACCOUNT = "an account"
    STAFF = "an account that operates the installation"
    READ = "read"
    EDIT = "edit"
    CURATE = "curate"
    ADMINISTER = "administer"
    OWN = "own"
    OF_DELETED = "own, and a workspace that was deleted"


OUTSIDE = {"schema", "api_docs", "profile"} | {
    f"invitation_{verb}" for verb in ("open", "accept", "decline")
}
"""Operations of the API outside workspaces, whose names have no namespace."""


@dataclass(frozen=True)
class Op:
    method: str
    url: str
    needs: Need
    sends: Any = None
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    query: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    answers: int | None = None
    refused: int = 403
    """What a member without the right gets: 404 where others' objects are hidden from them."""
    by_person: bool = False
    """Whether a program may not do it, whatever its token may."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.url}"

    @property
    def is_api(self) -> bool:
        return self.url.partition(":")[0].endswith("_api") or self.url in OUTSIDE

    @property
    def is_in_workspace(self) -> bool:
        return self.needs not in (Need.NOTHING, Need.ACCOUNT, Need.STAFF)

    def __str__(self) -> str:
        given = {**self.at, "query": self.query} if self.at or self.query else ""
        return f"{self.name} {given}".strip()


def op(name: str, needs: Need, **more: Any) -> Op:
    method, url = name.split()
    return Op(method, url, needs, **more)


NOTHING, ACCOUNT, STAFF = Need.NOTHING, Need.ACCOUNT, Need.STAFF
READ, EDIT, CURATE = Need.READ, Need.EDIT, Need.CURATE
ADMINISTER, OWN, OF_DELETED = Need.ADMINISTER, Need.OWN, Need.OF_DELETED
