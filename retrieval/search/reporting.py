"""Report progress while a question is answered, and check whether to stop."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from kb_project.errors import KBError


class EventKind(StrEnum):
    """What happens while an answer is made, in this order; each with its payload.

    - ``state``: ``{"state"}``, an ``AnswerState``.
    - ``step``: ``{"name", "sentence"}``; name is plan, search, rank, read, write, check or suggest.
    - ``plan``: ``{"question", "is_rewritten", "mode", "label", "reason", "keywords"}``.
    - ``passages``: ``{"passages": [{"number", "chunk", "document", "title", "start", "end",
      "headings", "page", "text", "score", "why"}, …]}``; the numbers are those of citations.
    - ``text``: ``{"text"}``, the next piece of the answer; its markers ``[n]`` are checked.
    - ``answer``: ``{"sentences", "citations", "outcome", "message", "supported"}``; replaces all
      text before it.
    - ``follow_ups``: ``{"questions": […]}``.
    - ``done``: ``{}``; ``failed``: ``{"code", "happened", "kept", "next_step"}``;
      ``stopped``: ``{}``. One of these three is the last.
    """

    STATE = "state"
    STEP = "step"
    PLAN = "plan"
    PASSAGES = "passages"
    TEXT = "text"
    ANSWER = "answer"
    FOLLOW_UPS = "follow_ups"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class StoppedError(KBError):
    """Someone asked to stop; what was found so far is kept."""

    default_code = "stopped"


class Reporter(Protocol):
    """Receives events. Call outside transactions."""

    def emit(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        """Report an event. Raises StoppedError if someone asked to stop."""

    def check(self) -> None:
        """Raise StoppedError if someone asked to stop. Cheap: call it between model calls."""


class _Silent:
    def emit(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        """Ignore the event."""

    def check(self) -> None:
        """Never stop."""


SILENT: Final[Reporter] = _Silent()
