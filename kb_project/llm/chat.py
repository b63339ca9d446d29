"""A workspace's chat models: cached, counted, within the budget, in parallel or streamed."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from kb_project.errors import EndpointError, ModelError, ReplyError
from kb_project.llm import halting
from kb_project.llm.batch import Batch, Result, Threads
from kb_project.llm.call import (
    Exchange,
    PreparedCall,
    Verdict,
    counted,
    failed,
    messages_of,
)
from kb_project.llm.capabilities import Capabilities, Support
from kb_project.llm.config import PRIORITIES, ChatConfig
from kb_project.llm.policy import breaker_of
from kb_project.llm.ports import (
    CallRecord,
    CallStore,
    ChatReply,
    ChatRequest,
    Role,
    SchemaT,
    StoredReply,
)
from kb_project.llm.provider import SEED, RawReply
from kb_project.llm.refusals import context_too_long
from kb_project.llm.slots import Slots
from kb_project.llm.structured import parse_for, schema_text, storable, streamed_without_thoughts
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
        with closing(self.ask_many([request])) as results:
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
        calls = [self._prepared(request) for request in requests]
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
        call = self._prepared(request)
        known, _ = self._from_cache({call.record.key: call})
        if known:
            yield known[call.record.key].text
            return
        if not self._fits(call):
            raise context_too_long()
        try:
            with self._slots.enter(PRIORITIES[request.role]) as gate:
                gate.adjust(running=0, wanted=1)
                yield from _StreamedCall(self._store, self._exchange, call).pieces()
        finally:
            self._remember_support()

    def key_of(self, request: ChatRequest[Any]) -> str:
        """Return the SHA-256 of everything that shapes the reply."""
        prompt, schema = request.prompt, request.schema
        shaping = [
            self.config.endpoint,
            self.model_of(request.role),
            {"temperature": 0, "seed": SEED, "max_output": self._max_output(request)},
            [prompt.name, prompt.version, prompt.system, prompt.user],
            [[turn.speaker, turn.text] for turn in request.turns],
            [schema.__name__, schema_text(schema)] if schema else None,
        ]
        if parameters := self.config.parameters.get(request.role):
            shaping.append(dict(parameters))
        # Plain ASCII escapes, because a lone surrogate cannot be encoded.
        return hashlib.sha256(json.dumps(shaping).encode()).hexdigest()

    def _prepared(self, request: ChatRequest[Any]) -> PreparedCall:
        about, prompt = request.about, request.prompt
        answer, estimate = self._max_output(request), self._estimate(request)
        most = self.config.room_beside(estimate)
        room = self._exchange.capabilities.room(self.model_of(request.role))
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
            prompt_tokens_estimate=estimate,
            max_output=max(answer, min(answer + room, most)),
        )
        timeout = self.config.limits_of(request.role).timeout
        return PreparedCall(
            *(request, record, messages_of(request), timeout),
            answer=answer,
            most=most,
            parameters=self.config.parameters.get(request.role, {}),
        )

    def _from_cache(
        self, calls: dict[str, PreparedCall]
    ) -> tuple[dict[str, ChatReply[Any]], list[PreparedCall]]:
        """Return the cached replies by key, and the calls left to make."""
        stored = self._store.find(list(calls)) if calls else {}
        replies = {key: _reply_from(calls[key].request, kept) for key, kept in stored.items()}
        known = {key: reply for key, reply in replies.items() if reply is not None}
        if known:
            records = [calls[key].record for key in known]
            self._store.note_cached(records, [stored[key] for key in known])
        return known, [call for key, call in calls.items() if key not in known]

    def _made(self, calls: Sequence[PreparedCall]) -> Iterator[tuple[str, Result]]:
        fitting = []
        for call in calls:
            if self._fits(call):
                fitting.append(call)
            else:
                yield call.record.key, context_too_long()
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
        self, calls: Sequence[PreparedCall], places: Sequence[int], result: Result
    ) -> Iterator[tuple[int, Result]]:
        """Yield the result for the first place; identical requests get it as from the cache."""
        yield places[0], result
        others = places[1:]
        if others and isinstance(result, ChatReply):
            kept = StoredReply(result.text, result.prompt_tokens, result.completion_tokens)
            self._store.note_cached([calls[place].record for place in others], [kept] * len(others))
            result = replace(result, is_cached=True)
        for place in others:
            yield place, result

    def _remember_support(self) -> None:
        if self._exchange.support != self._support:
            self._support = self._exchange.support
            self._store.remember_support(self._support)
            self._exchange.capabilities.stored(self._support)

    def _fits(self, call: PreparedCall) -> bool:
        limit = self.config.input_limit(call.record.role, call.request.max_output)
        return call.record.prompt_tokens_estimate <= limit

    def _max_output(self, request: ChatRequest[Any]) -> int:
        return self.config.max_output(request.role, request.max_output)

    def _estimate(self, request: ChatRequest[Any]) -> int:
        """Count the prompt's tokens; its fixed parts are counted once."""
        fixed = [request.prompt.system, schema_text(request.schema) if request.schema else ""]
        tokens = sum(map(self._count, fixed)) + self._count_once(request.prompt.user)
        tokens += sum(turn.tokens or self._count_once(turn.text) for turn in request.turns)
        return tokens + PER_MESSAGE * (len(request.turns) + 2)


