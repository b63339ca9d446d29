"""Writers of a tree's summaries: a chat model or, without one, a choice of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from ingestion.stages.tree import extractive
from ingestion.stages.tree.items import EXTRACTIVE, Draft, Item, Summary
from ingestion.stages.tree.plan import TEXT_LIMIT
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatReply, ChatRequest, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt, fenced, load

PROMPT: Final = Path(__file__).parents[2] / "prompts" / "tree.md"
# Longest summary kept, however much the model writes within its role's limit.
MOST_TOKENS: Final = 300
# Tokens of the prompt itself and the marks around passages.
OVERHEAD: Final = 400
LEAST_LIMIT: Final = 200

Tick = Callable[[], None]
_FENCE: Final = re.compile(r"^```\w*\s*|\s*```$")


class Writer(Protocol):
    """Writes the summary of each draft from texts of at most ``limit`` tokens in total.

    ``name`` is the signature; ``key`` changes whenever the same draft would give another text.
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def limit(self) -> int: ...

    def write(self, drafts: Sequence[Draft], tick: Tick) -> list[Summary]:
        """One summary per draft, in order. ``tick`` is called every so often."""


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """Chooses sentences."""

    name: str = EXTRACTIVE
    key: str = "extractive-2"
    limit: int = TEXT_LIMIT

    def write(self, drafts: Sequence[Draft], tick: Tick) -> list[Summary]:
        summaries = []
        for number, draft in enumerate(drafts):
            summaries.append(extractive.summarise(draft.items))
            if number % 50 == 49:
                tick()
        return summaries


class ModelWriter:
    """Asks the chat model about all clusters in parallel; sentences replace unusable answers."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._template = load(PROMPT)
        self.name = chat.model_of(Role.SUMMARISE)[:120]
        self.key = f"{self.name}/{self._template.version}"
        room = chat.input_limit(Role.SUMMARISE) - OVERHEAD
        self.limit = max(LEAST_LIMIT, min(TEXT_LIMIT, room))

    def write(self, drafts: Sequence[Draft], tick: Tick) -> list[Summary]:
        requests = [self._request(draft) for draft in drafts]
        summaries: dict[int, Summary] = {}
        for index, reply in self._chat.ask_many(requests):
            summaries[index] = self._summary(drafts[index], reply)
            tick()
        return [summaries[index] for index in range(len(drafts))]

    def _request(self, draft: Draft) -> ChatRequest:  # type: ignore[type-arg]  # no schema
        return ChatRequest(
            role=Role.SUMMARISE,
            prompt=self._prompt(draft.items),
            about=About("tree", document_id=draft.document_id),
        )

    def _prompt(self, items: Sequence[Item]) -> Prompt:
        return self._template.fill(
            passages="\n\n".join(fenced(text) for text in fitting(items, self.limit))
        )

    def _summary(self, draft: Draft, reply: ChatReply | ReplyError) -> Summary:  # type: ignore[type-arg]  # no schema
        text = "" if isinstance(reply, ReplyError) else cleaned(reply.text)
        if not text:
            return replace(extractive.summarise(draft.items), failed=True)
        return Summary(text, count_tokens(text), self.name)


def writer_for(chat: ChatModel | None) -> Writer:
    return ExtractiveWriter() if chat is None else ModelWriter(chat)


def fitting(items: Sequence[Item], limit: int) -> list[str]:
    """The items' texts; if they are too long in total, each is cut to its share."""
    if sum(item.tokens for item in items) <= limit:
        return [item.text for item in items]
    share = max(1, limit // len(items))
    return [
        item.text if item.tokens <= share else truncate_tokens(item.text, share) for item in items
    ]


def cleaned(said: str) -> str:
    """One bounded paragraph of the model's answer; empty if it has no words.

    >>> cleaned("```text\\nThe keepers\\x00 of the light.\\n```"), cleaned(" ** \\n")
    ('The keepers of the light.', '')
    """
    plain = " ".join(_FENCE.sub("", said.replace("\x00", "").strip()).split())
    if not any(character.isalnum() for character in plain):
        return ""
    return truncate_tokens(plain, MOST_TOKENS)
