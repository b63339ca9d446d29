"""Write an answer with a chat model: context, text, citations, checks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import regex

from kb_project.llm.ports import About, ChatModel, ChatRequest, ModelOptions, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering import checking, conflicts, explain
from retrieval.answering.citations import citing
from retrieval.answering.citations.citing import ModelSentence
from retrieval.answering.citations.labels import Numbering, number
from retrieval.answering.citations.markers import Counts, MarkerFilter
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
    return sieve, says_nothing(sieve, refusal)


def says_nothing(sieve: MarkerFilter, refusal: Refusal) -> bool:
    is_refused = refusal.is_heard and not sieve.placed
    return is_refused or not _WORD.search(sieve.text)


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
    return found.query.writer is not None and has_data and bool(given)


@dataclass(frozen=True, slots=True)
class Task:
    """An answer to write: what was asked, what was found, how it is wanted. ``numbering`` has the
    labels that may be cited."""

    asking: Asking
    found: SearchResult
    options: ModelOptions
    numbering: Numbering

    @classmethod
    def of(cls, asking: Asking, found: SearchResult, options: ModelOptions) -> Task:
        """Call outside transactions: the passages behind records are read."""
        numbering = number(found.query, found.found, found.hits)
        numbering.allows_general = options.allows_general
        return cls(asking, found, options, numbering)

    @property
    def about(self) -> About:
        return About(STAGE, question_id=self.found.query.question_id)

    @property
    def said(self) -> dict[str, str]:
        """What was asked and wished for, as prompts take it."""
        return {
            "conversation": conversation_of(self.asking.earlier),
            "question": fenced(self.found.query.question, "question"),
            **instructions_of(self.asking, self.options),
        }

    def context(self, budget: int, first: frozenset[str] = frozenset()) -> Context:
        """Build a context of at most so many tokens; its labels may be cited from now on."""
        shares, budget = self.found.mode.shares, max(LEAST_TOKENS, budget)
        context = build(
            self.found.found, self.numbering, shares, budget, self.found.query.as_of, first
        )
        self.numbering.given = context.labels
        return context


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote, and from what; ``counts`` are those of its markers, ``figures`` go into
    the trace. ``is_refused`` if it says that the documents do not answer."""

    said: Sequence[ModelSentence]
    context: Context
    counts: Counts
    is_refused: bool = False
    figures: Mapping[str, Any] = field(default_factory=dict)


Author = Callable[[Task, ChatModel, Reporter], Written]


def in_one_piece(task: Task, chat: ChatModel, reporter: Reporter) -> Written:
    """Write the answer in one call, shown as it comes. Raises as ``stream`` does."""
    reporter.emit(EventKind.STEP, WRITING)
    prompt, context = composed(task, form=task.asking.options.response)
    request: ChatRequest[Any] = ChatRequest(Role.ANSWER, prompt, task.about)
    sieve, is_refused = stream(chat, request, task.numbering, reporter)
    said = [] if is_refused else citing.sentences_in(sieve.text, sieve.placed)
    return Written(said, context, sieve.counts, is_refused)


def write(
    asking: Asking,
    found: SearchResult,
    chat: ChatModel,
    reporter: Reporter,
    author: Author = in_one_piece,
) -> Draft:
    """Have the answer written and check it. Call outside transactions. Raises ModelError if no
    answer comes, StoppedError."""
    query, options = found.query, ports_for(found.query.workspace_id).options
    task = Task.of(asking, found, options)
    written = author(task, chat, reporter)
    reporter.emit(EventKind.STEP, CHECKING)
    judge = query.chat if options.wants_judge else None
    checked = checking.check_all(written.said, task.numbering, found, judge)
    sentences = conflicts.mark(checked.sentences, query, task.numbering)
    counts = checking.counts([one.check for one in sentences])
    is_supported = bool(counts["supported"] or counts["conflict"])
    nearest = [] if is_supported else citing.nearest(query.question, found.hits)
    without = Outcome.UNSURE if nearest else Outcome.NOTHING
    check: dict[str, Any] = {"by": checked.by, **counts, "added": checked.added}
    if checked.problem:
        check["problem"] = checked.problem
    trace = explain.trace(
        asking, found, context=written.context, citations=written.counts.as_json(), check=check
    )
    more = {"refused": written.is_refused, **written.figures}
    if options.instructions:
        more["workspace_instructions"] = options.instructions
    return Draft(
        outcome=Outcome.ANSWERED if is_supported else without,
        is_supported=is_supported,
        sentences=sentences,
        citations=citing.cited_passages(sentences, task.numbering),
        nearest=nearest,
        trace=found.trace | trace | more,
        mode=found.mode.name,
        written_by=chat.model_of(Role.ANSWER)[:LONGEST_NAME],
    )


def composed(
    task: Task,
    *,
    form: str,
    section: str = "",
    most: int = MOST_TOKENS,
    first: frozenset[str] = frozenset(),
) -> tuple[Prompt, Context]:
    """Return the prompt with as much context as fits, at most ``most`` tokens.

    ``form`` names the prompt that says what the answer is to look like. Without a model the context
    is as long as the largest window gets.
    """
    empty = _prompt(task, form, section, "")
    if (chat := task.found.query.writer) is not None:
        most = min(most, room_beside(empty, chat))
    context = task.context(most, first)
    return _prompt(task, form, section, context.text), context


def room_beside(empty: Prompt, chat: ChatModel) -> int:
    """Return the tokens that a context may take in a prompt that is otherwise ``empty``."""
    return (
        chat.input_limit(Role.ANSWER) - count_tokens(empty.system) - count_tokens(empty.user) - 32
    )


def _prompt(task: Task, form: str, section: str, context: str) -> Prompt:
    general = "answer_general" if task.options.allows_general else "answer_closed"
    return load(_PROMPTS / "answer.md").fill(
        form=form_of(form),
        general=load(_PROMPTS / f"{general}.md").system,
        context=context,
        section=section,
        **task.said,
    )


def form_of(name: str) -> str:
    """Return what a prompt says on the form of an answer: of a response type, or of a section."""
    return load(_PROMPTS / f"answer_form_{name}.md").system


def instructions_of(asking: Asking, options: ModelOptions) -> dict[str, str]:
    """Return the instructions of the workspace and of the person who asks, as prompts take them."""
    given = {
        "workspace_instructions": ("Instructions of this workspace:", options.instructions),
        "instructions": ("Instructions of the person who asks:", asking.options.instructions),
    }
    return {
        name: f"{lead}\n{fenced(text, 'instructions')}" if text else ""
        for name, (lead, text) in given.items()
    }


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
