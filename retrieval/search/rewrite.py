"""Rewrite a follow-up question so that it can be asked without its conversation.

With a chat model in one call, whose result is checked: a name that no one mentioned is rejected.
Without one, or if it fails, by rewrite_pronouns. Of a long conversation only the last turns count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from pydantic import BaseModel, Field

from kb_project.errors import InputError, ModelError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.text.words import words
from retrieval.search import rewrite_ellipsis, rewrite_pronouns
from retrieval.search.query import LONGEST_QUESTION, Note, clean_question
from retrieval.search.rewrite_ellipsis import EarlierTurn
from retrieval.search.scope_entities import Named, named_in
from workspaces import access

STAGE: Final = "plan"
MOST_TURNS: Final = 5
"""GraphRAG's number; it keeps the first turns, this the last."""
LONGEST_TURN: Final = 800
"""Characters of an earlier question or answer that a model reads."""
LONGEST: Final = 1_000
"""Characters of a rewritten question: no follow-up needs more."""
BY_RULE: Final = "rules"
_PROMPT: Final = Path(__file__).resolve().parent.parent / "prompts" / "rewrite.md"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """``by`` is a model's name or ``BY_RULE``, '' if nothing was rewritten."""

    question: str
    is_rewritten: bool = False
    by: str = ""
    notes: tuple[Note, ...] = ()


class Standalone(BaseModel):
    """The standalone question."""

    question: str = Field(max_length=20_000)


def standalone(
    *,
    chat: ChatModel | None,
    workspace_id: UUID,
    question: str,
    earlier: Sequence[EarlierTurn],
    question_id: UUID | None = None,
) -> Rewrite:
    """Return the question to search for and answer. Call outside transactions.

    ``earlier`` is the conversation, oldest first. Never raises if a model fails: the rules take
    over, with a note.
    """
    turns = earlier[-MOST_TURNS:]
    if not turns:
        return Rewrite(question)
    if chat is None:
        return _by_rule(workspace_id, question, turns)
    try:
        found = _by_model(chat, question, turns, question_id)
    except ModelError as error:
        note = Note(
            "not_rewritten",
            f"The question was interpreted without the chat model: {error.happened}",
        )
        return _by_rule(workspace_id, question, turns, (note,))
    if found == question:
        return Rewrite(question)
    return Rewrite(found, is_rewritten=True, by=chat.model_of(Role.KEYWORD))


def _by_model(
    chat: ChatModel, question: str, turns: Sequence[EarlierTurn], question_id: UUID | None
) -> str:
    """Rewrite with a model. Raises ModelError."""
    conversation = "\n\n".join(
        f"Question: {_cut(turn.question)}\nAnswer: {_cut(turn.answer) or 'none was found'}"
        for turn in turns
    )
    prompt = load(_PROMPT).fill(
        conversation=fenced(conversation, "conversation"), question=fenced(question, "question")
    )
    about = About(STAGE, question_id=question_id)
    reply = chat.ask(ChatRequest(Role.KEYWORD, prompt, about, Standalone))
    rewritten = reply.value.question if reply.value else ""
    return _checked(rewritten, question, conversation)


def _checked(rewritten: str, question: str, conversation: str) -> str:
    """Return the model's question if it is usable. Raises ReplyError."""
    try:
        found = clean_question(rewritten)
    except InputError as error:
        raise ReplyError("The model returned no question.", code="reply_invalid") from error
    if len(found) > min(LONGEST_QUESTION, max(LONGEST, 2 * len(question))):
        raise ReplyError("The model returned more than a question.", code="reply_invalid")
    if invented(found, f"{conversation}\n{question}"):
        raise ReplyError("The model added a name that no one had mentioned.", code="reply_invalid")
    return found


def invented(text: str, known: str) -> list[str]:
    """Return words with a capital or digit that ``known`` lacks; the first word may be new.

    >>> invented("When was Ada Lind born in 1860?", "Ada Lind kept the light.")
    ['1860']
    """
    heard = {word.folded.removesuffix("'s") for word in words(known)}
    found = []
    for place, word in enumerate(words(text)):
        surface = text[word.start : word.end]
        is_telling = surface[0].isupper() and place > 0
        if (is_telling or surface[0].isdigit()) and word.folded.removesuffix("'s") not in heard:
            found.append(surface)
    return found


def _by_rule(
    workspace_id: UUID, question: str, turns: Sequence[EarlierTurn], notes: tuple[Note, ...] = ()
) -> Rewrite:
    with access.in_workspace(workspace_id):
        last = turns[-1].question
        asked = named_in(workspace_id, last)
        found = rewrite_ellipsis.picked(question, turns) or question
        found = rewrite_ellipsis.completed(found, last, [one.surface for one in asked]) or found
        own = named_in(workspace_id, found)
        what = rewrite_pronouns.unnamed_reference(found, has_name=bool(own) or found != question)
        if what is not None:
            found = _with_names(workspace_id, found, what, turns, own)
    if found == question:
        return Rewrite(question, notes=notes)
    return Rewrite(found, is_rewritten=True, by=BY_RULE, notes=notes)


def _with_names(
    workspace_id: UUID,
    question: str,
    what: rewrite_pronouns.StandsFor,
    turns: Sequence[EarlierTurn],
    own: Sequence[Named],
) -> str:
    """Add names to the question, in the workspace's scope; unchanged if no name fits."""
    named = [
        rewrite_pronouns.NamedTurn(
            turn.question,
            named_in(workspace_id, turn.question),
            named_in(workspace_id, _cut(turn.answer)),
        )
        for turn in turns
    ]
    names = [one.name for one in rewrite_pronouns.names_for(what, named, own)]
    if not names and (subject := rewrite_pronouns.subject_of(turns[-1].question, what)):
        names = [subject]
    texts = [text for turn in turns for text in (turn.question, turn.answer)]
    return rewrite_pronouns.with_names(question, names, *texts) if names else question


def _cut(text: str) -> str:
    """Shorten to one line: a turn cannot pass for two."""
    return " ".join(text[: LONGEST_TURN * 2].split())[:LONGEST_TURN]
