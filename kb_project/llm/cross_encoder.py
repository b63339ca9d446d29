"""The built-in cross-encoder: reads a question and a statement together, and scores whether the
statement answers it (Nogueira and Cho, 2019).

It is the built-in embedding model with its last eight layers trained for this by
``benchmarks/train_cross_encoder.py``. ``cross_encoder.npz`` has what training changed: differences
to the matrices in blocks of four bits, all other weights of those layers whole, and a head of two
layers over three states: the first token's, the mean of the question's and of the statement's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from kb_project.llm.bert import Floats, Graph, session
from kb_project.llm.e5 import E5, batches, means
from kb_project.llm.ports import Told

_FILE: Final = Path(__file__).with_suffix(".npz")
_QUESTION_TOKENS: Final = 60
_TITLE_TOKENS: Final = 10
_HEADING_TOKENS: Final = 14
_BEFORE_TOKENS: Final = 26
_SAID_TOKENS: Final = 64
"""As in training."""
_AT_ONCE: Final = 200
"""Tokens of a batch."""


class E5CrossEncoder:
    """The model in this process; see ``E5`` for threads and forks. Raises OSError or ValueError if
    the file is missing or another one."""

    def __init__(self, model: E5, threads: int = 0, path: Path = _FILE) -> None:
        self._model = model
        with np.load(path) as file:
            changes = {name: file[name] for name in file.files}
        self._parts, self._out = changes.pop("parts"), changes.pop("out.w")
        self._head = changes.pop("head.w").astype(np.float32).T
        self._shift, self._last = changes.pop("head.b"), changes.pop("out.b")
        self._session = session(Graph(model.weights, model.sizes, changes).model(), threads)

    def scores(self, question: str, statements: Sequence[Told]) -> Floats:
        """How well each statement answers the question: above 0, rather yes."""
        texts = self.texts(question, statements)
        found = np.zeros(len(texts), np.float32)
        by_length = sorted(enumerate(texts), key=lambda one: one[1].length)
        for batch in batches(by_length, lambda one: one.length, _AT_ONCE):
            found[[number for number, _ in batch]] = self._scores([text for _, text in batch])
        return found

    def texts(self, question: str, statements: Sequence[Told]) -> list[Text]:
        """The tokens read."""
        asked = self._tokens(f"query: {question}")[:_QUESTION_TOKENS]
        return [self._text(asked, one) for one in statements]

    def _text(self, asked: list[int], told: Told) -> Text:
        begin, end = self._model.tokenizer.begin, self._model.tokenizer.end
        around = self._tokens(told.title)[:_TITLE_TOKENS]
        if told.heading and told.heading != told.title:
            around += self._tokens(f": {told.heading}")[:_HEADING_TOKENS]
        if told.before and told.before != told.heading:
            around += self._tokens(f": {told.before}")[-_BEFORE_TOKENS:]
        said = self._tokens(told.said)[:_SAID_TOKENS]
        return Text([begin, *asked, end], [*around, end], [*said, end])

    def _tokens(self, text: str) -> list[int]:
        return self._model.tokenizer.tokens(text)

    def _scores(self, texts: Sequence[Text]) -> Floats:
        given = self._model.side_by_side([[*chain(*one.parts)] for one in texts])
        lengths = [len(part) for one in texts for part in one.parts]
        given["tokens"] += np.repeat(np.tile(self._parts, (len(texts), 1)), lengths, axis=0)
        [[states]] = self._session.run(None, given)
        parts = means(states, lengths).reshape(len(texts), 3, -1)
        firsts = np.cumsum([0, *(one.length for one in texts[:-1])])
        pooled = np.concatenate([states[firsts], parts[:, 0], parts[:, 2]], axis=1)
        scores: Floats = np.tanh(pooled @ self._head + self._shift) @ self._out + self._last
        return scores


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens of a question, of what surrounds a statement, and of the statement."""

    asked: list[int]
    around: list[int]
    said: list[int]

    @property
    def parts(self) -> tuple[list[int], list[int], list[int]]:
        return self.asked, self.around, self.said

    @property
    def length(self) -> int:
        return sum(map(len, self.parts))
