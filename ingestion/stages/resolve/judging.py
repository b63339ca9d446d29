"""Ask the chat model about names that look alike, with what the documents say about both.

A pair is asked about only once per workspace, and never if a person decided it or undid a decision.
Before a third pair follows from two decisions, it is judged on its own.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from ingestion.models import Entity, ResolutionDecision, Verdict
from ingestion.resolution.decisions import ever_decided, load_resolution
from ingestion.resolution.keys import KeyPair, entity_id, pair_of
from ingestion.stage import Progress
from ingestion.stages.resolve import sql
from ingestion.stages.resolve.applying import record_decisions
from ingestion.stages.resolve.names import Resolution, differ_in_a_digit
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import Prompt, fenced, load
from kb_project.sql import run_sql
from workspaces import access

PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
MOST_QUESTIONS: Final = 20
"""Questions of one kind per document."""
MOST_NOTES: Final = 4
MOST_QUOTES: Final = 2
MOST_DOCUMENTS: Final = 4
AROUND: Final = 160
"""Characters that a quote shows on either side of a name."""
LONGEST_CONTEXT: Final = 6000
REASON_LENGTH: Final = 1000
NO_ANSWER: Final = "The model gave no usable answer to "
# Answers between two progress reports, each of which renews the lease.
EVERY: Final = 16
# Rounds of third pairs: each joins names that were judged in the round before.
MOST_ROUNDS: Final = 4

DocumentIds = Sequence[uuid.UUID]
Unanswered = Counter[uuid.UUID | None]
"""Questions without a usable answer, by document."""


class Answer(BaseModel):
    """The model's verdict on two names; ``number`` only if several known entities were shown."""

    verdict: Verdict
    reason: str = ""
    number: int = 0


def question(prompt: Prompt, document_id: uuid.UUID) -> ChatRequest[Answer]:
    """``document_id`` is the document that the question is counted for."""
    return ChatRequest(Role.JUDGE, prompt, About("resolve", document_id), Answer)


def ask(
    chat: ChatModel,
    questions: Sequence[ChatRequest[Answer]],
    unanswered: Unanswered,
    progress: Progress,
) -> dict[int, Answer]:
    """Ask the questions, and return the answers by question. Call outside transactions.

    Raises PauseError.
    """
    answers: dict[int, Answer] = {}
    for done, (index, reply) in enumerate(chat.ask_many(questions), 1):
        if isinstance(reply, ReplyError) or reply.value is None:
            unanswered[questions[index].about.document_id] += 1
        else:
            answers[index] = reply.value
        if not done % EVERY:
            progress(done, len(questions))
    return dict(sorted(answers.items()))


def note_on_unanswered(number: int) -> tuple[str, ...]:
    """The note on a document for its questions without a usable answer."""
    if not number:
        return ()
    noun = "question" if number == 1 else "questions"
    return (
        f"{NO_ANSWER}{number} {noun} about names in this document."
        " The names are kept as written; similar names are left for a person to decide.",
    )


def decision(
    workspace_id: uuid.UUID, chat: ChatModel, answer: Answer, **subject: object
) -> ResolutionDecision:
    """The row that stores an answer."""
    return ResolutionDecision(
        workspace_id=workspace_id,
        verdict=answer.verdict,
        reason=plain(answer.reason)[:REASON_LENGTH],
        by=ResolutionDecision.By.MODEL,
        model=chat.model_of(Role.JUDGE)[:120],
        **subject,
    )


def plain(text: str) -> str:
    """The text on one line, without null characters, which Postgres cannot store."""
    return " ".join(text.replace("\0", "").split())


# --- what documents say ---------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Context:
    """What all or some documents say about an entity."""

    name: str
    type: str
    notes: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()

    def as_text(self) -> str:
        lines = [f"Name: {self.name}", f"Kind: {self.type}"]
        lines += ["What is noted of it:", *(f"- {note}" for note in self.notes)]
        lines += ["Where it is named:", *(f'- "{quote}"' for quote in self.quotes)]
        return "\n".join(lines)[:LONGEST_CONTEXT]


