"""Reranks with the chat model, which orders labelled passages.

Listwise, as in RankGPT (Sun et al. 2023, *Is ChatGPT Good at Search?*), but in two rounds instead
of a sliding window: groups in parallel, then the best of each group against each other. It takes
the time of two calls instead of fourteen, and considers every passage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from pydantic import BaseModel, Field

from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.llm.rerank import Ranking
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import fenced, load

STAGE: Final = "rerank"
GROUP: Final = 30
"""Passages per call: beyond this, models lose track of the labels."""
SMALLEST: Final = 4
LONGEST: Final = 400
"""Tokens of a passage, and the fewest worth reading. A chunk has some 300."""
SHORTEST: Final = 60
OVERHEAD: Final = 700
"""Tokens of the prompt itself, the labels and the schema."""
MAX_OUTPUT: Final = 600
_LABEL: Final = re.compile(r"P?\s*(\d{1,4})", re.IGNORECASE)
_TEMPLATE: Final = Path(__file__).resolve().parent.parent / "prompts" / "rerank.md"


class Order(BaseModel):
    """Labels, most helpful passage first."""

    order: list[str] = Field(max_length=400)


class ListwiseReranker:
    """Implements ``Reranker``. Scores only express the order, from 1 down to 0."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        return self._chat.model_of(Role.JUDGE)

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> Ranking:
        if not texts:
            return Ranking(())
        size, tokens = self._sizes(question)
        cut = [truncate_tokens(text, tokens) for text in texts]
        asked = _Asked(self._chat, question, cut, question_id)
        groups = dealt(len(texts), size)
        ordered = asked.orders(groups)
        if len(groups) > 1:
            ordered = [joined(asked, ordered, size)]
        places = ordered[0]
        scores = [0.0] * len(texts)
        for rank, place in enumerate(places):
            scores[place] = 1.0 - rank / len(texts)
        return Ranking(tuple(scores))

    def _sizes(self, question: str) -> tuple[int, int]:
        """Return the passages per call, and the tokens for each."""
        room = self._chat.input_limit(Role.JUDGE) - OVERHEAD - count_tokens(question)
        size = max(SMALLEST, min(GROUP, room // SHORTEST))
        return size, max(SHORTEST // 2, min(LONGEST, room // size - 8))


class _Asked:
    """One question's passages, ranked in groups."""

    def __init__(
        self, chat: ChatModel, question: str, texts: Sequence[str], question_id: UUID | None
    ) -> None:
        self._chat = chat
        self._question = question
        self._texts = texts
        self._about = About(STAGE, question_id=question_id)

    def orders(self, groups: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return each group in the model's order. A group without a usable answer stays as it is;
        raises ReplyError if no group has one.
        """
        found: list[list[int]] = [list(group) for group in groups]
        failures: list[ReplyError] = []
        for number, reply in self._chat.ask_many([self._request(group) for group in groups]):
            if isinstance(reply, ReplyError):
                failures.append(reply)
            elif reply.value is not None:
                found[number] = ordered(reply.value.order, groups[number])
        if len(failures) == len(groups):
            raise failures[0]
        return found

    def _request(self, group: Sequence[int]) -> ChatRequest[Order]:
        passages = "\n\n".join(
            f"[P{label}] {' '.join(self._texts[place].split())}"
            for label, place in enumerate(group, start=1)
        )
        prompt = load(_TEMPLATE).fill(
            question=fenced(self._question, "question"), passages=fenced(passages, "passages")
        )
        return ChatRequest(Role.JUDGE, prompt, self._about, Order, max_output=MAX_OUTPUT)


def dealt(count: int, size: int) -> list[list[int]]:
    """Deal out places like cards, so that each group gets its share of likely ones.

    >>> dealt(5, 3)
    [[0, 2, 4], [1, 3]]
    """
    groups = -(-count // size)
    return [list(range(first, count, groups)) for first in range(groups)]


def joined(asked: _Asked, groups: Sequence[Sequence[int]], size: int) -> list[int]:
    """Rank the best of each group against each other, then append the rest by place in
    its group.
    """
    share = max(1, size // len(groups))
    finalists = [place for group in groups for place in group[:share]][:size]
    try:
        first = asked.orders([sorted(finalists)])[0]
    except ReplyError:
        first = []
    ranks = {place: (rank, place) for group in groups for rank, place in enumerate(group)}
    return first + sorted(set(ranks) - set(first), key=lambda place: ranks[place])


def ordered(labels: Sequence[str], group: Sequence[int]) -> list[int]:
    """Return the group's places in the labels' order; invented and repeated labels are dropped, and
    places not named come last, in their old order.

    >>> ordered(["P3", "[P1]", "P9", "P3", "none"], [10, 11, 12])
    [12, 10, 11]
    """
    places: Mapping[int, int] = dict(enumerate(group, start=1))
    found = (_LABEL.search(label) for label in labels)
    numbers = (int(match.group(1)) for match in found if match)
    named = dict.fromkeys(places[number] for number in numbers if number in places)
    return [*named, *(place for place in group if place not in named)]
