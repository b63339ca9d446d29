"""Makes one call, in any thread and without the database, up to its verdict."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm.capabilities import Capabilities, Feature, Support
from kb_project.llm.policy import Breaker, Retry
from kb_project.llm.ports import CallOutcome, CallRecord, ChatReply, ChatRequest, Role
from kb_project.llm.provider import Message, Provider, RawCall, RawReply, UnsupportedError
from kb_project.llm.structured import (
    parse_for,
    schema_text,
    storable,
    strict_schema,
    without_thoughts,
)
from kb_project.llm.tokens import count_tokens, window_reached
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
_REFUSES: Final = re.compile(
    r"(?:i['’]m|i am|we['’]re) (?:very )?(?:sorry|unable)\b|sorry\b|as an ai\b"
    r"|i (?:can['’]?t|cannot|won['’]t|do not have|don['’]t have)\b"
    r"|(?:很|非常)?抱歉|对不起|我(?:无法|不能)",
    re.IGNORECASE,
)
_LONGEST_REFUSAL: Final = 400
_LONGEST_QUOTED: Final = 8_000
"""Characters of an unusable answer that are sent back to the model."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call ready to be made. ``messages`` lack only the instructions on the answer's form.

    ``answer`` is the answer's own limit, without the room to reason that the record's may include;
    ``most`` is what the model's window leaves for both. All are in tokens.
    """

    request: ChatRequest[Any]
    record: CallRecord
    messages: tuple[Message, ...]
    timeout: float
    is_repair: bool = False
    answer: int = 0
    most: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended. A ``result`` that is a call is to be made instead: a repair attempt, made
    once, or the same with more room.
    """

    outcome: CallOutcome
    result: ChatReply[Any] | ModelError | PreparedCall


class Exchange:
    """The way to one endpoint: with retries, fallbacks for unsupported features, and a breaker."""

    def __init__(
        self,
        provider: Provider,
        breaker: Breaker | None = None,
        retry: Retry | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.provider = provider
        self.capabilities = capabilities or Capabilities(Support())
        self.breaker = breaker or Breaker("The model's endpoint")
        self.retry = retry or Retry()

    @property
    def support(self) -> Support:
        return self.capabilities.support

    def make(self, asked: PreparedCall, stopped: Callable[[], bool] | None = None) -> Verdict:
        """Make the call. Never raises one of the project's own errors: they are the verdict."""
        started = time.monotonic()
        try:
            has_form = asked.request.schema is not None
            with self.capabilities.turn(asked.record.model, has_form=has_form):
                started = time.monotonic()
                reply = self._answered(asked, stopped)
        except ModelError as error:
            return failed(error, time.monotonic() - started)
        return self.judged(asked, reply, time.monotonic() - started)

    def judged(self, asked: PreparedCall, reply: RawReply, seconds: float) -> Verdict:
        """Judge the reply. A model that reasoned up to its limit is asked again with more room, and
        has it from then on.
        """
        if window := window_that_cut(asked, reply):
            return failed(_prompt_cut(window), seconds, reply)
        reply = counted(asked, reply)
        verdict = judge(asked, reply, seconds)
        if not is_thought(reply) or not asked.most:
            return verdict
        room = self.capabilities.widen(asked.record.model, asked.record.max_output - asked.answer)
        limit = min(asked.answer + room, asked.most)
        if limit <= asked.record.max_output:
            return verdict
        wider = replace(asked, record=replace(asked.record, max_output=limit))
        return replace(verdict, result=wider)

    def stream(self, asked: PreparedCall) -> Iterator[str | RawReply]:
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

    def shaped(self, asked: PreparedCall, without: Collection[Feature] = ()) -> RawCall:
        """Return the call in a form the endpoint is known to support, ``without`` some features."""
        schema, support = asked.request.schema, self.support
        for feature in without:
            support = support.without(feature)
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
            parameters=asked.parameters,
        )

    def _answered(self, asked: PreparedCall, stopped: Callable[[], bool] | None) -> RawReply:
        self.breaker.check()
        try:
            reply = self.retry.run(
                lambda: self._once(asked), patience=asked.timeout * PATIENCE, stopped=stopped
            )
        except EndpointError as error:
            reply = self._once_more(asked, error, stopped)
        except (ReplyError, RefusedError):
            self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return reply

    def _begun(self, asked: PreparedCall) -> tuple[str | RawReply, Iterator[str | RawReply]]:
        """Return the first piece of a stream, and an iterator of the others."""

        def begin(call: RawCall) -> tuple[str | RawReply, Iterator[str | RawReply]]:
            if not call.support.stream:
                reply = self.provider.complete(call)
                return reply.text, iter([reply])
            pieces = self.provider.stream(call)
            return next(pieces, RawReply("")), pieces

        return self._supported(asked, begin)

    def _once(self, asked: PreparedCall) -> RawReply:
        return self._supported(asked, self.provider.complete)

    def _supported(self, asked: PreparedCall, send: Callable[[RawCall], T]) -> T:
        """Make one exchange; a refused feature is dropped, at most once, and the call repeated."""
        dropped: set[Feature] = set()
        for _ in (*Feature, None):
            call = self.shaped(asked, without=dropped)
            try:
                return send(call)
            except UnsupportedError as error:
                if not call.support.has(error.feature):
                    break
                dropped.add(error.feature)
                if error.is_lasting:
                    self.capabilities.step_down(error.feature)
        raise RefusedError(
            "The endpoint rejects the format of the requests.",
            code="endpoint_not_a_model",
            next_step="Test the endpoint on the Models page.",
        )

    def _once_more(
        self,
        asked: PreparedCall,
        error: EndpointError,
        stopped: Callable[[], bool] | None,
    ) -> RawReply:
        """Decide, after the last attempt, whether the call is at fault or the endpoint.

        If the endpoint answers a tiny call now, and then not this one, it is the call: work that
        waits for the endpoint would repeat the same call forever. What it answered before tells
        nothing: an outage may have begun since.
        """
        if error.code == "endpoint_busy" or (stopped and stopped()):
            raise error
        self._knock(asked, error)
        # An outage may have ended just before the tiny call.
        with suppress(EndpointError):
            return self._once(asked)
        raise ReplyError(
            "The model's endpoint answers other calls but not this one.",
            code="reply_timeout",
            next_step="Try this part again later, or with another model.",
        ) from error

    def _knock(self, asked: PreparedCall, error: EndpointError) -> None:
        """Raise the error unless the endpoint answers a call of a few tokens.

        They count as part of the failed call, whose reservation covers them.
        """
        prompt = Prompt(KNOCK, "1", "You answer in one word.", "Say yes.")
        request: ChatRequest[Any] = ChatRequest(asked.request.role, prompt, asked.request.about)
        record = replace(asked.record, prompt=KNOCK, max_output=_KNOCK_TOKENS)
        timeout = min(asked.timeout, KNOCK_SECONDS)
        try:
            self._once(PreparedCall(request, record, messages_of(request), timeout))
        except EndpointError:
            self.breaker.failed()
            raise error from None
        self.breaker.succeeded()


