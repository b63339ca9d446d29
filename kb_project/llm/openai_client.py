"""Chat through any OpenAI-compatible server.

A provider that has read the beginning of a prompt shortly before charges less for it. Most do so by
themselves; Anthropic's models keep what a ``cache_control`` block ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kb_project.errors import ReplyError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.http import CHAT, Connection
from kb_project.llm.provider import LONGEST_REPLY, SEED, Message, RawCall, RawReply

# --- prompt caches --------------------------------------------------------------------------------
LEAST: Final = 1_024
STEP: Final = 128
"""Tokens: OpenAI caches beginnings from ``LEAST`` on, in whole steps. Others are similar."""
_MOST_TOKENS: Final = 100_000_000
"""A server that reports more than this has miscounted."""
# The names of the same number: OpenAI, xAI, Groq, OpenRouter and Gemini's compatible address;
# Anthropic; DeepSeek; Gemini itself; Moonshot.
_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_READ: Final = (
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "cached_content_token_count",
    "cachedContentTokenCount",
    "cached_tokens",
)
# Anthropic; OpenRouter.
_WRITTEN: Final = ("cache_creation_input_tokens", "cache_write_tokens")


def from_cache(prefix: float) -> int:
    """Return how many tokens of a prefix, read before, a provider takes from its cache.

    >>> from_cache(1_000), from_cache(1_300)
    (0, 1280)
    """
    return int(prefix) // STEP * STEP if prefix >= LEAST else 0


def takes_marks(endpoint: str, model: str) -> bool:
    """Whether ``cache_control`` is understood there.

    >>> takes_marks("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5")
    True
    >>> takes_marks("https://openrouter.ai/api/v1", "openai/gpt-4o-mini")
    False
    """
    host = urlsplit(endpoint).hostname or ""
    if _is_in(host, "openrouter.ai"):
        return model.lstrip("~").startswith("anthropic/")
    return _is_in(host, "anthropic.com")


def _is_in(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def marked(message: Message) -> str | list[dict[str, Any]]:
    """Return a message's content, with a mark at the end of every shared beginning."""
    if not message.shared:
        return message.text
    places = (0, *message.shared, len(message.text))
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": message.text[start:end]}
        for start, end in pairwise(places)
        if start < end
    ]
    for part, _ in zip(parts, message.shared, strict=False):
        part["cache_control"] = {"type": "ephemeral"}
    return parts


class PromptCounts(NamedTuple):
    """Tokens of a prompt, and how many of them the provider read from its cache and wrote to it."""

    prompt: int | None
    read: int
    written: int


def prompt_counts(usage: Mapping[str, Any]) -> PromptCounts:
    """
    >>> prompt_counts({"prompt_tokens": 2_000, "prompt_tokens_details": {"cached_tokens": 1_920}})
    PromptCounts(prompt=2000, read=1920, written=0)
    >>> prompt_counts({"prompt_tokens": 80, "cache_creation_input_tokens": 1_920})
    PromptCounts(prompt=2000, read=0, written=1920)
    """
    prompt = number(usage.get("prompt_tokens"))
    if prompt is None:
        prompt = number(usage.get("input_tokens"))
    read, written = _most(usage, _READ), _most(usage, _WRITTEN)
    if prompt is not None and read + written > prompt:
        # Anthropic counts only what its cache has nothing to do with.
        prompt += read + written
    read = min(read, prompt or 0)
    return PromptCounts(prompt, read, min(written, (prompt or 0) - read))


def number(found: object) -> int | None:
    """Return a count of tokens; None for anything else."""
    is_count = isinstance(found, int) and not isinstance(found, bool)
    return int(str(found)) if is_count and 0 <= int(str(found)) <= _MOST_TOKENS else None


def _most(usage: Mapping[str, Any], names: Sequence[str]) -> int:
    """Return the largest count under these names, for usage that says one number twice."""
    places = [usage, *(usage.get(name) for name in _DETAILS)]
    found = [place for place in places if isinstance(place, Mapping)]
    return max(number(place.get(name)) or 0 for place in found for name in names)


# --- the client -----------------------------------------------------------------------------------
_FINISHES: Final = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
}


