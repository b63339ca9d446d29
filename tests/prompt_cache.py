"""A provider's cache of the beginnings of prompts, as OpenAI documents its own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from kb_project.llm import openai_client
from kb_project.llm.tokens import count_tokens, token_starts


class PromptCache:
    """The beginnings of prompts that the server has read, in steps of 128 tokens from 1,024 on."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._kept: set[str] = set()
        self._seconds = seconds

    def read(self, prompt: str, answer: str = "") -> dict[str, Any]:
        """Return the usage of a call, which takes ``seconds``: until it ends, nothing is kept."""
        beginnings = list(self._beginnings(prompt))
        known = [end for end, digest in beginnings if digest in self._kept]
        time.sleep(self._seconds)
        self._kept |= {digest for _, digest in beginnings}
        return {
            "prompt_tokens": count_tokens(prompt),
            "prompt_tokens_details": {
                "cached_tokens": openai_client.from_cache(max(known, default=0))
            },
            "completion_tokens": count_tokens(answer),
        }

    @staticmethod
    def _beginnings(text: str) -> Iterator[tuple[int, str]]:
        starts = token_starts(text)
        for end in range(openai_client.LEAST, len(starts), openai_client.STEP):
            digest = hashlib.sha256(text[: starts[end]].encode("utf-8", "replace"))
            yield end, digest.hexdigest()


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, in one piece or in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
