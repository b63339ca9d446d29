"""Wake workers and notify an answer's watchers, with small messages through the database.

Messages are delivered when their transaction commits, and lost if no one listens; the tables remain
the record of what there is to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval.answering import sql

WORK: Final = "concordance_work"
EVENTS: Final = "concordance_events"

ANSWER: Final = "answer"
EVALUATION: Final = "evaluation"
STOP: Final = "stop"


@dataclass(frozen=True, slots=True)
class Call:
    """``kind`` is the kind of work, or STOP: stop the job with this id."""

    kind: str
    workspace_id: UUID
    id: UUID


def wake(kind: str, workspace_id: UUID, id_: UUID) -> None:
    """Call a worker to a new job, or to stop one."""
    _notify(WORK, call_to(kind, workspace_id, id_))


def call_to(kind: str, workspace_id: UUID, id_: UUID) -> str:
    """Return the message to a worker, for a statement that sends it."""
    return f"{kind} {workspace_id} {id_}"


def tell(answer_id: UUID, sequence: int) -> None:
    """Notify an answer's watchers of a new event."""
    _notify(EVENTS, f"{answer_id} {sequence}")


def _notify(channel: str, payload: str) -> None:
    run_sql(sql.NOTIFY, {"channel": channel, "payload": payload})


def call_in(message: str) -> Call | None:
    """Parse a call to a worker; None if it is malformed.

    >>> call_in("answer of all questions") is None
    True
    """
    words = message.split()
    try:
        kind, workspace_id, id_ = words
        return Call(kind, UUID(workspace_id), UUID(id_))
    except ValueError:
        return None


def answer_in(message: str) -> UUID | None:
    """Return the answer that has a new event; None if the message is malformed."""
    try:
        return UUID(message.partition(" ")[0])
    except ValueError:
        return None
