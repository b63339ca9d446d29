"""Follow-up questions, the most helpful first, each answered from its own search.

GraphRAG follows questions in random order; here those with the highest scores go first, some side
by side, and the questions they raise join the queue. The same replies lead to the same calls.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project import prompt
from kb_project.llm.ports import ChatModel, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt
from retrieval.search.drift import local_search
from retrieval.search.drift.replies import (
    LONGEST_QUESTION,
    MOST_FOLLOW_UPS,
    FollowUp,
    StepReply,
)
from retrieval.search.found import Found, Point
from retrieval.search.global_search import batches, calls as global_search_calls
from retrieval.search.global_search.replies import clean, labels_in, marks_in
from retrieval.search.hits import Hit, hydrate
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.reporting import EventKind
from workspaces import access

DEEPEST: Final = 3
"""As in GraphRAG: levels of questions, counting those of the first answer as the first."""
ABREAST: Final = 4
"""Questions followed side by side: people wait for each round."""
PASSAGES: Final = 12
SHORTEST: Final = 40
"""Tokens of a passage below which it is not worth reading."""
ROLE: Final = Role.ANSWER


@dataclass(frozen=True, slots=True, order=True)
class Waiting:
    """A queued question, ordered best first; ``number`` is the order in which questions came up."""

    cost: float
    depth: int
    number: int
    question: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A question that was followed; ``point`` is None if it led to nothing."""

    question: str
    score: float
    found: Found
    point: Point | None


class Following:
    """Follows questions until the calls or the questions run out. Call outside transactions."""

    def __init__(self, query: Query, chat: ChatModel) -> None:
        self._query = query
        self._chat = chat
        self._waiting: list[Waiting] = []
        self._known = {FollowUp(question=query.question).key}
        self.steps: list[Step] = []
        self.counts: Counter[str] = Counter()

    def follow(self, first: Iterable[FollowUp], calls: int) -> None:
        """Follow questions with at most ``calls`` calls. Raises StoppedError and PauseError."""
        self._add(first, depth=1)
        if not self._waiting:
            # No follow-up questions: read at least the question's own passages.
            heapq.heappush(self._waiting, Waiting(0.0, 1, 0, self._query.question))
        while self._waiting and calls > 0:
            count = min(ABREAST, calls, len(self._waiting))
            self._round([heapq.heappop(self._waiting) for _ in range(count)])
            calls -= count

    def _add(self, follow_ups: Iterable[FollowUp], depth: int) -> None:
        for one in list(follow_ups)[:MOST_FOLLOW_UPS] if depth <= DEEPEST else ():
            if one.key in self._known:
                self.counts["follow_ups_repeated"] += 1
            elif one.key and one.score:
                self._known.add(one.key)
                question = one.question[:LONGEST_QUESTION]
                waiting = Waiting(-one.score, depth, len(self._known), question)
                heapq.heappush(self._waiting, waiting)

    def _round(self, chosen: Sequence[Waiting]) -> None:
        searches = [self._search(one.question) for one in chosen]
        requests = []
        held = []
        for one, found in zip(chosen, searches, strict=True):
            passages = self._passages(one.question, found)
            held.append({label: hit.chunk_id for label, (hit, _) in passages.items()})
            lines = [f"{label} {line}" for label, (_, line) in passages.items()]
            asked = _filled(self._query.question, one.question, "\n".join(lines))
            requests.append(batches.request(self._query, ROLE, asked, StepReply))
        replies = global_search_calls.values(self._query, self._chat, requests)
        for one, found, labels, reply in zip(chosen, searches, held, replies, strict=True):
            self.counts["follow_ups"] += 1
            self.counts["follow_ups_lost"] += reply is None
            point = self._point(labels, reply) if reply else None
            self.steps.append(Step(one.question, -one.cost, found, point))
            self._add(reply.follow_ups if reply else (), one.depth + 1)

    def _search(self, question: str) -> Found:
        self._query.reporter.emit(
            EventKind.STEP, {"name": "search", "sentence": f"Following up: {question}"}
        )
        return local_search.follow(self._query, question)

    def _passages(self, question: str, found: Found) -> dict[str, tuple[Hit, str]]:
        """Return labelled passages with the lines they are shown in, as many as fit a call."""
        with access.in_workspace(self._query.workspace_id):
            hits = hydrate(self._query.workspace_id, found.chunks[:PASSAGES])
        empty = _filled(self._query.question, question, "")
        left = batches.room(self._chat, ROLE, empty, StepReply)
        passages: dict[str, tuple[Hit, str]] = {}
        for number, hit in enumerate(hits, start=1):
            line = truncate_tokens(" ".join(f"{hit.title}: {hit.text}".split()), left)
            left -= count_tokens(line) + batches.LABEL_TOKENS
            passages[f"P{number}"] = hit, line
            if left < SHORTEST:
                break
        return passages

    def _point(self, labels: Mapping[str, UUID], reply: StepReply) -> Point | None:
        text = clean(reply.answer)
        if not text or not reply.score:
            return None
        named = labels_in([*reply.records, *marks_in(reply.answer)])
        chunks = tuple(labels[label] for label in named if label in labels)
        self.counts["labels_foreign"] += len(named) - len(chunks)
        self.counts["points_ungrounded"] += not chunks
        return Point(text, reply.score, chunks=chunks) if chunks else None


def cited(steps: Iterable[Step]) -> list[ScoredChunk]:
    """Return the passages that answers rest on, each with its best answer's score."""
    best: dict[UUID, ScoredChunk] = {}
    answered = [(step, step.point) for step in steps if step.point]
    for step, point in sorted(answered, key=lambda pair: -pair[1].score):
        why = {hit.chunk_id: hit.why for hit in step.found.chunks}
        for chunk in point.chunks:
            told = (f"Answers “{step.question}”", *why.get(chunk, ()))
            best.setdefault(chunk, ScoredChunk(chunk, point.score / 100, told))
    return list(best.values())


def _filled(question: str, follow_up: str, passages: str) -> Prompt:
    return batches.template("drift_follow").fill(
        question=prompt.fenced(question, "question"),
        follow_up=prompt.fenced(follow_up, "follow_up"),
        passages=prompt.fenced(passages, "passages"),
    )
