"""How alike two texts are by the workspace's embedder, every text embedded once per answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from kb_project.llm.ports import Embedder, Vectors

MOST: Final = 400
"""Texts embedded for one answer."""
LONGEST: Final = 1_000
"""Characters."""
EVERYDAY: Final = (
    "Paris is the capital of France.",
    "Bread is baked from flour, water and yeast.",
    "The football match ended in a draw yesterday.",
    "The moon goes around the earth.",
)
"""What has to do with nothing: embedders differ in how alike they find any two texts."""


class Likeness:
    """Call outside transactions; a text that was not prepared is like nothing."""

    def __init__(self, embedder: Embedder, texts: Iterable[str]) -> None:
        wanted = list(dict.fromkeys([*EVERYDAY, *(text[:LONGEST] for text in texts)]))[:MOST]
        vectors = embedder.embed_passages(wanted)
        self._vectors: dict[str, Vectors] = dict(zip(wanted, vectors, strict=True))

    def __call__(self, one: str, other: str) -> float:
        """By how much more the two are alike than the first is to what has nothing to do with it,
        from 0 to 1."""
        left, right = self._vectors.get(one[:LONGEST]), self._vectors.get(other[:LONGEST])
        if left is None or right is None:
            return 0.0
        everyday = np.mean([float(left @ self._vectors[text]) for text in EVERYDAY])
        usual = min(float(everyday), 0.99)
        return max(0.0, (float(left @ right) - usual) / (1 - usual))
