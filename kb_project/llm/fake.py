"""An embedder without a model, for tests and for trying the pipeline out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from kb_project.llm.ports import Vectors
from kb_project.text.terms import terms

_FINGERPRINT: Final = "hashed-terms-1"


class FakeEmbedder:
    """Hashes the terms of a text into a vector: texts that share words are alike.

    Deterministic on every machine and in every process. A text without terms gets the first unit
    vector, so that no vector is ever zero.
    """

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension

    @property
    def fingerprint(self) -> str:
        return f"{_FINGERPRINT}/{self.dimension}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self._embed(text) for text in texts])

    def embed_question(self, text: str) -> Vectors:
        return self._embed(text)

    def _embed(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, np.float32)
        for term in terms(text):
            digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            vector[number % self.dimension] += 1.0 if number >> 63 else -1.0
        length = float(np.linalg.norm(vector))
        if not length:
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)
