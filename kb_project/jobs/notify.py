"""Wake workers with small messages through the database.

Messages are delivered when their transaction commits, and lost if no one listens; the tables remain
the record of what there is to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, LiteralString, NamedTuple
from uuid import UUID

from kb_project.sql import run_sql

NOTIFY: Final[LiteralString] = "SELECT pg_notify(%(channel)s::text, %(payload)s::text)"

WORK: Final = "concordance_work"
STOP: Final = "stop"


class Party(NamedTuple):
    """Who takes turns with others: a person in a workspace. Jobs of no person are one party."""

    workspace_id: UUID
    person: int | None


@dataclass(frozen=True, slots=True)
class Call:
    """``kind`` is the kind of work, or STOP: stop the job with this id.

    ``person`` is who asked for the job, if known.
    """

    kind: str
    workspace_id: UUID
    id: UUID
    person: int | None = field(default=None, compare=False)

    @property
    def party(self) -> Party:
        return Party(self.workspace_id, self.person)


def wake(kind: str, workspace_id: UUID, id_: UUID, person: int | None = None) -> None:
    """Call a worker to a new job of a person, or to stop one."""
    send(WORK, call_to(kind, workspace_id, id_, person))


def call_to(kind: str, workspace_id: UUID, id_: UUID, person: int | None = None) -> str:
    """Return the message to a worker, for a statement that sends it."""
    return f"{kind} {workspace_id} {id_} {person or ''}".rstrip()


def call_in(message: str) -> Call | None:
    """Parse a call to a worker; None if it is malformed.

    >>> call_in("answer of all questions") is None
    True
    """
    try:
        kind, workspace_id, id_, *person = message.split()
        return Call(kind, UUID(workspace_id), UUID(id_), int(person[0]) if person else None)
    except ValueError:
        return None


def send(channel: str, payload: str) -> None:
    run_sql(NOTIFY, {"channel": channel, "payload": payload})
