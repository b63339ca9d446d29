"""One exchange with a model's server, in as few words as a vendor's adapter needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kb_project.llm.ports import ChatRequest
from kb_project.llm.support import Feature, Support

SEED: Final = 20_240_501
"""Any fixed number: servers that heed it answer alike twice."""
LONGEST_REPLY: Final = 1_000_000
"""Bytes of an answer that are read."""


class UnsupportedError(Exception):
    """The server refuses a part of the protocol. Never leaves the port: the call steps down."""

    def __init__(self, feature: Feature) -> None:
        super().__init__(feature.value)
        self.feature = feature


@dataclass(frozen=True, slots=True)
class Message:
    """``speaker`` is "system", "user" or "assistant"."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class RawCall:
    """What goes over the line. ``schema`` is a JSON schema, or None for free text.

    ``request`` is what was asked in the project's words; adapters leave it alone, fakes look at it.
    ``timeout`` in seconds.
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
        """Everything that is said, for estimates and for fakes."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class RawReply:
    """What came back. ``finish`` is "stop", "length" or "refused"; None for unreported tokens."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    completion_tokens: int | None = None


class Provider(Protocol):
    """A server of chat models. Its methods may be called from several threads at once.

    They raise UnsupportedError, EndpointError (worth another try), RefusedError, and ReplyError
    where a reply cannot even be read.
    """

    def complete(self, call: RawCall) -> RawReply:
        """The whole answer."""

    def stream(self, call: RawCall) -> Iterator[str | RawReply]:
        """The answer's text in pieces, and at the end the whole reply."""
