"""Follow-up questions, the most helpful first, each answered from its own search.

GraphRAG follows questions in random order; here those with the highest scores go first, some side
by side, and the questions they raise join the queue. The same replies lead to the same calls.

What a model reads to answer one is the context of a local search in its own proportions: reports,
records and passages, each labelled. What rests on a record rests on the passages behind it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field

from kb_project import prompt
from kb_project.llm.ports import ChatModel, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt
from kb_project.text.words import words
from retrieval.search import local
from retrieval.search.global_search import model_calls
from retrieval.search.global_search.model_calls import (
    Score,
    Text,
    Texts,
    cited_labels,
    clean,
    list_of,
    number_of,
    score_of,
)
from retrieval.search.query import MOST_CALLS, Query, QuestionVector, ScoredChunk
from retrieval.search.results import ByRows, Hit, ModeResult, Point, Record, RecordKind, hydrate
from workspaces import access

UNSAID: Final = 50.0
"""Score of a follow-up question that was given none."""
MOST_FOLLOW_UPS: Final = 10
LONGEST_QUESTION: Final = 300
DEEPEST: Final = 3
"""As in GraphRAG: levels of questions, counting those of the first answer as the first."""
ABREAST: Final = 4
"""Questions followed side by side: people wait for each round."""
ROLE: Final = Role.ANSWER


def follow_ups_of(value: Any) -> list[Any]:
    """Return the questions as objects, converting those given as text."""
    given = [{"question": one} if isinstance(one, str) else one for one in list_of(value)]
    return [one for one in given if isinstance(one, dict | BaseModel)]


_Worth = BeforeValidator(lambda value: UNSAID if number_of(value) is None else score_of(value))


class FollowUp(BaseModel):
    """A follow-up question; ``score`` says how much its answer would help."""

    question: Text = ""
    score: Annotated[float, _Worth] = UNSAID

    @property
    def key(self) -> str:
        """A key equal for questions with the same words; '' without any words."""
        return " ".join(word.folded for word in words(self.question[:LONGEST_QUESTION]))


class StepReply(BaseModel):
    """An intermediate answer."""

    answer: Text = ""
    score: Score = 0.0
    records: Texts = Field(default_factory=list)
    follow_ups: Annotated[list[FollowUp], BeforeValidator(follow_ups_of)] = Field(
        default_factory=list
    )


_LOCAL_SEARCH: Final[Callable[[Query], ModeResult]] = ByRows(local.search)
_LOCAL_PASSAGES: Final[Callable[[Query], ModeResult]] = ByRows(local.passages)


def local_search(query: Query) -> ModeResult:
    """Search without a model: the calls a question may make are counted elsewhere."""
    return _LOCAL_SEARCH(replace(query, chat=None))


def local_follow_up(query: Query, question: str) -> ModeResult:
    """Run a local search for another question, in the same scope. Call outside transactions.

    Its notes are dropped: they concern an index that the first search already covered.
    """
    vector = QuestionVector(query.vector.embedder, question)
    vector.make()
    return local_search(replace(query, question=question, vector=vector, notes=[]))


def local_toward(query: Query, name: str) -> list[ScoredChunk]:
    """Return the passages of a local search that also starts at a name. It reuses the question's
    vector: making another would take longer than everything else."""
    further = replace(query, chat=None, question=f"{query.question} {name}", notes=[])
    return _LOCAL_PASSAGES(further).chunks


@dataclass(frozen=True, slots=True, order=True)
class QueuedQuestion:
    """A queued question, ordered best first; ``number`` is the order in which questions came up."""

    cost: float
    depth: int
    number: int
    question: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A question that was followed; ``point`` is None if it led to nothing, ``records`` are those
    it rests on."""

    question: str
    score: float
    found: ModeResult
    point: Point | None
    records: tuple[Record, ...] = ()


