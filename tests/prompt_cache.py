"""A provider's cache of the beginnings of prompts, as OpenAI documents its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from kb_project.llm import prompt_cache
from kb_project.llm.tokens import count_tokens, token_starts


class PromptCache:
    """The beginnings of prompts that the server has read, in steps of 128 tokens from 1,024 on."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def read(self, text: str) -> dict[str, Any]:
        """What the usage says of a prompt."""
        known = [end for end, digest in self._beginnings(text) if digest in self._kept]
        cached = prompt_cache.from_cache(max(known, default=0))
        return {
            "prompt_tokens": count_tokens(text),
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def keep(self, text: str) -> None:
        """Note a prompt that was read to its end."""
        self._kept |= {digest for _, digest in self._beginnings(text)}

    @staticmethod
    def _beginnings(text: str) -> Iterator[tuple[int, str]]:
        starts = token_starts(text)
        for end in range(prompt_cache.LEAST, len(starts), prompt_cache.STEP):
            digest = hashlib.sha256(text[: starts[end]].encode("utf-8", "replace"))
            yield end, digest.hexdigest()
