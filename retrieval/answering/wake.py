"""Calling a worker, and whoever watches an answer: small messages through the database.

They are delivered when the transaction they are sent in commits, and lost where nobody listens;
the tables say what there is to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kb_project.sql import run_sql
from retrieval import answering_sql as sql

WORK: Final = "concordance_work"
EVENTS: Final = "concordance_events"

ANSWER: Final = "answer"
EVALUATION: Final = "evaluation"
STOP: Final = "stop"


@dataclass(frozen=True, slots=True)
class Call:
    """``kind`` is what to work on, or STOP: whatever has this id is to end."""

    kind: str
    workspace_id: UUID
    id: UUID


def wake(kind: str, workspace_id: UUID, id_: UUID) -> None:
    """Call a worker to something new, or to stop something."""
    _notify(WORK, call_to(kind, workspace_id, id_))


def call_to(kind: str, workspace_id: UUID, id_: UUID) -> str:
    """The message to a worker, for a statement that sends it along."""
    return f"{kind} {workspace_id} {id_}"


def tell(answer_id: UUID, sequence: int) -> None:
    """Tell whoever watches an answer that there is a new event."""
    _notify(EVENTS, f"{answer_id} {sequence}")


def _notify(channel: str, payload: str) -> None:
    run_sql(sql.NOTIFY, {"channel": channel, "payload": payload})


def call_in(message: str) -> Call | None:
    """What a worker was called to; nothing where that cannot be read.

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
    """Which answer has a new event; nothing where that cannot be read."""
    try:
        return UUID(message.partition(" ")[0])
    except ValueError:
        return None