class Following:
    """Follows questions until the calls or the questions run out. Call outside transactions."""

    def __init__(self, query: Query, chat: ChatModel) -> None:
        self._query = query
        self._chat = chat
        self._waiting: list[QueuedQuestion] = []
        self._known = {FollowUp(question=query.question).key}
        self._rested_on: set[UUID] = set()
        self.steps: list[Step] = []
        self.counts: Counter[str] = Counter()

    def follow(
        self, first: Iterable[Sequence[FollowUp]], calls: int, planned: int = MOST_CALLS
    ) -> None:
        """Follow questions with at most ``calls`` calls: after ``planned`` ones only while they
        lead to passages that no answer rested on before. ``first`` are the questions of each first
        answer. Raises StoppedError and PauseError."""
        for follow_ups in first:
            self._add(follow_ups, depth=1)
        if not self._waiting:
            # No follow-up questions: read at least the question's own passages.
            heapq.heappush(self._waiting, QueuedQuestion(0.0, 1, 0, self._query.question))
        is_new = True
        while self._waiting and calls > 0 and (planned > 0 or is_new):
            count = min(ABREAST, calls, len(self._waiting))
            if planned > 0:
                count = min(count, planned)
            is_new = self._round([heapq.heappop(self._waiting) for _ in range(count)])
            calls, planned = calls - count, planned - count

    def _add(self, follow_ups: Iterable[FollowUp], depth: int) -> None:
        for one in list(follow_ups)[:MOST_FOLLOW_UPS] if depth <= DEEPEST else ():
            if one.key in self._known:
                self.counts["follow_ups_repeated"] += 1
            elif one.key and one.score:
                self._known.add(one.key)
                question = one.question[:LONGEST_QUESTION]
                waiting = QueuedQuestion(-one.score, depth, len(self._known), question)
                heapq.heappush(self._waiting, waiting)

    def _round(self, chosen: Sequence[QueuedQuestion]) -> bool:
        """Follow some questions; return whether they led to something that was not known."""
        searches = [self._search(one.question) for one in chosen]
        contexts, prompts = [], []
        for one, found in zip(chosen, searches, strict=True):
            empty = _filled(self._query.question, one.question, FollowUpContext())
            room = model_calls.room(self._chat, ROLE, empty, StepReply)
            contexts.append(build(self._query, found, room))
            prompts.append(_filled(self._query.question, one.question, contexts[-1]))
        replies = model_calls.ask_all(self._query, self._chat, ROLE, StepReply, prompts)
        before = set(self._rested_on)
        for one, found, read, reply in zip(chosen, searches, contexts, replies, strict=True):
            self.counts["follow_ups"] += 1
            self.counts["follow_ups_lost"] += reply is None
            self.steps.append(self._step(one, found, read, reply))
            self._add(reply.follow_ups if reply else (), one.depth + 1)
        return self._rested_on != before

    def _search(self, question: str) -> ModeResult:
        self._query.step("search", f"Following up: {question}")
        return local_follow_up(self._query, question)

    def _step(
        self,
        asked: QueuedQuestion,
        found: ModeResult,
        read: FollowUpContext,
        reply: StepReply | None,
    ) -> Step:
        text = clean(reply.answer, ALL_LETTERS) if reply else ""
        if reply is None or not text or not reply.score:
            return Step(asked.question, -asked.cost, found, None)
        named = cited_labels(reply.answer, reply.records, ALL_LETTERS)
        chunks, records = read.resting_on(named)
        known = read.chunks.keys() | read.known.keys()
        self.counts["labels_foreign"] += sum(label not in known for label in named)
        self.counts["points_ungrounded"] += not chunks
        if not chunks:
            return Step(asked.question, -asked.cost, found, None)
        self._rested_on.update(chunks)
        ids = tuple(record.id for record in records)
        point = Point(text, reply.score, records=ids, chunks=chunks)
        return Step(asked.question, -asked.cost, found, point, records)


def cited(steps: Iterable[Step]) -> list[ScoredChunk]:
    """Return the passages that answers rest on, each with its best answer's score."""
    best: dict[UUID, ScoredChunk] = {}
    answered = [(step, step.point) for step in steps if step.point]
    for step, point in sorted(answered, key=lambda pair: -pair[1].score):
        why = {hit.chunk_id: hit.why for hit in step.found.chunks}
        for chunk in point.chunks:
            reasons = (f"Answers “{step.question}”", *why.get(chunk, ()))
            best.setdefault(chunk, ScoredChunk(chunk, point.score / 100, reasons))
    return list(best.values())


