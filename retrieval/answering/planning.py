"""Plan: what is looked for, told before it is looked for and once more when it is known how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retrieval.answering import explain
from retrieval.answering.drafts import Asking
from retrieval.search.modes import mode_named
from retrieval.search.query import clean_question
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.rewrite import Rewrite, standalone
from retrieval.services import SearchResult
from workspaces.ports import ports_for

READING: Final = {"name": "plan", "sentence": "Reading the question in its conversation."}
SEARCHING: Final = {"name": "search", "sentence": "Looking for passages."}


def first_step(asking: Asking) -> Mapping[str, str]:
    """May be told within a transaction, before the answer is drafted."""
    return READING if asking.earlier else SEARCHING


def planned(asking: Asking, reporter: Reporter) -> Rewrite:
    """The question by itself. Call outside transactions. Raises InputError, StoppedError."""
    question, mode = clean_question(asking.question), mode_named(asking.mode)
    if not asking.is_told:
        reporter.emit(EventKind.STEP, first_step(asking))
    if not asking.earlier:
        return Rewrite(question)
    rewrite = standalone(
        chat=(asking.ports or ports_for(asking.workspace.pk)).chat,
        workspace_id=asking.workspace.pk,
        question=question,
        earlier=asking.earlier,
        question_id=asking.question_id,
    )
    if rewrite.is_rewritten:
        plan: dict[str, Any] = {
            "question": rewrite.question,
            "is_rewritten": True,
            "mode": mode.name,
            "label": mode.label,
            "reason": "",
            "keywords": [],
        }
        reporter.emit(EventKind.PLAN, plan)
    return rewrite


def tell(asking: Asking, rewrite: Rewrite, found: SearchResult, reporter: Reporter) -> None:
    """How it was looked for in the end, and what could not be read as it should."""
    for note in rewrite.notes:
        found.query.note(note.code, note.sentence)
    plan = explain.plan(asking, found) | {"label": found.mode.label}
    reporter.emit(EventKind.PLAN, plan)
