"""A workspace's chat models: cached, counted, within the budget, in parallel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, Final

from kb_project.errors import ReplyError
from kb_project.llm.batch import Batch, Result, Threads
from kb_project.llm.breaker import Breaker
from kb_project.llm.call import Asked, Exchange, messages_of
from kb_project.llm.capabilities import found_for
from kb_project.llm.config import PRIORITIES, ChatConfig
from kb_project.llm.ports import ChatReply, ChatRequest, Role, SchemaT
from kb_project.llm.provider import SEED
from kb_project.llm.slots import Slots
from kb_project.llm.store import CallRecord, CallStore, StoredReply
from kb_project.llm.streaming import Streaming
from kb_project.llm.structured import parse, schema_text
from kb_project.llm.support import Support
from kb_project.llm.tokens import count_tokens

PER_MESSAGE: Final = 8
"""Tokens that servers add to a message, generously."""


class Chat:
    """Implements ``kb_project.llm.ports.ChatModel``. Not to be shared between threads."""

    def __init__(
        self,
        config: ChatConfig,
        store: CallStore,
        exchange: Exchange,
        slots: Slots,
        *,
        count: Callable[[str], int] = count_tokens,
    ) -> None:
        self.config = config
        self._store = store
        self._exchange = exchange
        self._slots = slots
        self._support = config.support or Support()
        self._count = lru_cache(maxsize=16)(count)
        self._count_once = count
        self._threads = Threads(config.concurrency)

    def model_of(self, role: Role) -> str:
        return self.config.model_of(role)

    def input_limit(self, role: Role) -> int:
        return self.config.input_limit(role)

    def ask(self, request: ChatRequest[SchemaT]) -> ChatReply[SchemaT]:
        with closing(self._results([request])) as results:
            _, result = next(results)
            # Exhaust it, so that a pause is raised and the slots are released.
            next(results, None)
        if isinstance(result, ReplyError):
            raise result
        return result

    def ask_many(
        self, requests: Sequence[ChatRequest[SchemaT]]
    ) -> Generator[tuple[int, ChatReply[SchemaT] | ReplyError], None, None]:
        """Make calls; identical requests are made once, cached ones not at all."""
        return self._results(requests)

    def _results(
        self, requests: Sequence[ChatRequest[Any]]
    ) -> Generator[tuple[int, Result], None, None]:
        calls = [self._call(request) for request in requests]
        places: dict[str, list[int]] = {}
        for place, call in enumerate(calls):
            places.setdefault(call.record.key, []).append(place)
        known, left = self._from_cache({call.record.key: call for call in calls})
        for key, reply in known.items():
            yield from ((place, reply) for place in places[key])
        for key, result in self._made(left):
            yield from self._spread(calls, places[key], result)

    def stream(self, request: ChatRequest[SchemaT]) -> Generator[str, None, None]:
        """Yield pieces of the answer; cached, counted and limited like every call."""
        call = self._call(request)
        known, left = self._from_cache({call.record.key: call})
        if known:
            yield known[call.record.key].text
            return
        if not self._fits(left[0]):
            raise too_long()
        try:
            with self._slots.enter(PRIORITIES[request.role]) as gate:
                gate.adjust(running=0, wanted=1)
                yield from Streaming(self._store, self._exchange, call).pieces()
        finally:
            self._remember_support()

    def key_of(self, request: ChatRequest[Any]) -> str:
        """Return the SHA-256 of everything that shapes the reply."""
        prompt, schema = request.prompt, request.schema
        said = [
            self.config.endpoint,
            self.model_of(request.role),
            {"temperature": 0, "seed": SEED, "max_output": self._max_output(request)},
            [prompt.name, prompt.version, prompt.system, prompt.user],
            [[turn.speaker, turn.text] for turn in request.turns],
            [schema.__name__, schema_text(schema)] if schema else None,
        ]
        # Plain ASCII escapes, because a lone surrogate cannot be encoded.
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def _call(self, request: ChatRequest[Any]) -> Asked:
        about, prompt = request.about, request.prompt
        record = CallRecord(
            key=self.key_of(request),
            role=request.role,
            stage=about.stage,
            prompt=prompt.name,
            prompt_version=prompt.version,
            model=self.model_of(request.role),
            document_id=about.document_id,
            chunk_id=about.chunk_id,
            question_id=about.question_id,
            prompt_tokens_estimate=self._estimate(request),
            max_output=self._max_output(request),
        )
        timeout = self.config.limits_of(request.role).timeout
        return Asked(request, record, messages_of(request), timeout)

    def _from_cache(self, calls: dict[str, Asked]) -> tuple[dict[str, ChatReply[Any]], list[Asked]]:
        stored = self._store.find(list(calls)) if calls else {}
        replies = {key: reply_from(calls[key].request, kept) for key, kept in stored.items()}
        known = {key: reply for key, reply in replies.items() if reply is not None}
        if known:
            records = [calls[key].record for key in known]
            self._store.note_cached(records, [stored[key] for key in known])
        return known, [call for key, call in calls.items() if key not in known]

    def _made(self, calls: Sequence[Asked]) -> Iterator[tuple[str, Result]]:
        fitting = []
        for call in calls:
            if self._fits(call):
                fitting.append(call)
            else:
                yield call.record.key, too_long()
        if not fitting:
            return
        batch = Batch(self._store, self._exchange, fitting, self._threads)
        priority = min(PRIORITIES[call.record.role] for call in fitting)
        try:
            with self._slots.enter(priority) as gate:
                yield from batch.results(gate)
        finally:
            self._remember_support()

    def _spread(
        self, calls: Sequence[Asked], places: Sequence[int], result: Result
    ) -> Iterator[tuple[int, Result]]:
        """Yield the result for the first place; identical requests get it as from the cache."""
        yield places[0], result
        others = places[1:]
        if others and isinstance(result, ChatReply):
            kept = StoredReply(result.text, result.prompt_tokens, result.completion_tokens)
            self._store.note_cached([calls[place].record for place in others], [kept] * len(others))
            again = ChatReply(
                result.text,
                result.value,
                result.prompt_tokens,
                result.completion_tokens,
                is_cached=True,
            )
            yield from ((place, again) for place in others)
        else:
            yield from ((place, result) for place in others)

    def _remember_support(self) -> None:
        if self._exchange.support != self._support:
            self._support = self._exchange.support
            self._store.remember_support(self._support)
            self._exchange.found.kept(self._support)

    def _fits(self, call: Asked) -> bool:
        record = call.record
        limit = self.config.input_limit(record.role, call.request.max_output)
        return record.prompt_tokens_estimate <= limit

    def _max_output(self, request: ChatRequest[Any]) -> int:
        return self.config.max_output(request.role, request.max_output)

    def _estimate(self, request: ChatRequest[Any]) -> int:
        """Count the prompt's tokens; its fixed parts are counted once."""
        fixed = [request.prompt.system, schema_text(request.schema) if request.schema else ""]
        counted = sum(map(self._count, fixed)) + self._count_once(request.prompt.user)
        counted += sum(turn.tokens or self._count_once(turn.text) for turn in request.turns)
        return counted + PER_MESSAGE * (len(request.turns) + 2)


