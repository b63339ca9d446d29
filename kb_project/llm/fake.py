"""Fake models, for tests and for trying out the pipeline."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from pydantic import BaseModel

from kb_project.llm.call import KNOCK, Exchange
from kb_project.llm.capabilities import Support
from kb_project.llm.chat import Chat
from kb_project.llm.config import ChatConfig
from kb_project.llm.policy import Retry, RetryPolicy
from kb_project.llm.ports import (
    CallOutcome,
    CallRecord,
    CallStore,
    ChatRequest,
    StoredReply,
    Vectors,
)
from kb_project.llm.provider import RawCall, RawReply
from kb_project.llm.slots import LocalSlots
from kb_project.text.words import terms

_FINGERPRINT: Final = "hashed-terms-1"


class FakeEmbedder:
    """Hashes the terms of a text into a vector: texts that share words are similar.

    Deterministic on every machine and in every process. A text without terms gets the first unit
    vector, so that no vector is ever zero.
    """

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension

    @property
    def fingerprint(self) -> str:
        return f"{_FINGERPRINT}/{self.dimension}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self._embed(text) for text in texts])

    def embed_question(self, text: str) -> Vectors:
        return self._embed(text)

    def _embed(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, np.float32)
        for term in terms(text):
            digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            vector[number % self.dimension] += 1.0 if number >> 63 else -1.0
        length = float(np.linalg.norm(vector))
        if not length:
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)


class MemoryCallStore:
    """A call store in memory, without prices."""

    def __init__(self) -> None:
        self.replies: dict[str, StoredReply] = {}
        self.opened: dict[uuid.UUID, CallRecord] = {}
        self.settled: dict[uuid.UUID, CallOutcome] = {}
        self.cached: list[CallRecord] = []
        self.support: Support | None = None

    def find(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        return {key: self.replies[key] for key in keys if key in self.replies}

    def open_calls(self, calls: Sequence[CallRecord]) -> list[uuid.UUID]:
        ids = [uuid.uuid4() for _ in calls]
        self.opened.update(zip(ids, calls, strict=True))
        return ids

    def settle(self, ids: Sequence[uuid.UUID], outcomes: Sequence[CallOutcome]) -> None:
        for call_id, outcome in zip(ids, outcomes, strict=True):
            self.settled[call_id] = outcome
            if outcome.reply is not None:
                self.replies[self.opened[call_id].key] = StoredReply(
                    outcome.reply, outcome.prompt_tokens, outcome.completion_tokens
                )

    def note_cached(self, calls: Sequence[CallRecord], replies: Sequence[StoredReply]) -> None:
        self.cached += calls

    def remember_support(self, support: Support) -> None:
        self.support = support


class FakeProvider:
    """Answers in this process and at once. ``calls`` are those received, in order."""

    def __init__(self, answer: Callable[[RawCall], str | RawReply]) -> None:
        self._answer = answer
        self.calls: list[RawCall] = []
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def complete(self, call: RawCall) -> RawReply:
        self.calls.append(call)
        answer = self._answer(call)
        reply = RawReply(answer) if isinstance(answer, str) else answer
        counted = replace(
            reply,
            prompt_tokens=reply.prompt_tokens or rough_tokens(call.text),
            completion_tokens=reply.completion_tokens or rough_tokens(reply.text),
        )
        self.prompt_tokens += counted.prompt_tokens or 0
        self.completion_tokens += counted.completion_tokens or 0
        return counted

    def stream(self, call: RawCall) -> Iterator[str | RawReply]:
        reply = self.complete(call)
        yield from re.findall(r"\S+\s*|\s+", reply.text)
        yield reply


Answer = BaseModel | dict[str, Any] | str | Exception
"""A test's reply for the model: a schema's value, its dict, plain text, or an error to raise."""


class FakeChat(Chat):
    """A chat model for tests: one call after another, in order, nothing stored.

    ``answers`` is called once for each call actually made; ``requests`` records them.

    ::

        chat = FakeChat(lambda request: {"entities": []})
    """

    def __init__(
        self,
        answers: Callable[[ChatRequest[Any]], Answer],
        *,
        config: ChatConfig | None = None,
        store: CallStore | None = None,
    ) -> None:
        self.requests: list[ChatRequest[Any]] = []
        self.provider = FakeProvider(self._said)
        self.store: Any = store or MemoryCallStore()
        self._answers = answers
        self._raised: Exception | None = None
        config = config or ChatConfig("http://fake.invalid/v1", "fake-model", concurrency=1)
        exchange = Exchange(self.provider, retry=Retry(RetryPolicy(attempts=1)))
        super().__init__(
            config, self.store, exchange, LocalSlots(config.concurrency), count=rough_tokens
        )

    def _said(self, call: RawCall) -> str:
        if call.request.prompt.name == KNOCK and self._raised:
            raise self._raised  # an endpoint that is down is down for every call
        self.requests.append(call.request)
        answer = self._answers(call.request)
        if isinstance(answer, Exception):
            self._raised = answer
            raise answer
        if isinstance(answer, BaseModel):
            return answer.model_dump_json()
        return answer if isinstance(answer, str) else json.dumps(answer)


def rough_tokens(text: str) -> int:
    """Estimate the number of tokens without a vocabulary."""
    return len(text) // 4 + 1
