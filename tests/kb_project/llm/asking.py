"""Requests for tests of the chat port."""

from __future__ import annotations

import uuid
from typing import Any

from pydantic import BaseModel

from kb_project.llm.call import Exchange
from kb_project.llm.capabilities import Capabilities, Support
from kb_project.llm.chat import Chat
from kb_project.llm.config import ChatConfig, RoleLimits
from kb_project.llm.fake import FakeProvider, MemoryCallStore, rough_tokens
from kb_project.llm.openai_client import OpenAiProvider
from kb_project.llm.policy import Retry, RetryPolicy
from kb_project.llm.ports import About, ChatRequest, Role, Turn
from kb_project.llm.provider import Provider
from kb_project.llm.slots import LocalSlots
from kb_project.prompt import Prompt
from tests.patience import NEVER
from tests.provider import Provider as Server

DOCUMENT = uuid.UUID(int=1)


class Names(BaseModel):
    names: list[str]


def request(
    text: str = "Ada wrote.",
    *,
    schema: type[BaseModel] | None = Names,
    role: Role = Role.EXTRACT,
    turns: tuple[Turn, ...] = (),
    version: str = "1",
    max_output: int = 0,
) -> ChatRequest[Any]:
    prompt = Prompt("names", version, "You list names.", text)
    about = About("extract", document_id=DOCUMENT)
    return ChatRequest(role, prompt, about, schema, turns, max_output)


def chat_with(
    provider: Provider | None = None,
    *,
    answer: Any = '{"names": ["Ada"]}',
    store: Any = None,
    concurrency: int = 4,
    **config: Any,
) -> Chat:
    """A chat over a provider, or over one that always says the same, with quick retries."""
    line = provider or FakeProvider(answer if callable(answer) else lambda _: answer)
    chosen = ChatConfig("http://fake.invalid", "model-a", concurrency=concurrency, **config)
    exchange = Exchange(line, retry=quick(), capabilities=Capabilities(chosen.support or Support()))
    slots = LocalSlots(concurrency)
    return Chat(chosen, store or MemoryCallStore(), exchange, slots, count=rough_tokens)


def quick() -> Retry:
    return Retry(RetryPolicy(attempts=4, first=0.001, longest=0.002, longest_wish=0.05))


def chat_on(server: Server, *, timeout: float = NEVER, store: Any = None, **config: Any) -> Chat:
    """A chat over real HTTP, with quick retries."""
    limits = {role: RoleLimits(500, timeout) for role in Role}
    chosen = ChatConfig(server.url, server.model, key=server.key, limits=limits, **config)
    exchange = Exchange(OpenAiProvider(chosen.endpoint, chosen.key), retry=quick())
    slots = LocalSlots(chosen.concurrency)
    return Chat(chosen, store or MemoryCallStore(), exchange, slots, count=rough_tokens)
