"""Makes one call, in any thread and without the database, up to its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm.breaker import Breaker
from kb_project.llm.capabilities import Found
from kb_project.llm.ports import ChatReply, ChatRequest
from kb_project.llm.provider import (
    Message,
    Provider,
    RawCall,
    RawReply,
    UnsupportedError,
)
from kb_project.llm.retry import Retry
from kb_project.llm.store import CallOutcome, CallRecord
from kb_project.llm.structured import (
    parse,
    schema_text,
    storable,
    strict_schema,
    without_thoughts,
)
from kb_project.llm.support import Feature, Support
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt

T = TypeVar("T")

PATIENCE: Final = 2.0
"""A call may take this many times its timeout, including all attempts and waits."""
KNOCK: Final = "knock"
KNOCK_SECONDS: Final = 15.0
"""Timeout of a call of a few tokens that only checks whether the endpoint is there."""
_KNOCK_TOKENS: Final = 16
_FORM: Final = (
    "Answer with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"
)
_REPAIR: Final = (
    "That answer cannot be used:\n{problems}\n"
    "Answer again with one complete JSON object that fits the schema, and nothing else."
)
_LONGEST_QUOTED: Final = 8_000
"""Characters of an unusable answer that are sent back to the model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call ready to be made. ``messages`` are complete except for the instructions on the
    answer's form.
    """

    request: ChatRequest[Any]
    record: CallRecord
    messages: tuple[Message, ...]
    timeout: float
    is_repair: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended. A ``result`` that is an ``Asked`` is a repair attempt, made once."""

    outcome: CallOutcome
    result: ChatReply[Any] | ModelError | Asked


class Exchange:
    """The way to one endpoint: with retries, fallbacks for unsupported features, and a breaker."""

    def __init__(
        self,
        provider: Provider,
        breaker: Breaker | None = None,
        retry: Retry | None = None,
        found: Found | None = None,
    ) -> None:
        self.provider = provider
        self.found = found or Found(Support())
        self.breaker = breaker or Breaker("The model's endpoint")
        self.retry = retry or Retry()

    @property
    def support(self) -> Support:
        return self.found.support

    def make(self, asked: Asked, stopped: Callable[[], bool] | None = None) -> Verdict:
        """Make the call. Never raises one of the project's own errors: they are the verdict."""
        started = time.monotonic()
        try:
            with self.found.turn(asked.record.model, has_form=asked.request.schema is not None):
                started = time.monotonic()
                reply = self._answered(asked, stopped)
        except ModelError as error:
            return failed(error, time.monotonic() - started)
        return judge(asked, counted(asked, reply), time.monotonic() - started)

    def stream(self, asked: Asked) -> Iterator[str | RawReply]:
        """Yield the answer in pieces; retried only until the first piece arrives.

        Raises EndpointError and RefusedError as ``make`` reports them. A server that does not
        stream gives its answer in one piece.
        """
        self.breaker.check()
        try:
            first, rest = self.retry.run(
                lambda: self._begun(asked), patience=asked.timeout * PATIENCE
            )
        except EndpointError as error:
            if error.code != "endpoint_busy":
                self.breaker.failed()
            raise
        self.breaker.succeeded()
        yield first
        yield from rest

    def shaped(self, asked: Asked) -> RawCall:
        """Return the call in a form the endpoint is known to support."""
        schema, support = asked.request.schema, self.support
        messages = asked.messages
        if schema is not None and not support.schema:
            first = messages[0]
            form = _FORM.replace("{schema}", schema_text(schema))
            messages = (replace(first, text=f"{first.text}\n\n{form}"), *messages[1:])
        return RawCall(
            request=asked.request,
            model=asked.record.model,
            messages=messages,
            max_output=asked.record.max_output,
            timeout=asked.timeout,
            schema=strict_schema(schema) if schema is not None else None,
            support=support,
        )

    def _answered(self, asked: Asked, stopped: Callable[[], bool] | None) -> RawReply:
        self.breaker.check()
        started = self.breaker.now()
        try:
            reply = self.retry.run(
                lambda: self._once(asked), patience=asked.timeout * PATIENCE, stopped=stopped
            )
        except EndpointError as error:
            reply = self._once_more(asked, error, started, stopped)
        except (ReplyError, RefusedError):
            self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return reply

    def _begun(self, asked: Asked) -> tuple[str | RawReply, Iterator[str | RawReply]]:
        """Return the first piece of a stream, and an iterator of the others."""

        def begin(call: RawCall) -> tuple[str | RawReply, Iterator[str | RawReply]]:
            if not call.support.stream:
                reply = self.provider.complete(call)
                return reply.text, iter([reply])
            pieces = self.provider.stream(call)
            return next(pieces, RawReply("")), pieces

        return self._supported(asked, begin)

    def _once(self, asked: Asked) -> RawReply:
        return self._supported(asked, self.provider.complete)

    def _supported(self, asked: Asked, send: Callable[[RawCall], T]) -> T:
        """Make one exchange; a refused feature is dropped and the call repeated, each
        at most once.
        """
        for _ in (*Feature, None):
            call = self.shaped(asked)
            try:
                return send(call)
            except UnsupportedError as error:
                if not call.support.has(error.feature):
                    break
                self.found.step_down(error.feature)
        raise RefusedError(
            "The endpoint rejects the format of the requests.",
            code="endpoint_not_a_model",
            next_step="Test the endpoint on the Models page.",
        )

    def _once_more(
        self,
        asked: Asked,
        error: EndpointError,
        started: float,
        stopped: Callable[[], bool] | None,
    ) -> RawReply:
        """Decide, after the last attempt, whether the call is at fault or the endpoint.

        If the endpoint answered others meanwhile, or answers a tiny call now, it is the call: work
        that waits for the endpoint would repeat the same call forever.
        """
        if error.code == "endpoint_busy" or (stopped and stopped()):
            raise error
        if not self.breaker.answered_since(started):
            self._knock(asked, error)
            # An outage may have ended just before the tiny call.
            with suppress(EndpointError):
                return self._once(asked)
        raise ReplyError(
            "The model's endpoint answers other calls but not this one.",
            code="reply_timeout",
            next_step="Try this part again later, or with another model.",
        ) from error

    def _knock(self, asked: Asked, error: EndpointError) -> None:
        """Raise the error unless the endpoint answers a call of a few tokens.

        They count as part of the failed call, whose reservation covers them.
        """
        prompt = Prompt(KNOCK, "1", "You answer in one word.", "Say yes.")
        request: ChatRequest[Any] = ChatRequest(asked.request.role, prompt, asked.request.about)
        record = replace(asked.record, prompt=KNOCK, max_output=_KNOCK_TOKENS)
        timeout = min(asked.timeout, KNOCK_SECONDS)
        try:
            self._once(Asked(request, record, messages_of(request), timeout))
        except EndpointError:
            self.breaker.failed()
            raise error from None
        self.breaker.succeeded()


