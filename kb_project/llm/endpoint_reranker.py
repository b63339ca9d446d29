"""Scores from a cross-encoder behind HTTP, in the format that Cohere and Jina share.

``POST …/rerank`` of ``{model, query, documents, top_n}`` answers ``{results: [{index,
relevance_score}]}``; vLLM, llama.cpp, Infinity and LocalAI support it too. Some servers call
results ``data`` and relevance_score ``score``: both are understood.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from kb_project.errors import EndpointError, ModelError, ReplyError
from kb_project.llm import openai_errors as errors
from kb_project.llm.breaker import Breaker
from kb_project.llm.http import RERANK, Line
from kb_project.llm.ports import Role
from kb_project.llm.provider import UnsupportedError
from kb_project.llm.rerank import Ranking
from kb_project.llm.retry import Retry, RetryPolicy
from kb_project.llm.store import CallOutcome, CallRecord, CallStore, StoredReply
from kb_project.llm.structured import storable
from kb_project.llm.support import Support

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
_NOTHING: Final = Support.from_dict(dict.fromkeys(Support().as_dict(), False))


class EndpointReranker:
    """Implements ``Reranker``. Calls are in the ledger; known rankings come from the cache.

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
        self._line = Line(endpoint, key)
        self._endpoint = endpoint
        self._model = model
        self._store = store
        self._timeout = timeout
        self._retry = retry or Retry(POLICY)
        self._breaker = breaker_of(endpoint, self._line.host)
        self._longest = LONGEST

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
        if kept is not None and (known := _known(kept, len(texts))):
            self._store.note_cached([record], [kept])
            return known
        return Ranking(self._counted(record, question, texts))

    def _counted(
        self, record: CallRecord, question: str, texts: Sequence[str]
    ) -> tuple[float | None, ...]:
        """Make one call and record it in the ledger, however it ends."""
        ids = self._store.open_calls([record])
        started = time.monotonic()
        outcome = CallOutcome(None, "stopped", 0, 0, 0, 0.0)
        try:
            found = self._asked(question, texts)
            scores = scores_in(found, len(texts))
            tokens = _tokens(found) or record.prompt_tokens_estimate
            outcome = CallOutcome(json.dumps(scores), "", tokens, 0, 0, time.monotonic() - started)
        except ModelError as error:
            outcome = CallOutcome(None, error.code, 0, 0, 0, time.monotonic() - started)
            raise
        finally:
            self._store.settle(ids, [outcome])
        return scores

    def _asked(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        self._breaker.check()
        try:
            found = self._retry.run(lambda: self._sent(question, texts), patience=self._timeout)
        except EndpointError:
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return found

    def _sent(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        body = {
            "model": self._model,
            "query": storable(question),
            # Servers refuse an empty text: hence the full stop.
            "documents": [storable(text)[: self._longest].strip() or "." for text in texts],
            "top_n": len(texts),
        }
        try:
            return self._line.ask(RERANK, body, self._timeout, used=_NOTHING, largest=_LARGEST)
        except UnsupportedError as error:
            raise errors.not_a_model(self._line.host) from error
        except ReplyError as error:
            if error.code != "context_too_long" or self._longest <= SHORTEST:
                raise
            self._longest //= 2
        return self._sent(question, texts)

    def _record(self, question: str, texts: Sequence[str], question_id: UUID | None) -> CallRecord:
        said = [STAGE, VERSION, self._endpoint, self._model, question, list(texts)]
        characters = sum(len(text[:LONGEST]) + len(question) for text in texts)
        return CallRecord(
            key=hashlib.sha256(json.dumps(said).encode()).hexdigest(),
            role=Role.JUDGE,
            stage=STAGE,
            prompt=STAGE,
            prompt_version=VERSION,
            model=self._model,
            document_id=None,
            chunk_id=None,
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


def _known(kept: StoredReply, wanted: int) -> Ranking | None:
    """Return a cached ranking; None if it does not match the number of texts."""
    found = json.loads(kept.text)
    return Ranking(tuple(found), is_cached=True) if len(found) == wanted else None


def _tokens(found: Mapping[str, Any]) -> int:
    """Return the tokens the server reports as read, or 0."""
    usage = found.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return max(0, total) if isinstance(total, int) else 0


@lru_cache(maxsize=64)
def breaker_of(endpoint: str, host: str) -> Breaker:
    """One per endpoint and process, so that an outage does not delay every question."""
    return Breaker(host)
