"""The store for a workspace's calls: the cache of replies, the ledger, the budget."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kb_project.llm.ports import Role
from kb_project.llm.support import Support


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A complete reply as the model gave it, with the token counts of the original call."""

    text: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call before it is made. ``key`` is the SHA-256 of everything that shapes the reply.

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
    """How a call ended: with a ``reply`` to store, or with None and the error's ``code``.

    Tokens are as the provider reports them, even for an unusable reply. ``cached_tokens`` is the
    part of ``prompt_tokens`` that the provider had in its own cache.
    """

    reply: str | None
    code: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float


class CallStore(Protocol):
    """The store of one workspace. Called from the caller's thread only, outside transactions."""

    def find(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        """Return the stored replies among ``keys``."""

    def open_calls(self, calls: Sequence[CallRecord]) -> list[uuid.UUID]:
        """Open calls, reserving their maximum cost; returns an id for each, in order.

        Raises BudgetError, and then nothing is written.
        """

    def settle(self, ids: Sequence[uuid.UUID], outcomes: Sequence[CallOutcome]) -> None:
        """Record, in one transaction, what the calls cost, and cache their replies."""

    def note_cached(self, calls: Sequence[CallRecord], replies: Sequence[StoredReply]) -> None:
        """Add ledger rows for calls answered from the cache."""

    def remember_support(self, support: Support) -> None:
        """Store what the endpoint was found to support."""