class Contexts:
    """What documents, or some of them, say about some entities, loaded in one go."""

    def __init__(
        self,
        workspace_id: uuid.UUID,
        entities: Iterable[uuid.UUID],
        documents: Iterable[uuid.UUID] | None = None,
    ) -> None:
        wanted = sorted(set(entities))
        rows = Entity.objects.in_workspace(workspace_id).filter(pk__in=wanted)
        self._named = {row[0]: row[1:] for row in rows.values_list("pk", "name", "type")}
        among = None if documents is None else list(documents)
        values = {"workspace": workspace_id, "entities": wanted, "documents": among}
        self._notes = _by_entity(run_sql(sql.NOTES, {**values, "most": MOST_NOTES}))
        quotes = {**values, "most": MOST_QUOTES, "around": AROUND}
        self._quotes = _by_entity(run_sql(sql.QUOTES_OF, quotes))

    def of(self, entity: uuid.UUID, documents: DocumentIds | None = None) -> Context:
        """What the first few documents say about an entity; all documents unless given."""
        name, kind = self._named.get(entity, ("", ""))
        notes, quotes = (
            tuple(_from_first(found.get(entity, {}), documents))
            for found in (self._notes, self._quotes)
        )
        return Context(name, kind, notes, quotes)


def _by_entity(
    rows: Iterable[tuple[uuid.UUID, uuid.UUID, str]],
) -> dict[uuid.UUID, dict[uuid.UUID, list[str]]]:
    found: dict[uuid.UUID, dict[uuid.UUID, list[str]]] = defaultdict(dict)
    for entity, document, text in rows:
        found[entity].setdefault(document, []).append(plain(text))
    return found


def _from_first(
    by_document: Mapping[uuid.UUID, Sequence[str]], documents: DocumentIds | None
) -> list[str]:
    chosen = [one for one in by_document if documents is None or one in documents]
    return [text for one in chosen[:MOST_DOCUMENTS] for text in by_document[one]]


# --- look-alikes ----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Two keys, the one that sorts first on the left, and the document that raised them."""

    pair: KeyPair
    document_id: uuid.UUID


def judge_look_alikes(
    workspace_id: uuid.UUID,
    resolutions: Sequence[Resolution],
    chat: ChatModel,
    unanswered: Unanswered,
    progress: Progress,
) -> None:
    """Ask about the group's look-alikes and apply the answers."""
    with access.in_workspace(workspace_id):
        asked = _open(workspace_id, resolutions)
    for _ in range(MOST_ROUNDS):
        if not asked:
            return
        answers = ask(chat, _questions(workspace_id, asked), unanswered, progress)
        made = []
        for index, answer in answers.items():
            left, right = asked[index].pair
            made.append(decision(workspace_id, chat, answer, left_key=left, right_key=right))
        with access.in_workspace(workspace_id):
            unchecked = record_decisions(workspace_id, made)
            new = [one for one in unchecked if not differ_in_a_digit(*one)]
            known = ever_decided(workspace_id, new)
        third = [LookAlikes(one, asked[0].document_id) for one in new if one not in known]
        asked = third[: MOST_QUESTIONS * len(resolutions)]


def _open(workspace_id: uuid.UUID, resolutions: Sequence[Resolution]) -> list[LookAlikes]:
    """The most similar first, at most ``MOST_QUESTIONS`` per document."""
    entities = {name.entity for one in resolutions for name in one.names if not name.entity[1]}
    values = {
        "workspace": workspace_id,
        "entities": [entity_id(workspace_id, *entity) for entity in sorted(entities)],
        "documents": [one.document_id for one in resolutions],
    }
    counted: Counter[uuid.UUID] = Counter()
    found = []
    for left, right, documents in run_sql(sql.OPEN_PAIRS, values):
        free = next((one for one in sorted(documents) if counted[one] < MOST_QUESTIONS), None)
        if free is not None and not differ_in_a_digit(left, right):
            counted[free] += 1
            found.append(LookAlikes(pair_of(left, right), free))
    return found


def _questions(workspace_id: uuid.UUID, asked: Sequence[LookAlikes]) -> list[ChatRequest[Answer]]:
    template = load(PROMPTS / "resolve_pair.md")
    with access.in_workspace(workspace_id):
        names = load_resolution(workspace_id).names
        ids = {
            key: entity_id(workspace_id, names.get(key, key)) for one in asked for key in one.pair
        }
        contexts = Contexts(workspace_id, ids.values())
    questions = []
    for one in asked:
        left, right = (contexts.of(ids[key]).as_text() for key in one.pair)
        prompt = template.fill(
            left=fenced(left, "first"),
            right=fenced(right, "second"),
        )
        questions.append(question(prompt, one.document_id))
    return questions