def reply_from(request: ChatRequest[Any], stored: StoredReply) -> ChatReply[Any] | None:
    """Return the cached reply, or None if it no longer fits its schema."""
    value = parse(stored.text, request.schema).value if request.schema else None
    if request.schema and value is None:
        return None
    return ChatReply(
        stored.text, value, stored.prompt_tokens, stored.completion_tokens, is_cached=True
    )


def too_long() -> ReplyError:
    return ReplyError(
        "The text is longer than the model can read.",
        code="context_too_long",
        next_step="Set the model's real context window, or make smaller chunks.",
    )


def build_chat(config: ChatConfig, store: CallStore, *, slots: Slots | None = None) -> Chat:
    """Build the chat models of ``config``; slots are the installation's unless given."""
    from kb_project.llm.openai_client import OpenAiProvider
    from kb_project.llm.shared_slots import shared_slots

    exchange = Exchange(
        OpenAiProvider(config.endpoint, config.key),
        breaker_of(config.endpoint, config.host),
        found=found_for(config),
    )
    return Chat(config, store, exchange, slots or shared_slots(config.line, config.concurrency))


@lru_cache(maxsize=64)
def breaker_of(endpoint: str, host: str) -> Breaker:
    """One per endpoint and process, so that workspaces share what they learn of an outage."""
    return Breaker(host)
