"""One streamed call: pieces go to the reader, the whole reply into the cache."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from kb_project.errors import EndpointError, ModelError, ReplyError
from kb_project.llm.call import Asked, Exchange, Verdict, counted, failed, judge
from kb_project.llm.provider import RawReply
from kb_project.llm.store import CallStore
from kb_project.llm.structured import storable

_OPENS = "<think>"
_CLOSES = "</think>"


@dataclass(slots=True)
class Streaming:
    """``said`` is what has arrived so far, as the server sent it."""

    store: CallStore
    exchange: Exchange
    call: Asked
    said: str = ""
    whole: RawReply | None = None
    verdict: Verdict | None = None
    started: float = field(default_factory=time.monotonic)

    def pieces(self) -> Iterator[str]:
        """Yield the pieces, without a reasoning model's initial thoughts.

        Raises ReplyError if the answer is cut off. If the reader stops, the part received is still
        paid for.
        """
        [call_id] = self.store.open_calls([self.call.record])
        try:
            yield from without_thinking(self._read())
            self.verdict = self._judged()
        except ModelError as error:
            self.verdict = failed(error, self._seconds(), self._part())
            raise
        finally:
            verdict = self._ended()
            self.store.settle([call_id], [verdict.outcome])
        if isinstance(verdict.result, ModelError):
            raise verdict.result

    def _read(self) -> Iterator[str]:
        try:
            for piece in self.exchange.stream(self.call):
                if isinstance(piece, RawReply):
                    self.whole = piece
                else:
                    self.said += piece
                    yield storable(piece)
        except EndpointError as error:
            if not self.said:
                raise
            raise _cut() from error

    def _judged(self) -> Verdict:
        if self.whole is None:
            raise _cut()
        return judge(self.call, counted(self.call, self.whole), self._seconds())

    def _ended(self) -> Verdict:
        """Return the verdict; without one, the reader has stopped."""
        stopped = ReplyError("The answer was stopped.", code="stopped")
        return self.verdict or failed(stopped, self._seconds(), self._part())

    def _part(self) -> RawReply | None:
        """Return the part received, for counting; None if there is none."""
        return counted(self.call, self.whole or RawReply(self.said)) if self.said else None

    def _seconds(self) -> float:
        return time.monotonic() - self.started


def without_thinking(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces after a leading ``<think>…</think>``; all of them if there is none."""
    held = ""
    for piece in pieces:
        held += piece
        start = held.lstrip()
        if start.startswith(_OPENS) and _CLOSES not in start:
            continue
        if len(start) < len(_OPENS) and _OPENS.startswith(start):
            continue
        said = held.rpartition(_CLOSES)[2].lstrip() if start.startswith(_OPENS) else held
        yield from filter(None, chain([said], pieces))
        return
    if held and not held.lstrip().startswith(_OPENS):
        yield held


def _cut() -> ReplyError:
    return ReplyError(
        "The model's answer was cut off.", code="reply_truncated", next_step="Ask again."
    )
