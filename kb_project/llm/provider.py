"""The port for one exchange with a model's server, and what a server's refusal means.

Servers word the same refusal in many ways; the messages are ours. What the server wrote is read but
never passed on: it may echo the text that was sent, or the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kb_project import egress
from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.ports import ChatRequest

SEED: Final = 20_240_501
"""Any fixed number: servers that support it give the same answer twice."""
LONGEST_REPLY: Final = 1_000_000
"""Bytes of an answer that are read."""


class UnsupportedError(Exception):
    """The server refuses a part of the protocol. Never leaves the port: the call drops it."""

    def __init__(self, feature: Feature) -> None:
        super().__init__(feature.value)
        self.feature = feature


@dataclass(frozen=True, slots=True)
class Message:
    """A message; ``speaker`` is "system", "user" or "assistant"."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as sent. ``schema`` is a JSON schema, or None for free text.

    ``request`` is the original request; adapters ignore it, fakes use it. ``timeout`` is in
    seconds.
    """

    request: ChatRequest[Any]
    model: str
    messages: tuple[Message, ...]
    max_output: int
    timeout: float
    schema: dict[str, Any] | None = None
    support: Support = field(default_factory=Support)

    @property
    def text(self) -> str:
        """All messages as one text, for estimates and for fakes."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply. ``finish`` is "stop", "length" or "refused"; unreported token counts are None."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    completion_tokens: int | None = None


class Provider(Protocol):
    """A server of chat models. Its methods may be called from several threads at once.

    They raise UnsupportedError, EndpointError (worth another try), RefusedError, and ReplyError for
    an unreadable reply.
    """

    def complete(self, call: RawCall) -> RawReply:
        """Return the complete answer."""

    def stream(self, call: RawCall) -> Iterator[str | RawReply]:
        """Yield the answer's text in pieces, and at the end the whole reply."""


READ: Final = 4_000
"""Characters of a refusal that are examined."""
_TOO_LONG: Final = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|context_length_exceeded|n_ctx"
    r"|(prompt|input|request).{0,30}(too long|too large|exceed)|exceeds?.{0,40}context"
    r"|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
_NO_MODEL: Final = re.compile(
    r"model.{0,120}(not found|not exist|unknown|not available|not loaded|no access|not supported)"
    r"|not a valid model|(unknown|invalid|unrecognized|no such).{0,12}model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_FILTERED: Final = re.compile(r"safety|content.?(filter|policy|management)", re.IGNORECASE)
_NO_MONEY: Final = re.compile(r"insufficient.?(quota|funds|credit|balance)|billing", re.IGNORECASE)
# In search order: the more specific word first.
_FEATURES: Final[Mapping[Feature, re.Pattern[str]]] = {
    Feature.SCHEMA: re.compile(r"response_?format|json_?schema|grammar|schema", re.IGNORECASE),
    Feature.JSON: re.compile(r"response_?format|json_?object|json.?mode", re.IGNORECASE),
    Feature.USAGE: re.compile(r"stream_options|include_usage", re.IGNORECASE),
    Feature.STREAM: re.compile(r"\bstream(ing)?\b", re.IGNORECASE),
    Feature.OLD_LIMIT: re.compile(r"max_tokens|max_completion_tokens", re.IGNORECASE),
    Feature.TEMPERATURE: re.compile(r"\btemperature\b", re.IGNORECASE),
    Feature.SEED: re.compile(r"\bseed\b", re.IGNORECASE),
}


def from_status(
    status: int, answer: str, *, host: str, used: Support, retry_after: float = 0.0
) -> ModelError | UnsupportedError:
    """Return the error that a refusal with this HTTP status means.

    ``answer`` is the server's own text, ``used`` the features the refused call used.
    """
    answer = answer[:READ]
    if status in (401, 403):
        return key_refused(host)
    if status == 402 or (status == 429 and _NO_MONEY.search(answer)):
        return _refused(
            f"{host} says that the account has no credit left.",
            "credit_spent",
            "Top up the account with the provider, then resume.",
        )
    if _TOO_LONG.search(answer) or status == 413:
        return context_too_long()
    if status == 429:
        return _wait(f"{host} accepts no more calls at the moment.", "endpoint_busy", retry_after)
    if status in (408, 504):
        return timed_out(host)
    if status >= 500 and status != 501:
        return down(host, f"answered with an error ({status})", retry_after)
    return _from_refusal(status, answer, host, used)


def _from_refusal(
    status: int, answer: str, host: str, used: Support
) -> ModelError | UnsupportedError:
    if status in (400, 404, 422) and _NO_MODEL.search(answer):
        return _refused(
            f"{host} does not have the model.",
            "model_unknown",
            "Choose one of its models on the Models page.",
        )
    if status not in (400, 422):
        return not_a_model(host)
    if _FILTERED.search(answer):
        return ReplyError("The model's provider rejects this text.", code="reply_refused")
    for feature, pattern in _FEATURES.items():
        if used.has(feature) and pattern.search(answer):
            return UnsupportedError(feature)
    return ReplyError(
        f"{host} rejected this request ({status}).",
        code="request_refused",
        next_step="Test the endpoint on the Models page.",
    )


def key_refused(host: str) -> RefusedError:
    return _refused(
        f"{host} rejects the key.", "key_refused", "Enter a valid key on the Models page."
    )


def not_a_model(host: str) -> RefusedError:
    return _refused(
        f"{host} answers, but not like a model endpoint.",
        "endpoint_not_a_model",
        "Check the address on the Models page; it usually ends in /v1.",
    )


def context_too_long() -> ReplyError:
    return ReplyError(
        "The text is longer than the model can read.",
        code="context_too_long",
        next_step="Set the model's real context window, or make smaller chunks.",
    )


def down(host: str, how: str, retry_after: float = 0.0) -> EndpointError:
    return _wait(f"{host} {how}.", "endpoint_down", retry_after)


def timed_out(host: str) -> EndpointError:
    return _wait(f"{host} did not answer in time.", "endpoint_timeout")


def not_reached(host: str, retry_after: float = 0.0) -> EndpointError:
    """Say the same of every failure at a host that the operator does not list."""
    error = _wait(egress.not_reached(host), "endpoint_down", retry_after)
    error.next_step = (
        "It continues automatically when the endpoint answers. Otherwise, check the address on the"
        " Models page; your administrator can allow a private one."
    )
    return error


def _wait(happened: str, code: str, retry_after: float = 0.0) -> EndpointError:
    error = EndpointError(
        happened,
        code=code,
        kept="Everything done so far is kept.",
        next_step="It continues automatically when the endpoint answers again.",
    )
    error.retry_after = retry_after
    return error


def _refused(happened: str, code: str, next_step: str) -> RefusedError:
    kept = "Everything done so far is kept."
    return RefusedError(happened, code=code, kept=kept, next_step=next_step)
