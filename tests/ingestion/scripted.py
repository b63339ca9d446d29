"""A chat model that says what a test tells it to, for tests of what asks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from kb_project.errors import ReplyError
from kb_project.llm.ports import ChatReply, ChatRequest, Role, SchemaT

Script = Callable[[ChatRequest[Any]], Mapping[str, Any] | str | Exception]
NOTHING: dict[str, Any] = {"entities": []}


class ScriptedChat:
    """Answers every request by ``script``; an exception that it returns is what comes of the call.

    Whole replies are kept in ``kept``, which another one may share, as two workers share a cache.
    ``asked`` are the requests that were really made.
    """

    def __init__(
        self, script: Script, *, room: int = 100_000, kept: dict[str, str] | None = None
    ) -> None:
        self.script = script
        self.room = room
        self.kept = {} if kept is None else kept
        self.asked: list[ChatRequest[Any]] = []
        self.batches: list[int] = []

    def model_of(self, role: Role) -> str:
        return f"scripted-{role.value}"

    def input_limit(self, role: Role) -> int:
        return self.room

    def ask(self, request: ChatRequest[SchemaT]) -> ChatReply[SchemaT]:
        key = repr((request.prompt, request.turns))
        is_cached = key in self.kept
        if not is_cached:
            self.asked.append(request)
            said = self.script(request)
            if isinstance(said, Exception):
                raise said
            self.kept[key] = said if isinstance(said, str) else json.dumps(said)
        text = self.kept[key]
        return ChatReply(text, _value(text, request.schema), 10, 5, is_cached)

    def ask_many(
        self, requests: Sequence[ChatRequest[SchemaT]]
    ) -> Iterator[tuple[int, ChatReply[SchemaT] | ReplyError]]:
        """The last first: nobody may count on the order."""
        self.batches.append(len(requests))
        for index in reversed(range(len(requests))):
            try:
                yield index, self.ask(requests[index])
            except ReplyError as error:
                yield index, error

    def stream(self, request: ChatRequest[SchemaT]) -> Iterator[str]:
        yield self.ask(request).text


def _value(text: str, schema: type[SchemaT] | None) -> SchemaT | None:
    if schema is None:
        return None
    assert issubclass(schema, BaseModel)
    return schema.model_validate_json(text)


def named(*names: str, quote: str = "", **others: Any) -> dict[str, Any]:
    """An answer that names somebody, by their own name as the quote unless another is given."""
    entities = [
        {"name": name, "type": "person", "description": f"{name} is named.", "quote": quote or name}
        for name in names
    ]
    return {"entities": entities, **others}


def passage_of(request: ChatRequest[Any]) -> str:
    """The passage that a request asks about."""
    text = request.prompt.user
    return text[text.index("<passage>") + 10 : text.rindex("\n</passage>")]
