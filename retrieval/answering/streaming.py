"""Stream the model's answer: filter its markers, report it and keep it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Final

import regex

from kb_project.llm.ports import ChatModel, ChatRequest
from retrieval.answering.citations.markers import MarkerFilter
from retrieval.answering.citations.numbering import Numbering
from retrieval.search.reporting import EventKind, Reporter

NO_ANSWER: Final = "NO_ANSWER"
"""What the model writes if the documents do not answer."""
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")


class Refusal:
    """Removes ``NO_ANSWER`` from streamed text.

    Text after it is dropped too if nothing came before it: it is not an answer.
    """

    def __init__(self) -> None:
        self.is_heard = False
        self._has_said = False
        self._lead = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        self._held += piece
        shown = ""
        while NO_ANSWER in self._held:
            before, _, self._held = self._held.partition(NO_ANSWER)
            shown += self._let(before)
            self.is_heard = True
        keep = next(
            size
            for size in range(len(NO_ANSWER) - 1, -1, -1)
            if self._held.endswith(NO_ANSWER[:size])
        )
        cut = len(self._held) - keep
        shown += self._let(self._held[:cut])
        self._held = self._held[cut:]
        return shown

    def close(self) -> str:
        held, self._held = self._held, ""
        return self._let(held)

    def _let(self, text: str) -> str:
        """Hold back everything before the first word: it may be the mark-up of a refusal."""
        if self._has_said:
            return text
        self._lead += text
        if self.is_heard or not _WORD.search(text):
            return ""
        self._has_said = True
        return self._lead


def stream(
    chat: ChatModel, request: ChatRequest[Any], numbering: Numbering, reporter: Reporter
) -> tuple[MarkerFilter, bool]:
    """Return the whole text, and whether the model says that the documents do not answer.

    Raises ReplyError if the answer is cut off, PauseError if it must wait, StoppedError.
    """
    sieve, refusal = MarkerFilter(numbering), Refusal()
    pieces = chat.stream(request)
    try:
        for shown in _shown(pieces, sieve, refusal):
            reporter.check()
            if shown:
                reporter.emit(EventKind.TEXT, {"text": shown})
    finally:
        # Closing the generator stops the call; only the text so far is paid for.
        if isinstance(pieces, Generator):
            pieces.close()
    is_refused = refusal.is_heard and not sieve.placed
    return sieve, is_refused or not _WORD.search(sieve.text)


def _shown(pieces: Iterator[str], sieve: MarkerFilter, refusal: Refusal) -> Iterator[str]:
    for piece in pieces:
        yield sieve.feed(refusal.feed(piece))
    yield sieve.feed(refusal.close()) + sieve.close()