def _filled(question: str, follow_up: str, read: FollowUpContext) -> Prompt:
    return model_calls.template("drift_follow").fill(
        question=prompt.fenced(question, "question"),
        follow_up=prompt.fenced(follow_up, "follow_up"),
        reports=_section(read.reports, "reports"),
        records=_section(read.records, "records"),
        passages=prompt.fenced("\n".join(read.passages), "passages"),
    )


def _section(lines: Sequence[str], label: str) -> str:
    return prompt.fenced("\n".join(lines), label) if lines else ""


# --- what a model reads to answer -----------------------------------------------------------------
PASSAGES: Final = 12
SHORTEST: Final = 40
"""Tokens of an item below which it is not worth reading."""
MOST_SOURCES: Final = 2
"""Passages behind a record that an answer resting on it is shown to rest on."""
LETTERS: Final = {
    RecordKind.REPORT: "T",
    RecordKind.ENTITY: "E",
    RecordKind.RELATIONSHIP: "F",
    RecordKind.CLAIM: "C",
}
PASSAGE: Final = "P"
ALL_LETTERS: Final = PASSAGE + "".join(LETTERS.values())


@dataclass(slots=True)
class FollowUpContext:
    """The lines of each part of the prompt, and what their labels stand for."""

    reports: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    chunks: dict[str, UUID] = field(default_factory=dict)
    known: dict[str, Record] = field(default_factory=dict)

    def resting_on(self, labels: Iterable[str]) -> tuple[tuple[UUID, ...], tuple[Record, ...]]:
        """Return the passages and records behind labels; passages that are named come first.

        A record leads to those of its passages that were read, else to its most telling ones.
        """
        named = list(labels)
        records = tuple(self.known[label] for label in named if label in self.known)
        chunks = dict.fromkeys(self.chunks[label] for label in named if label in self.chunks)
        read = set(self.chunks.values())
        for record in records:
            own = [one for one in record.sources if one in read] or record.sources
            chunks |= dict.fromkeys(own[:MOST_SOURCES])
        return tuple(chunks), records


def build(query: Query, found: ModeResult, room: int) -> FollowUpContext:
    """Build a context of at most ``room`` tokens. Call outside transactions."""
    with access.in_workspace(query.workspace_id):
        hits = hydrate(query.workspace_id, found.chunks[:PASSAGES])
    lines = _lines(found.records)
    made = FollowUpContext()
    kinds = {label: record.kind for label, (record, _) in lines.items()}
    reports = {label: line for label, (_, line) in lines.items() if label.startswith("T")}
    records = {label: line for label, (_, line) in lines.items() if label not in reports}
    made.reports, used = _fitting(reports, int(room * local.SHARES.reports))
    made.records, more = _fitting(records, int(room * local.SHARES.records))
    passages = {f"{PASSAGE}{number}": hit for number, hit in enumerate(hits, start=1)}
    texts = {label: _passage(hit) for label, hit in passages.items()}
    made.passages, _ = _fitting(texts, room - used - more)
    given = [line.partition(" ")[0] for line in (*made.reports, *made.records, *made.passages)]
    made.known = {label: lines[label][0] for label in given if label in kinds}
    made.chunks = {label: passages[label].chunk_id for label in given if label in passages}
    return made


def _lines(records: Sequence[Record]) -> dict[str, tuple[Record, str]]:
    counts = dict.fromkeys(LETTERS, 0)
    lines: dict[str, tuple[Record, str]] = {}
    for record in records:
        if record.kind in LETTERS:
            counts[record.kind] += 1
            label = f"{LETTERS[record.kind]}{counts[record.kind]}"
            lines[label] = record, " ".join(f"{record.title}: {record.text}".split())
    return lines


def _passage(hit: Hit) -> str:
    return " ".join(f"{hit.title}: {hit.text}".split())


def _fitting(lines: Mapping[str, str], room: int) -> tuple[list[str], int]:
    """Return labelled lines, in order, as many as fit, the last one cut; and their tokens."""
    kept, left = [], room
    for label, text in lines.items():
        if left < SHORTEST:
            break
        line = truncate_tokens(text, left - model_calls.LABEL_TOKENS)
        kept.append(f"{label} {line}")
        left -= count_tokens(line) + model_calls.LABEL_TOKENS
    return kept, room - left
