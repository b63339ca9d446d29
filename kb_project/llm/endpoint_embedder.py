"""Embeds texts through any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from django.utils.functional import cached_property

from kb_project.errors import ModelError, RefusedError
from kb_project.llm import openai_errors as errors
from kb_project.llm.breaker import Breaker
from kb_project.llm.http import EMBEDDINGS, Line
from kb_project.llm.ports import Vectors
from kb_project.llm.provider import UnsupportedError
from kb_project.llm.retry import Retry
from kb_project.llm.structured import storable
from kb_project.llm.support import Support

BATCH: Final = 64
"""Texts per request: servers differ in how many they accept; all accept this many."""
LONGEST: Final = 24_000
"""Characters of a text that are sent; models of 8,192 tokens read no more."""
SHORTEST: Final = 400
"""Characters that every model accepts: a text that is too long is halved down to this length."""
LONGEST_FINGERPRINT: Final = 80
_LARGEST: Final = 64_000_000
_MOST: Final = 16_000
"""Longer than any vector that Postgres can index."""


class EndpointEmbedder:
    """Implements ``Embedder``. A ``dimension`` of 0 is found out by one call.

    Raises EndpointError and RefusedError like every model call; a server whose vectors change
    length is refused, since old and new ones cannot be compared.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        key: str,
        model: str,
        dimension: int = 0,
        timeout: float = 60.0,
        retry: Retry | None = None,
    ) -> None:
        self._line = Line(endpoint, key)
        self._place = urlsplit(endpoint).netloc.rpartition("@")[2] or endpoint
        self._model = model
        self._given = dimension
        self._timeout = timeout
        self._retry = retry or Retry()
        self._breaker = Breaker(self._line.host)
        self._longest = LONGEST

    @property
    def fingerprint(self) -> str:
        whole = f"{self._place}+{self._model}/{self.dimension}"
        if len(whole) <= LONGEST_FINGERPRINT:
            return whole
        return f"{whole[: LONGEST_FINGERPRINT - 33]}-{sha256(whole.encode()).hexdigest()[:32]}"

    @cached_property
    def dimension(self) -> int:
        return self._given or int(self._asked(["dimension"]).shape[1])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        parts = [self._checked(batch) for batch in _batches(texts)]
        return np.concatenate(parts)

    def embed_question(self, text: str) -> Vectors:
        return np.asarray(self._checked([text])[0], np.float32)

    def _checked(self, texts: Sequence[str]) -> Vectors:
        vectors = self._asked(texts)
        if vectors.shape[1] != self.dimension:
            raise RefusedError(
                f"{self._line.host} now returns vectors of {vectors.shape[1]} numbers instead of"
                f" {self.dimension}.",
                code="dimension_changed",
                kept="Everything embedded so far is kept.",
                next_step="Choose the model again on the Models page to rebuild its vectors.",
            )
        return vectors

    def _asked(self, texts: Sequence[str]) -> Vectors:
        self._breaker.check()
        try:
            found = self._retry.run(lambda: self._sent(texts), patience=2 * self._timeout)
        except errors.EndpointError:
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return _vectors(found, len(texts), self._line.host)

    # Servers refuse an empty text: hence the full stop.
    def _sent(self, texts: Sequence[str]) -> dict[str, Any]:
        body = {
            "model": self._model,
            "input": [storable(text)[: self._longest].strip() or "." for text in texts],
            "encoding_format": "float",
        }
        try:
            return self._line.ask(EMBEDDINGS, body, self._timeout, used=_NOTHING, largest=_LARGEST)
        except UnsupportedError as error:
            raise errors.not_a_model(self._line.host) from error
        except errors.ReplyError as error:
            if error.code != "context_too_long" or self._longest <= SHORTEST:
                raise _refused(error) from error
            self._longest //= 2
        return self._sent(texts)


_NOTHING: Final = Support.from_dict(dict.fromkeys(Support().as_dict(), False))


def _refused(error: ModelError) -> RefusedError:
    """Turn a failed reply into a refusal: work cannot go on without its vectors."""
    return RefusedError(error.happened, code=error.code, next_step=error.next_step)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))


def _vectors(found: Mapping[str, Any], wanted: int, host: str) -> Vectors:
    """Return unit vectors of shape ``(wanted, dimension)``, in the order of the request."""
    try:
        data = sorted(found["data"], key=lambda item: int(item.get("index", 0)))
        vectors = np.array([item["embedding"] for item in data], np.float32)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise errors.not_a_model(host) from None
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else None
    if lengths is None or len(vectors) != wanted or not 0 < vectors.shape[1] <= _MOST:
        raise errors.not_a_model(host)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise errors.not_a_model(host)
    return np.asarray(vectors / lengths, np.float32)
