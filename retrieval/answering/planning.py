"""Plan the search, and report it: before the search, and again once the mode is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retrieval.answering import explain
from retrieval.answering.drafts import Asking
from retrieval.search.modes import mode_named
from retrieval.search.query import clean_question
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.rewrite import Rewrite, standalone
from retrieval.search.services import SearchResult
from workspaces.ports import ports_for

READING: Final = {"name": "plan", "sentence": "Reading the question in its conversation."}
SEARCHING: Final = {"name": "search", "sentence": "Searching for passages."}


def first_step(asking: Asking) -> Mapping[str, str]:
    """Return the first step to report; may be sent in a transaction, before the answer is
    drafted."""
    return READING if asking.earlier else SEARCHING


def planned(asking: Asking, reporter: Reporter) -> Rewrite:
    """Return the standalone question. Call outside transactions. Raises InputError,
    StoppedError."""
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
    """Report how the search was done in the end, and note what could not be interpreted."""
    for note in rewrite.notes:
        found.query.note(note.code, note.sentence)
    plan = explain.plan(asking, found) | {"label": found.mode.label}
    reporter.emit(EventKind.PLAN, plan)