def messages_of(request: ChatRequest[Any]) -> tuple[Message, ...]:
    turns = (Message(turn.speaker, turn.text) for turn in request.turns)
    return (
        Message("system", request.prompt.system),
        Message("user", request.prompt.user),
        *turns,
    )


def judge(asked: Asked, reply: RawReply, seconds: float) -> Verdict:
    """Judge the reply: a value, an error, or one repair attempt."""
    error = _unusable(reply)
    if error is not None:
        return failed(error, seconds, reply)
    schema = asked.request.schema
    if schema is None:
        return _kept(without_thoughts(storable(reply.text)), None, reply, seconds)
    parsed = parse(reply.text, schema)
    if parsed.value is not None:
        return _kept(storable(reply.text), parsed.value, reply, seconds)
    invalid = failed(_invalid(), seconds, reply)
    if asked.is_repair:
        return invalid
    return replace(invalid, result=_repair(asked, reply.text, parsed.problems))


def failed(error: ModelError, seconds: float, reply: RawReply | None = None) -> Verdict:
    """Return the error as a verdict, with the call's cost."""
    return Verdict(_outcome(None, error.code, reply, seconds), error)


def _kept(text: str, value: Any, reply: RawReply, seconds: float) -> Verdict:
    outcome = _outcome(text, "", reply, seconds)
    given = ChatReply(
        text, value, outcome.prompt_tokens, outcome.completion_tokens, is_cached=False
    )
    return Verdict(outcome, given)


def _outcome(text: str | None, code: str, reply: RawReply | None, seconds: float) -> CallOutcome:
    if reply is None:
        return CallOutcome(text, code, 0, 0, 0, seconds)
    return CallOutcome(
        text,
        code,
        reply.prompt_tokens or 0,
        reply.cached_tokens,
        reply.completion_tokens or 0,
        seconds,
    )


def counted(asked: Asked, reply: RawReply) -> RawReply:
    """Fill in token counts that the server does not report; the answer's is a rough estimate."""
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    return replace(
        reply,
        prompt_tokens=_counted_here(asked) if prompt is None else prompt,
        completion_tokens=len(reply.text) // 4 + 1 if completion is None else completion,
    )


def _counted_here(asked: Asked) -> int:
    return sum(count_tokens(said.text) for said in asked.messages)


def _unusable(reply: RawReply) -> ReplyError | None:
    if reply.finish == "refused":
        return ReplyError("The model refused to answer.", code="reply_refused")
    if reply.finish == "length":
        return ReplyError(
            "The model's answer was cut off at the length limit.",
            code="reply_truncated",
            next_step="Allow longer answers for this role, or make smaller chunks.",
        )
    if not without_thoughts(reply.text):
        return ReplyError("The model's answer is empty.", code="reply_empty")
    return None


def _invalid() -> ReplyError:
    return ReplyError(
        "The model's answer did not have the requested format, even after a second try.",
        code="reply_invalid",
        next_step="Try again, or choose a stronger model for this role.",
    )


def _repair(asked: Asked, answer: str, problems: str) -> Asked:
    turns = (
        Message("assistant", answer[:_LONGEST_QUOTED]),
        Message("user", _REPAIR.replace("{problems}", problems)),
    )
    estimate = asked.record.prompt_tokens_estimate + asked.record.max_output
    return replace(
        asked,
        messages=asked.messages + turns,
        record=replace(asked.record, prompt_tokens_estimate=estimate),
        is_repair=True,
    )
