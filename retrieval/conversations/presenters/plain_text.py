"""Write an answer with its sources, or a whole conversation, as plain text to take elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from django.utils import timezone

from retrieval.conversations import queries
from retrieval.conversations.presenters.answers import ShownAnswer, shown_answer
from retrieval.conversations.presenters.pages import conversation_of
from retrieval.conversations.presenters.paragraphs import ShownSentence
from retrieval.models import AnswerState, Question
from workspaces.models import Workspace

DOUBTS: Final = {
    "unsupported": "not supported by its source",
    "uncited": "no source found",
    "general": "general knowledge of the model, not from the documents",
    "conflict": "the sources differ",
}
"""What checking a sentence said, by verdict; of others nothing needs saying."""
NOT_ANSWERED: Final = {
    AnswerState.FAILED: "It could not be answered.",
    AnswerState.QUEUED: "It is still being answered.",
    AnswerState.RUNNING: "It is still being answered.",
}


def answer_text(answer: ShownAnswer, *, origin: str) -> str:
    """Return the answer and its numbered sources. ``origin`` begins their addresses, such as
    ``https://kb.example.org``."""
    if answer.state in NOT_ANSWERED:
        return NOT_ANSWERED[AnswerState(answer.state)]
    if not answer.paragraphs:
        return answer.message
    parts = [*_body(answer), *([answer.note] if answer.note else [])]
    if answer.state == AnswerState.STOPPED:
        parts.append("This answer was stopped. Its sentences were not checked.")
    if answer.citations:
        parts.append("\n".join(("Sources", *_sources(answer, origin))))
    return "\n\n".join(parts)


def conversation_text(*, workspace: Workspace, question: Question, origin: str) -> str:
    """Return all questions of the question's conversation, each with its newest finished answer."""
    parts = [f"{workspace.name}, saved on {timezone.localtime():%-d %B %Y}"]
    for one, answer in conversation_of(workspace=workspace, question=question):
        day = f"{timezone.localtime(one.created_at):%-d %B %Y, %H:%M}"
        parts.append(f"{one.text}\n{'-' * 20}\nAsked on {day}")
        if answer:
            asked = queries.asked(workspace=workspace, question_id=one.pk, answer_id=answer.pk)
            shown = shown_answer(workspace=workspace, asked=asked)
            parts.append(answer_text(shown, origin=origin))
    return "\n\n".join(parts) + "\n"


def _body(answer: ShownAnswer) -> Iterator[str]:
    """Yield the paragraphs; entries that follow each other are one list, rows have a line each."""
    for is_list, group in groupby(answer.paragraphs, lambda one: one.kind == "entry"):
        lines = [("\n" if one.columns else " ").join(map(_said, one.sentences)) for one in group]
        yield from ["\n".join(f"- {line}" for line in lines)] if is_list else lines


def _said(sentence: ShownSentence) -> str:
    numbers = "".join(f"[{chip.number}]" for chip in sentence.chips)
    doubt = DOUBTS.get(sentence.verdict, "")
    return " ".join(filter(None, (sentence.text, numbers, f"({doubt})" if doubt else "")))


def _sources(answer: ShownAnswer, origin: str) -> Iterator[str]:
    for one in answer.citations:
        place = f", {one.where}" if one.where else ""
        yield f"[{one.number}] {one.title}{place}: “{' '.join(one.passage.quote.split())}”"
        if one.url:
            yield f"    {origin}{one.url}"
