"""Vectors made beforehand: those of the demo's documents, so that its first start takes seconds."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from zipfile import BadZipFile

import numpy as np

from kb_project.llm.ports import Embedder, Vectors

logger = logging.getLogger(__name__)

DIGEST_SIZE: Final = 16


class KnownVectors:
    """An embedder that looks texts up in a file before it asks another one for the rest.

    The file names the fingerprint of the model that made it; one of another model, like one that
    is missing or damaged, counts as empty.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._known: dict[bytes, Vectors] | None = None
        self._loading = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape ``(len(texts), dimension)``, in the order of ``texts``."""
        known = self._load()
        digests = [_digest(text) for text in texts]
        missing = [place for place, digest in enumerate(digests) if digest not in known]
        made = self._embedder.embed_passages([texts[place] for place in missing])
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for place, digest in enumerate(digests):
            if digest in known:
                vectors[place] = known[digest]
        vectors[missing] = made
        return vectors

    def embed_question(self, text: str) -> Vectors:
        return self._embedder.embed_question(text)

    def _load(self) -> dict[bytes, Vectors]:
        with self._loading:
            if self._known is None:
                self._known = _read(self._path, self.fingerprint)
            return self._known


class RecordingEmbedder:
    """An embedder that remembers every passage's vector, to be saved for ``KnownVectors``."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[bytes, Vectors] = {}

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embedder.embed_passages(texts)
        self._made.update(zip(map(_digest, texts), vectors, strict=True))
        return vectors

    def embed_question(self, text: str) -> Vectors:
        return self._embedder.embed_question(text)

    def save(self, path: Path) -> int:
        """Write what was embedded and return how many vectors there are."""
        digests = sorted(self._made)
        np.savez_compressed(
            path,
            fingerprint=np.array(self.fingerprint),
            digests=np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_SIZE),
            vectors=np.array([self._made[digest] for digest in digests], np.float16),
        )
        return len(digests)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST_SIZE).digest()


def _read(path: Path, fingerprint: str) -> dict[bytes, Vectors]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            if str(file["fingerprint"]) != fingerprint:
                return {}
            vectors = file["vectors"].astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            return dict(zip(map(bytes, file["digests"]), vectors, strict=True))
    except FileNotFoundError:
        return {}
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        logger.warning("vectors made beforehand cannot be read path=%s", path)
        return {}
