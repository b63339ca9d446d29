"""Ask the chat model about names, with what the documents say on both sides."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from ingestion.models import ResolutionDecision, Verdict
from ingestion.stage import Progress
from ingestion.stages.resolve import sql
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import Prompt
from kb_project.sql import run_sql

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


class Answer(BaseModel):
    """The model's verdict on two names; ``number`` only if several known entities were shown."""

    verdict: Verdict
    reason: str = ""
    number: int = 0


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


DocumentIds = Sequence[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's prompt, and the document it is counted for."""

    prompt: Prompt
    document_id: uuid.UUID


@dataclass(slots=True)
class Unanswered:
    """Questions without a usable answer, by document."""

    by_document: Counter[uuid.UUID] = field(default_factory=Counter)

    def sentence_for(self, document_id: uuid.UUID | None) -> tuple[str, ...]:
        number = self.by_document[document_id] if document_id else 0
        if not number:
            return ()
        noun = "question" if number == 1 else "questions"
        return (
            f"{NO_ANSWER}{number} {noun} about names in this document."
            " The names are kept as written; similar names are left for a person to decide.",
        )


def ask(
    chat: ChatModel, asked: Sequence[Asked], unanswered: Unanswered, progress: Progress
) -> dict[int, Answer]:
    """Ask the questions, and return the answers by question. Call outside transactions.

    Raises PauseError.
    """
    requests = [
        ChatRequest(Role.JUDGE, one.prompt, About("resolve", one.document_id), Answer)
        for one in asked
    ]
    answers: dict[int, Answer] = {}
    for done, (index, reply) in enumerate(chat.ask_many(requests), 1):
        if isinstance(reply, ReplyError) or reply.value is None:
            unanswered.by_document[asked[index].document_id] += 1
        else:
            answers[index] = reply.value
        if not done % EVERY:
            progress(done, len(requests))
    return answers


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


class Contexts:
    """What documents say about some entities, loaded in one go."""

    def __init__(self, workspace_id: uuid.UUID, entities: Iterable[uuid.UUID]) -> None:
        values = {"workspace": workspace_id, "entities": sorted(set(entities))}
        self._named = {row[0]: row[1:] for row in run_sql(sql.NAMED, values)}
        self._notes = _by_entity(run_sql(sql.NOTES_OF, {**values, "most": MOST_NOTES}))
        quotes = {**values, "most": MOST_QUOTES, "around": AROUND}
        self._quotes = _by_entity(run_sql(sql.QUOTES_OF, quotes))

    def of(self, entity: uuid.UUID, documents: DocumentIds | None = None) -> Context:
        """What the first few documents say about an entity; all documents unless given."""
        name, kind = self._named.get(entity, ("", ""))
        return Context(
            name,
            kind,
            tuple(_said(self._notes.get(entity, {}), documents)),
            tuple(_said(self._quotes.get(entity, {}), documents)),
        )


def _by_entity(
    rows: Iterable[tuple[uuid.UUID, uuid.UUID, str]],
) -> dict[uuid.UUID, dict[uuid.UUID, list[str]]]:
    found: dict[uuid.UUID, dict[uuid.UUID, list[str]]] = defaultdict(dict)
    for entity, document, text in rows:
        found[entity].setdefault(document, []).append(plain(text))
    return found


def _said(
    by_document: Mapping[uuid.UUID, Sequence[str]], documents: DocumentIds | None
) -> list[str]:
    chosen = [one for one in by_document if documents is None or one in documents]
    return [text for one in chosen[:MOST_DOCUMENTS] for text in by_document[one]]
