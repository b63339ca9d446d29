"""From a question to a draft of its answer: plan, search, fuse, assemble, answer, cite.

Call outside transactions. Every step is reported; the passages are reported before any sentence.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from retrieval.answering import (
    checking,
    conflicts,
    explain,
    extractive,
    greeting,
    planning,
    scheduler,
    suggesting,
    writing,
)
from retrieval.answering.citations.citing import cited_passages
from retrieval.answering.drafts import Asking, Draft, Suggested
from retrieval.models import Outcome
from retrieval.search import services
from retrieval.search.hits import Hit
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.services import SearchResult

PASSAGES: Final = 12
"""The most passages an answer may be made from."""


def draft_answer(asking: Asking, reporter: Reporter) -> Draft:
    """Draft an answer.

    Raises InputError for an unusable question, mode or scope, StoppedError, ModelError.
    """
    started = time.perf_counter()
    if greeted := greeting.draft(asking):
        return greeted
    asking = replace(asking, question=greeting.without_greeting(asking.question))
    rewrite = planning.planned(asking, reporter)
    found = _find(replace(asking, question=rewrite.question), reporter)
    planning.tell(asking, rewrite, found, reporter)
    reporter.emit(EventKind.PASSAGES, {"passages": shown(found.hits)})
    scheduler.let_others_first(is_busy=found.query.chat is None)
    reporter.check()
    draft = _draft(asking, found, reporter)
    draft.trace["calls"] = explain.calls(found)
    draft.trace["total_ms"] = round((time.perf_counter() - started) * 1000, 1)
    standalone = rewrite.question if rewrite.is_rewritten else ""
    suggest = partial(_suggest, asking, found, draft, reporter)
    return replace(draft, standalone=standalone, suggest=suggest)


def _suggest(asking: Asking, found: SearchResult, draft: Draft, reporter: Reporter) -> Suggested:
    if not suggesting.is_worthwhile(draft):
        return Suggested()
    scheduler.give_way()
    sentence = "Looking for follow-up questions."
    reporter.emit(EventKind.STEP, {"name": "suggest", "sentence": sentence})
    questions = suggesting.follow_ups(asking, found, draft)
    return Suggested(questions, explain.calls(found))


def _find(asking: Asking, reporter: Reporter) -> SearchResult:
    if asking.earlier:
        reporter.emit(EventKind.STEP, planning.SEARCHING)
    return services.search(
        workspace=asking.workspace,
        question=asking.question,
        mode=asking.mode,
        top_k=PASSAGES,
        scope=asking.scope,
        question_id=asking.question_id,
        reporter=reporter,
        ports=asking.ports,
    )


def _draft(asking: Asking, found: SearchResult, reporter: Reporter) -> Draft:
    """Draft in a model's words if there is a model and material, else in the documents' words."""
    chat = found.query.chat
    if chat is not None and writing.can_write(found):
        return writing.write(asking, found, chat, reporter)
    return _extract(asking, found)


def _extract(asking: Asking, found: SearchResult) -> Draft:
    told = extractive.tell(found.query, found.hits)
    scheduler.give_way()
    numbering = told.numbering
    marked = conflicts.mark(told.sentences, found.query, numbering)
    sentences = conflicts.with_other_sides(marked, numbering)
    scheduler.give_way()
    check = {"by": "quote", **checking.counts([one.check for one in sentences])}
    citations = cited_passages(sentences, numbering)
    cited = [one.chunk_id for one in citations]
    trace = explain.trace(asking, found, None, {"kept": len(sentences)}, check, cited)
    return Draft(
        is_supported=told.outcome is Outcome.ANSWERED,
        outcome=told.outcome,
        sentences=sentences,
        citations=citations,
        nearest=told.nearest,
        trace=found.trace | told.figures | trace,
        mode=found.mode.name,
    )


def shown(hits: Sequence[Hit]) -> list[dict[str, Any]]:
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