def messages_of(request: ChatRequest[Any]) -> tuple[Message, ...]:
    return (
        Message("system", request.prompt.system),
        Message("user", request.prompt.user, request.shared),
        *(Message(turn.speaker, turn.text) for turn in request.turns),
    )


def judge(asked: PreparedCall, reply: RawReply, seconds: float) -> Verdict:
    """Judge the reply: a value, an error, or one repair attempt."""
    error = _unusable(reply)
    if error is not None:
        return failed(error, seconds, reply)
    schema = asked.request.schema
    if schema is None:
        text = without_thoughts(storable(reply.text))
        if asked.request.role in (Role.SITUATE, Role.SUMMARISE) and refuses(text):
            return failed(_refused(), seconds, reply)
        return _kept(text, None, reply, seconds)
    parsed = parse_for(asked.request, schema, reply.text)
    if parsed.value is not None:
        return _kept(storable(reply.text), parsed.value, reply, seconds)
    error = (
        _cut_off()
        if parsed.is_cut
        else ReplyError(
            "The model's answer did not have the requested format, even after a second try.",
            code="reply_invalid",
            next_step="Try again, or choose a stronger model for this role.",
        )
    )
    invalid = failed(error, seconds, reply)
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
    reply = reply or RawReply("")
    prompt, completion = reply.prompt_tokens or 0, reply.completion_tokens or 0
    cached, written = reply.cached_tokens, reply.written_tokens
    return CallOutcome(text, code, prompt, cached, completion, seconds, written)


def counted(asked: PreparedCall, reply: RawReply) -> RawReply:
    """Fill in token counts that the server does not report; the answer's is a rough estimate."""
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    if prompt is None:
        prompt = sum(count_tokens(message.text) for message in asked.messages)
    if completion is None:
        completion = len(reply.text) // 4 + 1
    return replace(reply, prompt_tokens=prompt, completion_tokens=completion)


def window_that_cut(asked: PreparedCall, reply: RawReply) -> int:
    """Return the window to which the server cut the prompt without a word, 0 if it did not."""
    sent = "".join(message.text for message in asked.messages)
    return window_reached(sent, reply.prompt_tokens or 0)


def _prompt_cut(window: int) -> ReplyError:
    return ReplyError(
        f"The model's server read only {window:,} tokens of a longer text.",
        code="prompt_cut",
        next_step="Raise the server's context length (num_ctx in Ollama), or lower the context"
        " window on the Models page to it.",
    )


def is_thought(reply: RawReply) -> bool:
    """Whether a model that reasons was cut off while it did, or because it had."""
    is_silent = not without_thoughts(reply.text)
    return reply.finish == "length" and (is_silent or reply.reasoning_tokens > 0)


def _unusable(reply: RawReply) -> ReplyError | None:
    if reply.finish == "refused":
        return _refused()
    if reply.finish == "length" and is_thought(reply):
        return ReplyError(
            "The model's reasoning used up the length limit before its answer was complete.",
            code="reply_truncated",
            next_step="Raise the model's context window or this role's limit on the Models page, or"
            " choose a model that reasons less.",
        )
    if reply.finish == "length":
        return _cut_off()
    if not without_thoughts(reply.text):
        return ReplyError("The model's answer is empty.", code="reply_empty")
    return None


def _cut_off() -> ReplyError:
    return ReplyError(
        "The model's answer was cut off at the length limit.",
        code="reply_truncated",
        next_step="Allow longer answers for this role, or make smaller chunks.",
    )


def refuses(text: str) -> bool:
    """Whether a text that is to be kept says instead that there will be none.

    >>> refuses("I'm sorry, but I can't assist with that."), refuses("Ada Lind was sorry to leave.")
    (True, False)
    """
    return len(text) <= _LONGEST_REFUSAL and _REFUSES.match(text.lstrip("\"'“ ")) is not None


def _refused() -> ReplyError:
    return ReplyError("The model refused to answer.", code="reply_refused")


def _repair(asked: PreparedCall, answer: str, problems: str) -> PreparedCall:
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
