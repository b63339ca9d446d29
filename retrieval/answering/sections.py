"""Write a report of several pages: an outline in one call, then its sections side by side.

Every section is written from what the outline names for it, with the usual rules for citing. A
section that fails is named in a note, and the others stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import regex
from pydantic import BaseModel, BeforeValidator, Field

from kb_project.errors import ModelError, PauseError, ReplyError
from kb_project.llm.ports import ChatModel, ChatRequest, Role
from kb_project.llm.structured import schema_text
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering import writing
from retrieval.answering.citations import citing
from retrieval.answering.citations.citing import ModelSentence
from retrieval.answering.citations.labels import labels_in
from retrieval.answering.citations.markers import Counts, MarkerFilter
from retrieval.answering.context import Context
from retrieval.answering.writing import Refusal, Task, Written
from retrieval.search.global_search.model_calls import Text, Texts, objects_of
from retrieval.search.reporting import EventKind, Reporter

MOST_SECTIONS: Final = 8
OUTLINE_TOKENS: Final = 24_000
"""Of what was found, to plan from: twice what an answer is written from."""
SECTION_TOKENS: Final = 8_000
LONGEST_TITLE: Final = 120
LONGEST_COVERS: Final = 400
PLANNING: Final = {"name": "write", "sentence": "Planning the report."}
_OUTLINE: Final = Path(__file__).parent.parent / "prompts" / "report_outline.md"
_HEADINGS: Final = regex.compile(r"\A(?:\s*#{1,6} [^\n]*\n+)+")
_MARKS: Final = regex.compile(r"[\[\]【】#`*_<>]+")


class SectionPlan(BaseModel):
    """A section as planned; ``labels`` are those of what it rests on."""

    title: Text = ""
    covers: Text = ""
    labels: Texts = Field(default_factory=list)

    @property
    def heading(self) -> str:
        """The title on one line, without anything that could pass for a marker or mark-up."""
        return " ".join(_MARKS.sub(" ", self.title).split())[:LONGEST_TITLE]


class Outline(BaseModel):
    """The sections of a report; none if the documents do not answer the question."""

    sections: Annotated[list[SectionPlan], BeforeValidator(objects_of)]


@dataclass(frozen=True, slots=True)
class _Section:
    """A section to write, with the context it is written from."""

    plan: SectionPlan
    context: Context
    prompt: Prompt


def written(task: Task, chat: ChatModel, reporter: Reporter) -> Written:
    """Write the report. Raises ReplyError if no section comes, PauseError if it must wait,
    StoppedError."""
    reporter.emit(EventKind.STEP, PLANNING)
    outline, context = _planned(task, chat)
    reporter.check()
    if outline is None:
        task.found.query.note(
            "outline_lost",
            "The model gave no usable outline, so the report was written in one piece.",
        )
        return writing.in_one_piece(task, chat, reporter)
    plans = [plan for plan in outline.sections if plan.heading][:MOST_SECTIONS]
    if not plans:
        return Written((), context, Counts(), is_refused=True)
    sections = [_section(task, plans, plan) for plan in plans]
    return _all_written(task, chat, reporter, sections).written(context, len(plans))


# --- the outline ----------------------------------------------------------------------------------


def _planned(task: Task, chat: ChatModel) -> tuple[Outline | None, Context]:
    """Return the outline, None without a usable one, and what it was planned from."""
    room = writing.room_beside(_outline_prompt(task, ""), chat) - count_tokens(schema_text(Outline))
    context = task.context(min(OUTLINE_TOKENS, room))
    prompt = _outline_prompt(task, context.text)
    request = ChatRequest(Role.ANSWER, prompt, task.about, schema=Outline)
    try:
        return chat.ask(request).value, context
    except ReplyError:
        return None, context


def _outline_prompt(task: Task, context: str) -> Prompt:
    return load(_OUTLINE).fill(context=context, **task.said)


# --- the sections ---------------------------------------------------------------------------------


def _section(task: Task, plans: Sequence[SectionPlan], plan: SectionPlan) -> _Section:
    outline = "\n".join(f"{one.heading}: {one.covers[:LONGEST_COVERS]}" for one in plans)
    wanted = f"{plan.heading}: {plan.covers[:LONGEST_COVERS]}"
    extra = f"{fenced(outline, 'outline')}\n\n{fenced(wanted, 'section')}"
    named = {label for text in plan.labels for label in labels_in(f"[{text}]") or ()}
    prompt, context = writing.composed(
        task, form="section", section=extra, most=SECTION_TOKENS, first=frozenset(named)
    )
    return _Section(plan, context, prompt)


class _Report:
    """Takes the sections in their order, and shows each at once."""

    def __init__(self, task: Task, reporter: Reporter) -> None:
        self._task = task
        self._reporter = reporter
        self._given: frozenset[str] = frozenset()
        self._counts: Counter[str] = Counter()
        self.said: list[ModelSentence] = []
        self.lost: list[str] = []
        self.taken = 0
        self.kept = 0

    def take(self, section: _Section, text: str | None) -> None:
        """Take the next section; None if it failed. One that says nothing is left out."""
        self.taken += 1
        if text is None:
            self.lost.append(section.plan.heading)
            return
        self._task.numbering.given = section.context.labels
        self._given |= section.context.labels
        sieve, refusal = MarkerFilter(self._task.numbering), Refusal()
        body = refusal.feed(_HEADINGS.sub("", text)) + refusal.close()
        sieve.feed(body.strip())
        sieve.close()
        if writing.says_nothing(sieve, refusal):
            return
        self.kept += 1
        self._counts.update(sieve.counts.as_json())
        head = ("\n\n" if self.said else "") + f"## {section.plan.heading}"
        self._reporter.emit(EventKind.TEXT, {"text": f"{head}\n\n{sieve.text}"})
        first, *others = citing.sentences_in(sieve.text, sieve.placed)
        self.said += [ModelSentence(head, ()), replace(first, text=f"\n\n{first.text}"), *others]

    def written(self, context: Context, planned: int) -> Written:
        self._task.numbering.given = self._given
        figures = {"report": {"planned": planned, "written": self.kept, "lost": len(self.lost)}}
        counts = Counts(**self._counts)
        return Written(self.said, context, counts, is_refused=not self.said, figures=figures)


def _all_written(
    task: Task, chat: ChatModel, reporter: Reporter, sections: Sequence[_Section]
) -> _Report:
    """Write the sections side by side; each is shown once those before it are there."""
    count = len(sections)
    requests: list[ChatRequest[Any]] = [
        ChatRequest(Role.ANSWER, one.prompt, task.about) for one in sections
    ]
    report, arrived = _Report(task, reporter), dict[int, str | None]()
    error: ModelError | None = None
    reporter.emit(EventKind.STEP, {"name": "write", "sentence": f"Writing {count} sections."})
    replies = chat.ask_many(requests)
    try:
        for place, reply in replies:
            reporter.check()
            error = reply if isinstance(reply, ReplyError) else error
            arrived[place] = None if isinstance(reply, ReplyError) else reply.text
            while report.taken in arrived:
                report.take(sections[report.taken], arrived[report.taken])
    except PauseError as pause:
        # What is written stays, and an answer does not wait for the rest of it.
        error = pause
        for place in range(report.taken, count):
            report.take(sections[place], arrived.get(place))
    finally:
        if isinstance(replies, Generator):
            replies.close()
    if error and not report.said:
        raise error
    if error:
        _note(task, report.lost, count, error)
    return report


def _note(task: Task, lost: Sequence[str], count: int, error: ModelError) -> None:
    names = ", ".join(f"“{one}”" for one in lost)
    missing = "One section is" if len(lost) == 1 else f"{len(lost)} of {count} sections are"
    task.found.query.note("sections_lost", f"{missing} missing: {names}. {error.happened}")
