"""A scripted model that reads, rates and follows, and remembers what it was given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kb_project.llm.config import ChatConfig
from kb_project.llm.fake import Answer, FakeChat
from kb_project.llm.ports import ChatRequest

Request = ChatRequest[Any]
Script = Callable[[Request], Answer]


def lines_of(request: Request) -> dict[str, str]:
    """The reports, records or passages of a prompt by their labels."""
    return dict(re.findall(r"^([TPEFC]\d+) (.*)$", request.prompt.user, re.MULTILINE))


def scripted(window: int = 16_000, **scripts: Script) -> FakeChat:
    """``scripts`` by the name of the prompt they answer."""
    config = ChatConfig(
        "http://fake.invalid/v1", "fake-model", concurrency=1, context_window=window
    )
    return FakeChat(lambda request: scripts[request.prompt.name](request), config=config)


def asked(chat: FakeChat, name: str) -> list[Request]:
    return [request for request in chat.requests if request.prompt.name == name]


def point(description: str, score: object, *records: str) -> dict[str, object]:
    return {"description": description, "score": score, "records": list(records)}


def one_point_each(request: Request) -> Answer:
    """Every report is worth a point of its own."""
    return {"points": [point(text[:60], 50, label) for label, text in lines_of(request).items()]}


def rate(is_relevant: Callable[[str], bool]) -> Script:
    def rating(request: Request) -> Answer:
        return {
            "ratings": [
                {"record": label, "rating": 4 if is_relevant(text) else 0}
                for label, text in lines_of(request).items()
            ]
        }

    return rating
