"""How much there is to read in a file that nobody has opened, by its name and size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ingestion.documents.cost_model import NOTHING, Conditions, Extent, Range
from ingestion.parsers.formats import format_of

TOKENS_PER_BYTE: Final[Mapping[str, Range]] = {
    # English has 4 to 5 bytes per token; Chinese has 3 bytes per character, about one token each.
    "text": Range(0.2, 0.4),
    # Tags, scripts and navigation are dropped.
    "html": Range(0.03, 0.3),
    # Zip archives: text shrinks to a third, pictures keep their size.
    "zip": Range(0.02, 1.0),
    # Text is deflated; fonts and pictures weigh more than words.
    "pdf": Range(0.002, 0.25),
    # Cells become "column: value" sentences.
    "table": Range(0.3, 1.5),
}
FILL: Final = Range(0.85, 1.0)
"""Share of the size limit that a passage fills: it ends at a sentence or section end."""


def extent_of_file(name: str, size: int, conditions: Conditions) -> Extent:
    """Estimate what a file of this name and size in bytes holds."""
    tokens = TOKENS_PER_BYTE[bulk_of(name)] * max(0, size)
    passages = Range(
        passages_of(tokens.low, conditions, FILL.high),
        passages_of(tokens.high, conditions, FILL.low),
    )
    return Extent(tokens, passages if size else NOTHING)


def bulk_of(name: str) -> str:
    """What takes most of the bytes of a file with this name: a key of ``TOKENS_PER_BYTE``."""
    promised = format_of(name)
    return promised.bulk if promised else "text"


def passages_of(tokens: float, conditions: Conditions, fill: float) -> int:
    """
    >>> passages_of(1600, Conditions(1, 800, 0, 16_000, 8), 1.0)
    2
    """
    step = conditions.chunk_tokens * fill - conditions.chunk_overlap
    rest = tokens - conditions.chunk_tokens * fill
    return 1 + max(0, math.ceil(rest / max(1.0, step)))
