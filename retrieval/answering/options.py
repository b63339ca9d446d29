"""How an answer is wanted: its form, the asker's instructions, and the topics to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from kb_project.errors import InputError
from retrieval.search.query import TopicChoice
from workspaces.language_models.choice import checked_instructions

OPTIONS: Final = ("response", "instructions", "level", "selection")


class ResponseType(StrEnum):
    """The form of an answer. ``REPORT`` is written section by section."""

    DEFAULT = "default"
    SHORT = "short"
    PARAGRAPHS = "paragraphs"
    LIST = "list"
    REPORT = "report"


LABELS: Final[dict[ResponseType, tuple[str, str]]] = {
    ResponseType.DEFAULT: (
        "Default answer",
        "One sentence for a fact, more for an open question.",
    ),
    ResponseType.SHORT: ("Short", "One or two sentences."),
    ResponseType.PARAGRAPHS: ("Paragraphs", "Up to a page of prose."),
    ResponseType.LIST: ("List", "One entry a line, the most important first."),
    ResponseType.REPORT: (
        "Report with headings",
        "Several pages, section by section. Takes more calls and time.",
    ),
}


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """``instructions`` are the asker's own, on one line. They shape an answer, and never the rules
    for citing."""

    response: ResponseType = ResponseType.DEFAULT
    instructions: str = ""
    topics: TopicChoice = field(default_factory=TopicChoice)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Raises InputError for an unknown response type, level or selection, or instructions that
        are too long."""
        response = given.get("response") or ResponseType.DEFAULT
        if response not in list(ResponseType):
            raise InputError(
                f"There is no response type '{str(response)[:20]}'.",
                code="unknown_response",
                next_step=f"Choose one of {', '.join(ResponseType)}.",
            )
        instructions = checked_instructions(str(given.get("instructions") or ""))
        return cls(ResponseType(response), instructions, TopicChoice.from_json(given))

    def as_json(self) -> dict[str, Any]:
        """Return what was chosen, leaving out what was not."""
        found: dict[str, Any] = {}
        if self.response is not ResponseType.DEFAULT:
            found["response"] = self.response.value
        if self.instructions:
            found["instructions"] = self.instructions
        return found | self.topics.as_json()

    @property
    def needs_model(self) -> bool:
        """Whether something was asked for that only a chat model can do."""
        is_free = self.response in (ResponseType.DEFAULT, ResponseType.SHORT)
        return bool(self.instructions) or not is_free