class OpenAiProvider:
    """Implements ``kb_project.llm.provider.Provider``."""

    def __init__(self, endpoint: str, key: str, *, is_operators: bool = False) -> None:
        self._connection = Connection(endpoint, key, is_operators=is_operators)
        self._endpoint = endpoint

    def complete(self, call: RawCall) -> RawReply:
        call = self._as_understood(call)
        found = self._connection.ask(CHAT, body_of(call), call.timeout, used=used_by(call))
        reply = self._reply(found)
        _bounded(reply.text)
        return reply

    def stream(self, call: RawCall) -> Iterator[str | RawReply]:
        """Stream the answer. If it ends without a finish reason it was cut: no whole reply is
        yielded.
        """
        call = self._as_understood(call)
        used = used_by(call, streams=True)
        whole, text = RawReply("", finish=""), ""
        body = body_of(call) | {"stream": True}
        if call.support.usage:
            body["stream_options"] = {"include_usage": True}
        with self._connection.open(CHAT, body, call.timeout, used=used) as chunks:
            for event in self._events(chunks):
                part = part_of(event)
                whole = merged(whole, part)
                if part.text:
                    text = _bounded(text + part.text)
                    yield part.text
        if whole.finish:
            yield replace(whole, text=text)

    def _as_understood(self, call: RawCall) -> RawCall:
        if takes_marks(self._endpoint, call.model):
            return call
        return replace(call, support=call.support.without(Feature.CACHE_CONTROL))

    def _reply(self, found: Mapping[str, Any]) -> RawReply:
        choices = found.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise self._connection.not_a_model()
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise self._connection.not_a_model()
        return counted(_reply_in(message, choices[0].get("finish_reason")), found.get("usage"))

    def _events(self, chunks: Iterator[bytes]) -> Iterator[dict[str, Any]]:
        """Yield the objects of a stream of server-sent events; an answer in one piece is one
        object.
        """
        any_event = False
        for line in lines_of(chunks):
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                any_event = True
                yield self._connection.decoded(line[5:])
            elif not any_event and line[:1] in (b"{", b"<"):
                raise self._connection.not_a_model()


def body_of(call: RawCall) -> dict[str, Any]:
    """Build the request with the features the server supports."""
    support = call.support
    body: dict[str, Any] = {
        "model": call.model,
        "messages": [
            {"role": one.speaker, "content": marked(one) if support.cache_control else one.text}
            for one in call.messages
        ],
        "max_tokens" if support.old_limit else "max_completion_tokens": call.max_output,
    }
    if support.temperature:
        body["temperature"] = 0
    if support.seed:
        body["seed"] = SEED
    if call.schema is not None and support.schema:
        form = {"name": "answer", "strict": is_strict(call.schema), "schema": call.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    elif call.schema is not None and support.json:
        body["response_format"] = {"type": "json_object"}
    if call.parameters:  # the client takes no names it does not know, but sends these along
        body["extra_body"] = dict(call.parameters)
    return body


def used_by(call: RawCall, *, streams: bool = False) -> Support:
    """Return the features that this call uses."""
    support, has_form = call.support, call.schema is not None
    return replace(
        support,
        schema=support.schema and has_form,
        json=support.json and has_form and not support.schema,
        stream=support.stream and streams,
        usage=support.usage and streams,
        cache_control=support.cache_control and any(one.shared for one in call.messages),
    )


def is_strict(schema: Any) -> bool:
    """Whether every object is closed: strict modes refuse objects with free keys."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return not is_open and all(map(is_strict, schema.values()))


def part_of(event: Mapping[str, Any]) -> RawReply:
    """Parse one event of a stream; an event without news gives an empty part."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    first = first if isinstance(first, dict) else {}
    delta = first.get("delta")
    finish = first.get("finish_reason")
    reply = _reply_in(delta if isinstance(delta, dict) else {}, finish)
    part = counted(reply, event.get("usage"))
    return part if finish or part.finish == "refused" else replace(part, finish="")


def merged(whole: RawReply, part: RawReply) -> RawReply:
    """Merge what is known so far, without the text."""
    finish = part.finish or whole.finish
    if whole.finish == "refused":  # the last event says "stop" all the same
        finish = "refused"
    if part.prompt_tokens is None:
        return replace(whole, finish=finish)
    return replace(part, text="", finish=finish)


def counted(reply: RawReply, usage: object) -> RawReply:
    """Add the token counts, if the server reported any."""
    if not isinstance(usage, Mapping):
        return reply
    counts = prompt_counts(usage)
    return replace(
        reply,
        prompt_tokens=counts.prompt,
        cached_tokens=counts.read,
        written_tokens=counts.written,
        completion_tokens=number(usage.get("completion_tokens", usage.get("output_tokens"))),
        reasoning_tokens=_reasoning(usage.get("completion_tokens_details")),
    )


def _reasoning(details: object) -> int:
    return (number(details.get("reasoning_tokens")) if isinstance(details, Mapping) else 0) or 0


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream; raises ReplyError if it has too many bytes."""
    left, total = b"", 0
    for chunk in chunks:
        total += len(chunk)
        if total > 100 * LONGEST_REPLY or len(left) > LONGEST_REPLY:
            raise ReplyError("The model's answer is too long.", code="reply_invalid")
        *whole, left = (left + chunk).split(b"\n")
        yield from (line.strip() for line in whole)
    yield left.strip()


def _reply_in(message: Mapping[str, Any], finish: object) -> RawReply:
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    text = content if isinstance(content, str) else ""
    if not text and message.get("refusal"):
        return RawReply("", finish="refused")
    return RawReply(text, finish=_FINISHES.get(str(finish), "stop"))


def _bounded(text: str) -> str:
    if len(text) > LONGEST_REPLY:
        raise ReplyError("The model's answer is too long.", code="reply_invalid")
    return text
