"""Questions: have a model ask what the main topics answer, to begin with (GraphRAG's question
generation).

In: the reports of the largest main topics.  Out: ``CommunityReport.questions``.
Safe to repeat: a report keeps its questions until it is written again, and without a new one
nothing is asked. One call for the workspace; if it fails, starter questions are made of passages
instead. Nothing is asked without a chat model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import regex
from pydantic import BaseModel, BeforeValidator, Field

from ingestion.models import CommunityReport, IngestionJob
from ingestion.models.communities import other_topics_id
from ingestion.stage import Progress, StageOutcome
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.llm.tokens import truncate_tokens
from kb_project.ports import Ports
from kb_project.prompt import fenced, load
from kb_project.text.names import normalise_name
from workspaces import access

STAGE: Final = "questions"
TOPICS: Final = 12
EACH: Final = 2
"""Questions kept for each topic."""
LONGEST: Final = 90
"""In characters: a question has to fit on a button."""
REPORT_TOKENS: Final = 200
PROMPT: Final = Path(__file__).parent.parent / "prompts" / "topic_questions.md"
_LABEL: Final = regex.compile(r"\s*\[?T(\d{1,3})\]?\s*", regex.IGNORECASE)
_ASKS: Final = regex.compile(r".*\p{L}.*[?？]", regex.DOTALL)


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    """Raises PauseError if the model must wait."""
    written = 0 if ports.chat is None else ask(job.workspace_id, ports.chat)
    progress(1, 1)
    return StageOutcome(written=written)


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


class TopicQuestion(BaseModel):
    """A question with the label of the topic that answers it."""

    topic: Annotated[str, BeforeValidator(_line)] = ""
    question: Annotated[str, BeforeValidator(_line)] = ""


class QuestionsReply(BaseModel):
    """What a model asks about some topics."""

    questions: list[TopicQuestion] = Field(default_factory=list)


def ask(workspace_id: UUID, chat: ChatModel) -> int:
    """Have questions asked if a report has none yet; return how many are kept."""
    with access.in_workspace(workspace_id):
        reports = _reports(workspace_id)
    if all(report.questions is not None for report in reports):
        return 0
    lines = [
        f"T{number} {truncate_tokens(_line(f'{one.title}: {one.summary}'), REPORT_TOKENS)}"
        for number, one in enumerate(reports, start=1)
    ]
    prompt = load(PROMPT).fill(reports=fenced("\n".join(lines), "reports"))
    request = ChatRequest(Role.SUMMARISE, prompt, About(STAGE), schema=QuestionsReply)
    try:
        reply = chat.ask(request).value
    except ReplyError:
        reply = None
    kept = kept_of(reply.questions if reply else (), len(reports))
    with access.in_workspace(workspace_id):
        rows = CommunityReport.objects.in_workspace(workspace_id)
        for one, questions in zip(reports, kept, strict=True):
            # A report that was written again meanwhile gets its questions next time.
            rows.filter(pk=one.pk, created_at=one.created_at).update(questions=questions)
    return sum(map(len, kept))


def kept_of(given: Iterable[TopicQuestion], count: int) -> list[list[str]]:
    """Return the usable questions of each of ``count`` topics, none twice.

    >>> kept_of([TopicQuestion(topic="T2", question="Who keeps the light?")], 2)
    [[], ['Who keeps the light?']]
    """
    kept: list[list[str]] = [[] for _ in range(count)]
    known: set[str] = set()
    for one in given:
        label, key = _LABEL.fullmatch(one.topic), normalise_name(one.question)
        place = int(label[1]) - 1 if label else -1
        is_question = _ASKS.fullmatch(one.question) and len(one.question) <= LONGEST
        if 0 <= place < count and is_question and key not in known and len(kept[place]) < EACH:
            known.add(key)
            kept[place].append(one.question)
    return kept


def _reports(workspace_id: UUID) -> Sequence[CommunityReport]:
    rows = CommunityReport.objects.in_workspace(workspace_id).filter(community__parent=None)
    telling = rows.exclude(community_id=other_topics_id(workspace_id))
    return list(telling.order_by("-community__size", "community_id")[:TOPICS])
