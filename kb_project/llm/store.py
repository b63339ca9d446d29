"""What a workspace remembers of its calls: the cache of replies, the ledger, the money."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kb_project.llm.ports import Role
from kb_project.llm.support import Support


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A whole reply as the model gave it, with the token counts of the call that was made."""

    text: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call before it is made. ``key`` is the SHA-256 of everything that shapes the reply.

    It costs at most ``prompt_tokens_estimate`` and ``max_output`` tokens.
    """

    key: str
    role: Role
    stage: str
    prompt: str
    prompt_version: str
    model: str
    document_id: uuid.UUID | None
    chunk_id: uuid.UUID | None
    question_id: uuid.UUID | None
    prompt_tokens_estimate: int
    max_output: int


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: with a ``reply`` worth keeping, or with None and the error's ``code``.

    Tokens are what the provider reports, also of a reply that could not be used. ``cached_tokens``
    is the part of ``prompt_tokens`` that the provider had in its own cache.
    """

    reply: str | None
    code: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float


class CallStore(Protocol):
    """The memory of one workspace. Called from the asking thread only, outside transactions."""

    def find(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        """The kept replies among ``keys``."""

    def open_calls(self, calls: Sequence[CallRecord]) -> list[uuid.UUID]:
        """One id a call, in order, with the most they may cost set aside.

        Raises BudgetError, and then nothing is written.
        """

    def settle(self, ids: Sequence[uuid.UUID], outcomes: Sequence[CallOutcome]) -> None:
        """In one transaction: what the calls cost, and their replies into the cache."""

    def note_cached(self, calls: Sequence[CallRecord], replies: Sequence[StoredReply]) -> None:
        """Ledger rows for calls that the cache answered."""

    def remember_support(self, support: Support) -> None:
        """What the endpoint was found to understand."""
