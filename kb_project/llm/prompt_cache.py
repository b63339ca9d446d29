"""Prompt caches of providers: marks for what to keep, and what an answer says came from there.

A provider that has read the beginning of a prompt shortly before charges less for it. Most do so by
themselves; Anthropic's models keep what a ``cache_control`` block ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kb_project.llm.provider import Message

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
