"""Write an answer with a chat model: context, text, citations, checks."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import regex

from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering import checking, conflicts, explain
from retrieval.answering.citations import citing
from retrieval.answering.citations.labels import Numbering, number
from retrieval.answering.citations.markers import MarkerFilter
from retrieval.answering.context import Context, build
from retrieval.answering.drafts import Asking, Draft, Earlier
from retrieval.models import Outcome
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.services import SearchResult
from workspaces.ports import ports_for

NO_ANSWER: Final = "NO_ANSWER"
"""What the model writes if the documents do not answer."""
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")


class Refusal:
    """Removes ``NO_ANSWER`` from streamed text.

    Text after it is dropped too if nothing came before it: it is not an answer.
    """

    def __init__(self) -> None:
        self.is_heard = False
        self._has_said = False
        self._lead = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        self._held += piece
        shown = ""
        while NO_ANSWER in self._held:
            before, _, self._held = self._held.partition(NO_ANSWER)
            shown += self._let(before)
            self.is_heard = True
        keep = next(
            size
            for size in range(len(NO_ANSWER) - 1, -1, -1)
            if self._held.endswith(NO_ANSWER[:size])
        )
        cut = len(self._held) - keep
        shown += self._let(self._held[:cut])
        self._held = self._held[cut:]
        return shown

    def close(self) -> str:
        held, self._held = self._held, ""
        return self._let(held)

    def _let(self, text: str) -> str:
        """Hold back everything before the first word: it may be the mark-up of a refusal."""
        if self._has_said:
            return text
        self._lead += text
        if self.is_heard or not _WORD.search(text):
            return ""
        self._has_said = True
        return self._lead


def stream(
    chat: ChatModel, request: ChatRequest[Any], numbering: Numbering, reporter: Reporter
) -> tuple[MarkerFilter, bool]:
    """Return the whole text, and whether the model says that the documents do not answer.

    Raises ReplyError if the answer is cut off, PauseError if it must wait, StoppedError.
    """
    sieve, refusal = MarkerFilter(numbering), Refusal()
    pieces = chat.stream(request)
    try:
        for shown in _shown(pieces, sieve, refusal):
            reporter.check()
            if shown:
                reporter.emit(EventKind.TEXT, {"text": shown})
    finally:
        # Closing the generator stops the call; only the text so far is paid for.
        if isinstance(pieces, Generator):
            pieces.close()
    is_refused = refusal.is_heard and not sieve.placed
    return sieve, is_refused or not _WORD.search(sieve.text)


def _shown(pieces: Iterator[str], sieve: MarkerFilter, refusal: Refusal) -> Iterator[str]:
    for piece in pieces:
        yield sieve.feed(refusal.feed(piece))
    yield sieve.feed(refusal.close()) + sieve.close()


STAGE: Final = "answer"
WRITING: Final = {"name": "write", "sentence": "Writing the answer."}
CHECKING: Final = {"name": "check", "sentence": "Checking each sentence against its passages."}
MOST_TOKENS: Final = 12_000
LEAST_TOKENS: Final = 200
MOST_EARLIER: Final = 3
EARLIER_TOKENS: Final = 200
"""Of one earlier question or answer in the conversation."""
LONGEST_NAME: Final = 120
_PROMPTS: Final = Path(__file__).parent.parent / "prompts"


def can_write(found: SearchResult) -> bool:
    """Return whether there is a model, and material for it to write from.

    If every report was read and none had a point, the passages are merely the nearest ones: a model
    would make an answer of what its own reading has just rejected.
    """
    given = found.hits or found.found.records or found.found.points
    has_data = not dict(found.found.figures).get("no_data")
    return found.query.chat is not None and has_data and bool(given)


def write(asking: Asking, found: SearchResult, chat: ChatModel, reporter: Reporter) -> Draft:
    """Write the answer. Call outside transactions. Raises ModelError if no answer comes,
    StoppedError."""
    query, options = found.query, ports_for(found.query.workspace_id).options
    reporter.emit(EventKind.STEP, WRITING)
    numbering, prompt, context = composed(asking, found, allows_general=options.allows_general)
    about = About(STAGE, question_id=query.question_id)
    request: ChatRequest[Any] = ChatRequest(Role.ANSWER, prompt, about)
    sieve, is_refused = stream(chat, request, numbering, reporter)
    said = [] if is_refused else citing.sentences_in(sieve.text, sieve.placed)
    reporter.emit(EventKind.STEP, CHECKING)
    checked = checking.check_all(said, numbering, found, chat if options.wants_judge else None)
    sentences = conflicts.mark(checked.sentences, query, numbering)
    counts = checking.counts([one.check for one in sentences])
    is_supported = bool(counts["supported"] or counts["conflict"])
    nearest = [] if is_supported else citing.nearest(query.question, found.hits)
    without = Outcome.UNSURE if nearest else Outcome.NOTHING
    check: dict[str, Any] = {"by": checked.by, **counts, "added": checked.added}
    if checked.problem:
        check["problem"] = checked.problem
    trace = explain.trace(
        asking, found, context=context, citations=sieve.counts.as_json(), check=check
    )
    return Draft(
        outcome=Outcome.ANSWERED if is_supported else without,
        is_supported=is_supported,
        sentences=sentences,
        citations=citing.cited_passages(sentences, numbering),
        nearest=nearest,
        trace=found.trace | trace | {"refused": is_refused},
        mode=found.mode.name,
        written_by=chat.model_of(Role.ANSWER)[:LONGEST_NAME],
    )


def prompt_of(
    asking: Asking, question: str, context: Context | None, *, allows_general: bool
) -> Prompt:
    general = "answer_general" if allows_general else "answer_closed"
    return load(_PROMPTS / "answer.md").fill(
        general=load(_PROMPTS / f"{general}.md").system,
        conversation=conversation_of(asking.earlier),
        context=context.text if context else "",
        question=fenced(question, "question"),
    )


def composed(
    asking: Asking, found: SearchResult, *, allows_general: bool
) -> tuple[Numbering, Prompt, Context]:
    """Return the prompt with as much context as fits, and the labels that may be cited.

    Without a model the context is as long as the largest window gets. Call outside transactions.
    """
    query = found.query
    numbering = number(query, found.found, found.hits)
    numbering.allows_general = allows_general
    empty = prompt_of(asking, query.question, None, allows_general=allows_general)
    budget = MOST_TOKENS
    if query.chat is not None:
        taken = count_tokens(empty.system) + count_tokens(empty.user) + 32
        budget = min(budget, query.chat.input_limit(Role.ANSWER) - taken)
    shares = found.mode.shares
    context = build(found.found, numbering, shares, max(LEAST_TOKENS, budget), query.as_of)
    numbering.given = context.labels
    prompt = prompt_of(asking, query.question, context, allows_general=allows_general)
    return numbering, prompt, context


def conversation_of(earlier: Sequence[Earlier]) -> str:
    if not earlier:
        return ""
    lines = []
    for one in earlier[-MOST_EARLIER:]:
        answer = (
            one.answer if one.is_same_scope else "from other documents, which do not count here."
        )
        for label, text in (("Asked", one.question), ("Answered", answer)):
            lines.append(f"{label}: {truncate_tokens(' '.join(text.split()), EARLIER_TOKENS)}")
    return "What was said before in the conversation:\n" + fenced("\n".join(lines), "conversation")
