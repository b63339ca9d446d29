"""Rerankers: a cross-encoder behind HTTP, and the chat model, which orders labelled passages."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn
from uuid import UUID

from pydantic import BaseModel, Field

from kb_project.errors import ModelError, ReplyError
from kb_project.llm.http import RERANK, Connection
from kb_project.llm.policy import LengthLimit, Retry, RetryPolicy, breaker_of, guarded, recorded
from kb_project.llm.ports import (
    About,
    CallRecord,
    CallStore,
    ChatModel,
    ChatRequest,
    Ranking,
    Role,
)
from kb_project.llm.structured import storable
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import fenced, load

STAGE: Final = "rerank"
VERSION: Final = "1"
TIMEOUT: Final = 20.0
"""Seconds for all attempts together: a user waits, and the passages already have another order."""
POLICY: Final = RetryPolicy(attempts=3, first=0.3, longest=2.0, longest_wish=5.0)
LONGEST: Final = 4_000
"""Characters of a text that are sent: cross-encoders read 512 to a few thousand tokens."""
SHORTEST: Final = 300
LEAST_SCORED: Final = 0.5
"""Share of the texts that need a score for the ranking to be meaningful."""
_LARGEST: Final = 4_000_000
GROUP: Final = 30
"""Passages per call: beyond this, models lose track of the labels."""
SMALLEST: Final = 4
LONGEST_PASSAGE: Final = 400
"""Tokens of a passage, and the fewest worth reading. A chunk has some 300."""
SHORTEST_PASSAGE: Final = 60
OVERHEAD: Final = 700
"""Tokens of the prompt itself, the labels and the schema."""
MAX_OUTPUT: Final = 600
_LABEL: Final = re.compile(r"P?\s*(\d{1,4})", re.IGNORECASE)
TEI_BATCH: Final = 32
_TEMPLATE: Final = Path(__file__).resolve().parent.parent / "prompts" / "rerank.md"


class EndpointReranker:
    """A cross-encoder behind HTTP, in the format that Cohere and Jina share.

    ``POST …/rerank`` of ``{model, query, documents, top_n}`` answers ``{results: [{index,
    relevance_score}]}``; vLLM, llama.cpp, Infinity and LocalAI support it too. Some servers call
    results ``data`` and relevance_score ``score``: both are understood. So is
    text-embeddings-inference (TEI), which takes ``{query, texts}``, 32 texts at a time.

    Calls are in the ledger; known rankings come from the cache.

    Raises EndpointError, RefusedError, BudgetError, and ReplyError for unusable scores.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        key: str,
        model: str,
        store: CallStore,
        timeout: float = TIMEOUT,
        retry: Retry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, key)
        self._endpoint = endpoint
        self._model = model
        self._store = store
        self._timeout = timeout
        self._retry = retry or Retry(POLICY)
        self._breaker = breaker_of(STAGE, endpoint, self._connection.host)
        self._limit = LengthLimit(LONGEST, SHORTEST)
        self._is_tei = False

    @property
    def name(self) -> str:
        return self._model

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> Ranking:
        if not texts:
            return Ranking(())
        record = self._record(question, texts, question_id)
        kept = self._store.find([record.key]).get(record.key)
        known = json.loads(kept.text) if kept else []
        if kept and len(known) == len(texts):
            self._store.note_cached([record], [kept])
            return Ranking(tuple(known), is_cached=True)

        def send() -> tuple[tuple[float | None, ...], str, int]:
            found = guarded(
                self._breaker,
                self._retry,
                lambda: self._sent(question, texts),
                patience=self._timeout,
            )
            scores = scores_in(found, len(texts))
            return scores, json.dumps(scores), _tokens(found) or record.prompt_tokens_estimate

        return Ranking(recorded(self._store, record, send))

    def _sent(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        query = storable(question)
        # Servers refuse an empty text: hence the full stop.
        cut = [storable(text)[: self._limit.now].strip() or "." for text in texts]
        try:
            if self._is_tei:
                return self._sent_to_tei(query, cut)
            body = {"model": self._model, "query": query, "documents": cut, "top_n": len(texts)}
            return self._asked(body)
        except ReplyError as error:
            if error.code == "request_refused" and not self._is_tei:
                found = self._sent_to_tei(query, cut)
                self._is_tei = True
                return found
            if error.code != "context_too_long" or not self._limit.refused(texts):
                raise
        return self._sent(question, texts)

    def _sent_to_tei(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        rows: list[Any] = []
        for start in range(0, len(texts), TEI_BATCH):
            some = list(texts[start : start + TEI_BATCH])
            found = self._asked({"query": query, "texts": some}).get("data")
            for row in found if isinstance(found, list) else []:
                place = row.get("index") if isinstance(row, dict) else None
                if isinstance(place, int) and 0 <= place < len(some):
                    rows.append({**row, "index": start + place})
        return {"results": rows}

    def _asked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._connection.ask_plainly(RERANK, body, self._timeout, largest=_LARGEST)

    def _record(self, question: str, texts: Sequence[str], question_id: UUID | None) -> CallRecord:
        shaping = [STAGE, VERSION, self._endpoint, self._model, question, list(texts)]
        characters = sum(len(text[:LONGEST]) + len(question) for text in texts)
        return CallRecord(
            key=hashlib.sha256(json.dumps(shaping).encode()).hexdigest(),
            role=Role.JUDGE,
            stage=STAGE,
            prompt=STAGE,
            prompt_version=VERSION,
            model=self._model,
            question_id=question_id,
            prompt_tokens_estimate=characters // 4 + len(texts),
            max_output=0,
        )


def scores_in(found: Mapping[str, Any], wanted: int) -> tuple[float | None, ...]:
    """Return the scores by text. The answer is not trusted: unrequested indexes and second scores
    for a text are dropped, and NaN is no score. Raises ReplyError if fewer than half of the texts
    have one.

    >>> scores_in({"results": [{"index": 1, "relevance_score": 0.9}, {"index": 7}]}, 2)
    (None, 0.9)
    """
    rows = found.get("results", found.get("data"))
    scores: list[float | None] = [None] * wanted
    for row in rows if isinstance(rows, list) else []:
        place, score = _scored(row)
        if place is not None and 0 <= place < wanted and scores[place] is None:
            scores[place] = score
    if sum(score is not None for score in scores) < LEAST_SCORED * wanted:
        raise ReplyError(
            "The reranker's answer has no usable scores.",
            code="reply_invalid",
            next_step="Test it on the Models page.",
        )
    return tuple(scores)


def _scored(row: object) -> tuple[int | None, float | None]:
    if not isinstance(row, Mapping):
        return None, None
    place, score = row.get("index"), row.get("relevance_score", row.get("score"))
    if not isinstance(place, int) or isinstance(place, bool):
        return None, None
    if not isinstance(score, int | float) or isinstance(score, bool):
        return place, None
    try:
        number = float(score)
    except OverflowError:
        return place, None
    return place, number if math.isfinite(number) else None


def _tokens(found: Mapping[str, Any]) -> int:
    """Return the tokens the server reports as read, or 0."""
    usage = found.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return max(0, total) if isinstance(total, int) else 0


class BrokenReranker:
    """A reranker that cannot be set up: it raises its error only when used."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> NoReturn:
        raise self._error


class Order(BaseModel):
    """Labels, most helpful passage first."""

    order: list[str] = Field(max_length=400)


class ListwiseReranker:
    """The chat model orders labelled passages; scores only express that order, from 1 down to 0.

    Listwise, as in RankGPT (Sun et al. 2023, *Is ChatGPT Good at Search?*), but in two rounds
    instead of a sliding window: groups in parallel, then the best of each group against each other.
    It takes the time of two calls instead of fourteen, and considers every passage.
    """

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
        asked = _Question(self._chat, question, cut, question_id)
        groups = asked.orders(dealt(len(texts), size))
        scores = [0.0] * len(texts)
        ranked = joined(asked, groups, size) if len(groups) > 1 else groups[0]
        for rank, place in enumerate(ranked):
            scores[place] = 1.0 - rank / len(texts)
        return Ranking(tuple(scores))

    def _sizes(self, question: str) -> tuple[int, int]:
        """Return the passages per call, and the tokens for each."""
        room = self._chat.input_limit(Role.JUDGE) - OVERHEAD - count_tokens(question)
        size = max(SMALLEST, min(GROUP, room // SHORTEST_PASSAGE))
        return size, max(SHORTEST_PASSAGE // 2, min(LONGEST_PASSAGE, room // size - 8))


class _Question:
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


def joined(asked: _Question, groups: Sequence[Sequence[int]], size: int) -> list[int]:
    """Rank the best of each group against each other, then append the rest by their places."""
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
