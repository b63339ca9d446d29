"""The port for one exchange with a model's server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.ports import ChatRequest

SEED: Final = 20_240_501
"""Any fixed number: servers that support it give the same answer twice."""
LONGEST_REPLY: Final = 1_000_000
"""Bytes of an answer that are read."""


class UnsupportedError(Exception):
    """The server refuses a part of the protocol. Never leaves the port: the call drops it, and all
    later ones do so too if ``is_lasting``.
    """

    def __init__(self, feature: Feature, *, is_lasting: bool = True) -> None:
        super().__init__(feature.value)
        self.feature = feature
        self.is_lasting = is_lasting


@dataclass(frozen=True, slots=True)
class Message:
    """A message; ``speaker`` is "system", "user" or "assistant". ``shared`` as of a request."""

    speaker: str
    text: str
    shared: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as sent. ``schema`` is a JSON schema, or None for free text.

    ``request`` is the original request; adapters ignore it, fakes use it. ``timeout`` is in
    seconds. ``parameters`` are sent as they are.
    """

    request: ChatRequest[Any]
    model: str
    messages: tuple[Message, ...]
    max_output: int
    timeout: float
    schema: dict[str, Any] | None = None
    support: Support = field(default_factory=Support)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All messages as one text, for estimates and for fakes."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply. ``finish`` is "stop", "length" or "refused"; unreported token counts are None.

    ``reasoning_tokens`` are the part of ``completion_tokens`` that is not in the text.
    """

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    written_tokens: int = 0
    completion_tokens: int | None = None
    reasoning_tokens: int = 0


class Provider(Protocol):
    """A server of chat models. Its methods may be called from several threads at once.

    They raise UnsupportedError, EndpointError (worth another try), RefusedError, and ReplyError for
    an unreadable reply.
    """

    def complete(self, call: RawCall) -> RawReply:
        """Return the complete answer."""

    def stream(self, call: RawCall) -> Iterator[str | RawReply]:
        """Yield the answer's text in pieces, and at the end the whole reply."""
