"""From a question to a draft of its answer: plan, search, fuse, assemble, answer, cite.

Call outside transactions. Every step is reported; the passages are reported before any sentence.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from retrieval.answering import (
    bypass,
    explain,
    extractive,
    follow_ups,
    greeting,
    scheduler,
    sections,
    writing,
)
from retrieval.answering.drafts import Asking, Draft, Suggested
from retrieval.answering.options import ResponseType
from retrieval.search import services
from retrieval.search.modes import BYPASS, mode_named
from retrieval.search.query import Note, clean_question
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.results import Hit
from retrieval.search.rewrite import Rewrite, standalone
from retrieval.search.services import SearchResult
from workspaces.ports import ports_for

PASSAGES: Final = 12
"""The most passages an answer may be made from …"""
PASSAGES_OF_REPORT: Final = 30
"""… and a report of several sections."""
NEEDS_MODEL: Final = Note(
    "options_need_model",
    "Response types and instructions need a chat model: these are the documents' own sentences.",
)
READING: Final = {"name": "plan", "sentence": "Reading the question in its conversation."}
SEARCHING: Final = {"name": "search", "sentence": "Searching for passages."}
SUGGESTING: Final = {"name": "suggest", "sentence": "Looking for follow-up questions."}


def first_step(asking: Asking) -> Mapping[str, str]:
    """Return the first step to report; may be sent in a transaction, before the answer is
    drafted."""
    if asking.mode == BYPASS.name:
        return writing.WRITING
    return READING if asking.earlier else SEARCHING


def draft_answer(asking: Asking, reporter: Reporter) -> Draft:
    """Draft an answer.

    Raises InputError for an unusable question, mode or scope, ConflictError if the mode may not be
    used, StoppedError, ModelError.
    """
    started = time.perf_counter()
    if greeted := greeting.draft(asking):
        return greeted
    if asking.mode == BYPASS.name:
        return bypass.draft(asking, reporter)
    asking, rewrite, found = gathered(asking, reporter)
    plan = explain.plan(asking, found) | {"label": found.mode.label}
    reporter.emit(EventKind.PLAN, plan)
    reporter.emit(EventKind.PASSAGES, {"passages": passages_json(found.hits)})
    scheduler.let_others_first(is_busy=found.query.writer is None)
    reporter.check()
    chat = found.query.writer
    if chat is not None and writing.can_write(found):
        is_long = asking.options.response is ResponseType.REPORT
        author = sections.written if is_long else writing.in_one_piece
        draft = writing.write(asking, found, chat, reporter, author)
    else:
        draft = extractive.write(asking, found)
    draft.trace["calls"] = explain.calls(found)
    draft.trace["total_ms"] = round((time.perf_counter() - started) * 1000, 1)
    question = rewrite.question if rewrite.is_rewritten else ""
    suggest = partial(_suggest, asking, found, draft, reporter)
    return replace(draft, standalone=question, suggest=suggest)


def gathered(asking: Asking, reporter: Reporter) -> tuple[Asking, Rewrite, SearchResult]:
    """Return the question without a greeting, its standalone form, and what it finds.

    Raises InputError for an unusable question, mode or scope, StoppedError.
    """
    asking = replace(asking, question=greeting.without_greeting(asking.question))
    rewrite = rewritten(asking, reporter)
    found = _find(replace(asking, question=rewrite.question), reporter)
    for note in rewrite.notes:
        found.query.note(note.code, note.sentence)
    if found.query.writer is None and asking.options.needs_model:
        found.query.note(NEEDS_MODEL.code, NEEDS_MODEL.sentence)
    return asking, rewrite, found


def rewritten(asking: Asking, reporter: Reporter) -> Rewrite:
    """Return the standalone question, and report it. Call outside transactions. Raises InputError,
    StoppedError."""
    question, mode = clean_question(asking.question), mode_named(asking.mode)
    if not asking.is_announced:
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


def _find(asking: Asking, reporter: Reporter) -> SearchResult:
    if asking.earlier:
        reporter.emit(EventKind.STEP, SEARCHING)
    is_report = asking.options.response is ResponseType.REPORT
    is_long = is_report and (asking.ports or ports_for(asking.workspace.pk)).writer is not None
    return services.search(
        workspace=asking.workspace,
        question=asking.question,
        mode=asking.mode,
        top_k=PASSAGES_OF_REPORT if is_long else PASSAGES,
        scope=asking.scope,
        topics=asking.options.topics,
        question_id=asking.question_id,
        reporter=reporter,
        ports=asking.ports,
    )


def _suggest(asking: Asking, found: SearchResult, draft: Draft, reporter: Reporter) -> Suggested:
    if not follow_ups.is_worthwhile(draft):
        return Suggested()
    scheduler.give_way()
    reporter.emit(EventKind.STEP, SUGGESTING)
    questions = follow_ups.follow_ups(asking, found, draft)
    return Suggested(questions, explain.calls(found))


def passages_json(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return passages as the event and the API show them, numbered from 1."""
    return [
        {
            "number": number,
            "chunk": str(hit.chunk_id),
            "document": str(hit.document_id),
            "title": hit.title,
            "start": hit.start,
            "end": hit.end,
            "headings": list(hit.heading_path),
            "page": hit.page,
            "text": hit.text,
            "score": round(hit.score, 6),
            "why": list(hit.why),
        }
        for number, hit in enumerate(hits, start=1)
    ]