@dataclass(slots=True)
class _StreamedCall:
    """Pieces go to the reader, the whole reply into the cache. ``text`` is what has arrived."""

    store: CallStore
    exchange: Exchange
    call: PreparedCall
    text: str = ""
    whole: RawReply | None = None
    started: float = field(default_factory=time.monotonic)

    def pieces(self) -> Iterator[str]:
        """Yield the pieces, without a reasoning model's initial thoughts.

        Raises ReplyError if the answer is cut off. If the reader stops, the part received is still
        paid for.
        """
        [call_id] = self.store.open_calls([self.call.record])
        verdict: Verdict | None = None
        try:
            yield from streamed_without_thoughts(self._read())
            if self.whole is None:
                raise _cut_off()
            verdict = self.exchange.judged(self.call, self.whole, self._seconds())
        except ModelError as error:
            verdict = failed(error, self._seconds(), self._received())
            raise
        finally:
            # Without a verdict, the reader has stopped.
            if verdict is None:
                verdict = failed(halting.stopped(), self._seconds(), self._received())
            self.store.settle([call_id], [verdict.outcome])
        if isinstance(verdict.result, PreparedCall) and not self.text:
            yield from _StreamedCall(self.store, self.exchange, verdict.result).pieces()
        elif isinstance(verdict.result, PreparedCall):
            raise _cut_off()
        elif isinstance(verdict.result, ModelError):
            raise verdict.result

    def _read(self) -> Iterator[str]:
        try:
            for piece in self.exchange.stream(self.call):
                if isinstance(piece, RawReply):
                    self.whole = piece
                else:
                    self.text += piece
                    yield storable(piece)
        except EndpointError as error:
            if not self.text:
                raise
            raise _cut_off() from error

    def _received(self) -> RawReply | None:
        """Return the part received, for counting; None if there is none."""
        return counted(self.call, self.whole or RawReply(self.text)) if self.text else None

    def _seconds(self) -> float:
        return time.monotonic() - self.started


def _cut_off() -> ReplyError:
    return ReplyError(
        "The model's answer was cut off.", code="reply_truncated", next_step="Ask again."
    )


def _reply_from(request: ChatRequest[Any], stored: StoredReply) -> ChatReply[Any] | None:
    """Return the cached reply, or None if it no longer fits its schema."""
    value = parse_for(request, request.schema, stored.text).value if request.schema else None
    if request.schema and value is None:
        return None
    return ChatReply(
        stored.text, value, stored.prompt_tokens, stored.completion_tokens, is_cached=True
    )


def build_chat(config: ChatConfig, store: CallStore, *, slots: Slots | None = None) -> Chat:
    """Build the chat models of ``config``; slots are the installation's unless given."""
    from kb_project.llm.openai_client import OpenAiProvider
    from kb_project.llm.slots import shared_slots

    exchange = Exchange(
        OpenAiProvider(config.endpoint, config.key, is_operators=config.is_operators),
        breaker_of("chat", config.endpoint, config.host),
        capabilities=capabilities_for(config),
    )
    return Chat(config, store, exchange, slots or shared_slots(config.line, config.concurrency))


_one_at_a_time = threading.Lock()


def capabilities_for(config: ChatConfig) -> Capabilities:
    """Return the shared instance for an endpoint, key and models, since models differ in
    support."""
    with _one_at_a_time:
        found = _capabilities(config.line, (config.model, *sorted(config.models.items())))
    found.configure(config.support)
    return found


@lru_cache(maxsize=64)
def _capabilities(line: int, models: tuple[object, ...]) -> Capabilities:
    return Capabilities()
