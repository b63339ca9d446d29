"""What the project asks of models, in its own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness.

    Every vector has length one, so a dot product is a cosine.
    """

    @property
    def fingerprint(self) -> str:
        """Model, dimension and roles. Vectors of two fingerprints are never compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape ``(len(texts), dimension)``, in the order of ``texts``."""

    def embed_question(self, text: str) -> Vectors:
        """Shape ``(dimension,)``."""
