"""Answer from the chat model's own knowledge, without a search (LightRAG's bypass).

No sentence has a citation; every statement is marked as general knowledge.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from kb_project.errors import ConflictError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, ModelOptions, Role
from kb_project.ports import Ports
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering import checking, explain, writing
from retrieval.answering.citations import citing
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import Asking, Draft, WrittenSentence
from retrieval.search.modes import BYPASS
from retrieval.search.query import Note, clean_question
from retrieval.search.reporting import EventKind, Reporter
from workspaces.ports import no_model, ports_for

NOTE: Final = Note(
    "general_only", "General knowledge of the model, not from your documents: verify it."
)
_PROMPT: Final = Path(__file__).parent.parent / "prompts" / "answer_bypass.md"


def allowed_chat(ports: Ports) -> ChatModel:
    """Return the model that writes answers. Raises ConflictError without one, or if the
    workspace's answers may not use general knowledge.
    """
    if ports.writer is None:
        raise no_model()
    if not ports.options.allows_general:
        raise ConflictError(
            "Answers in this workspace come from its documents only.",
            code="general_not_allowed",
            kept="Nothing was sent to the model.",
            next_step="Choose another mode. An admin can allow general knowledge on the page"
            " Models.",
        )
    return ports.writer


def is_offered(ports: Ports) -> bool:
    return ports.writer is not None and ports.options.allows_general


def draft(asking: Asking, reporter: Reporter) -> Draft:
    """Write the answer. Call outside transactions. Raises ConflictError as above, ModelError if no
    answer comes, StoppedError."""
    started = time.perf_counter()
    ports = asking.ports or ports_for(asking.workspace.pk)
    chat = allowed_chat(ports)
    plan = plan_of(asking)
    reporter.emit(EventKind.PLAN, plan)
    if not asking.is_announced:
        reporter.emit(EventKind.STEP, writing.WRITING)
    about = About(writing.STAGE, question_id=asking.question_id)
    request: ChatRequest[Any] = ChatRequest(Role.ANSWER, prompt_of(asking, ports.options), about)
    numbering = Numbering((), allows_general=True)
    sieve, is_empty = writing.stream(chat, request, numbering, reporter)
    if is_empty:
        raise ReplyError("The model's answer is empty.", code="reply_empty")
    said = citing.sentences_in(sieve.text, sieve.placed)
    return Draft(
        is_supported=False,
        sentences=[
            WrittenSentence(one.text, check=checking.GENERAL if one.is_statement else None)
            for one in said
        ],
        citations=(),
        nearest=(),
        trace={
            "plan": plan,
            "mode": BYPASS.name,
            "hits": 0,
            "notes": [{"code": NOTE.code, "sentence": NOTE.sentence}],
            "calls": explain.calls_of(asking.workspace.pk, asking.question_id),
            "total_ms": round((time.perf_counter() - started) * 1000, 1),
        },
        mode=BYPASS.name,
        written_by=chat.model_of(Role.ANSWER)[: writing.LONGEST_NAME],
    )


def plan_of(asking: Asking) -> dict[str, Any]:
    return {
        "question": clean_question(asking.question),
        "is_rewritten": False,
        "asked_mode": asking.mode,
        "mode": BYPASS.name,
        "label": BYPASS.label,
        "reason": "",
        "keywords": [],
    }


def prompt_of(asking: Asking, options: ModelOptions) -> Prompt:
    return load(_PROMPT).fill(
        form=writing.form_of(asking.options.response),
        **writing.instructions_of(asking, options),
        conversation=writing.conversation_of(asking.earlier),
        question=fenced(clean_question(asking.question), "question"),
    )
