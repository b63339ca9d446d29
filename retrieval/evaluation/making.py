"""Make questions from the documents, for a person to accept or reject.

One for each passage of an even sample: by the chat model, whose quote must occur in the passage, or
on the local tier from a sentence that contains a name (``cloze``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, Field

from ingestion.models import Chunk, Mention
from kb_project.errors import InputError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load
from retrieval.evaluation import cloze, evidence, files, queries, sets
from retrieval.evaluation.files import Written
from retrieval.models import EvaluationRun, QuestionSet
from retrieval.search.query import clean_question
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

PROMPT: Final = Path(__file__).parents[1] / "prompts" / "make_questions.md"
STAGE: Final = "evaluate"
MOST: Final = 200
"""Questions made in one run."""
TRIES: Final = 3
"""Passages tried for each question wanted: some state nothing to ask about."""
AT_ONCE: Final = 8
FEWEST_TOKENS: Final = 8
LONGEST_QUESTION: Final = 500

Write = Callable[..., bool]


class MadeQuestion(BaseModel):
    question: str = Field(max_length=4_000)
    answer: str = Field(max_length=8_000)
    quote: str = Field(max_length=8_000)


@dataclass(frozen=True, slots=True)
class Source:
    """A passage to ask about."""

    chunk_id: UUID
    document_id: UUID
    title: str
    ordinal: int
    start: int
    text: str


def make(
    workspace: Workspace, run: EvaluationRun, *, check: Callable[[], None], write: Write
) -> None:
    """Continue a run of kind MAKE. Raises StoppedError from ``check``, PauseErrors."""
    chat = ports_for(workspace.pk).chat
    wanted = int(run.conditions["wanted"])
    ids = run.conditions.get("chunks")
    if ids is None:
        ids = [str(pk) for pk in sample(workspace, run.question_set, wanted)]
    conditions = {**run.conditions, "chunks": ids}
    made_by = chat.model_of(Role.JUDGE) if chat else "sentences"
    write(total=len(ids), conditions=conditions, judged_by=made_by[:120])
    done, made = run.done, int(run.conditions.get("made", 0))
    while done < len(ids) and made < wanted:
        check()
        batch = ids[done : done + min(AT_ONCE, wanted - made)]
        found = list(_written(workspace, _sources(workspace, batch), chat, check))
        with access.in_workspace(workspace.pk):
            made += len(
                sets.questions_propose(
                    workspace=workspace, question_set=run.question_set, found=found
                )
            )
            done += len(batch)
            write(done=done, conditions=conditions | {"made": made})
    write(total=done)


def sample(workspace: Workspace, question_set: QuestionSet, wanted: int) -> list[UUID]:
    """Return passages spread evenly over all documents, deterministically, skipping those already
    used."""
    with access.in_workspace(workspace.pk):
        rows = list(
            Chunk.objects.in_workspace(workspace)
            .filter(tokens__gte=FEWEST_TOKENS)
            .order_by("document__title", "document_id", "ordinal")
            .values_list("pk", "document_id", "ordinal")
        )
        known = _asked_about(workspace, question_set)
    fresh = [pk for pk, document_id, ordinal in rows if (str(document_id), ordinal) not in known]
    first = spread(fresh, wanted)
    rest = [pk for pk in fresh if pk not in set(first)]
    return first + spread(rest, wanted * (TRIES - 1))


def spread(rows: Sequence[UUID], wanted: int) -> list[UUID]:
    """Return at most ``wanted`` rows, evenly spaced."""
    step = max(1.0, len(rows) / max(1, wanted))
    places = (int(number * step + step / 2) for number in range(wanted))
    return [rows[place] for place in places if place < len(rows)]


def checked(said: MadeQuestion, source: Source) -> Written | None:
    """Convert a model's question to one of a set; None if its quote is not in the passage."""
    quote = " ".join(said.quote.split())
    if not quote or quote not in " ".join(source.text.split()):
        return None
    return _as_written(source, said.question, said.answer, quote)


def _written(
    workspace: Workspace,
    sources: Sequence[Source],
    chat: ChatModel | None,
    check: Callable[[], None],
) -> Iterator[Written]:
    if chat is None:
        names = _names(workspace, sources)
        for source in sources:
            made = cloze.make(source.text, names.get(source.chunk_id, ()))
            if made and (kept := _as_written(source, made.question, made.answer, made.quote)):
                yield kept
        return
    replies: dict[int, MadeQuestion | None] = {}
    for place, reply in chat.ask_many([_request(source) for source in sources]):
        check()
        replies[place] = None if isinstance(reply, ReplyError) else reply.value
    for place, source in enumerate(sources):
        said = replies.get(place)
        if said and (kept := checked(said, source)):
            yield kept


def _request(source: Source) -> ChatRequest[MadeQuestion]:
    prompt = load(PROMPT).fill(
        title=fenced(source.title, "title"), passage=fenced(source.text, "passage")
    )
    about = About(STAGE, document_id=source.document_id, chunk_id=source.chunk_id)
    return ChatRequest(Role.JUDGE, prompt, about, MadeQuestion)


def _as_written(source: Source, question: str, answer: str, quote: str) -> Written | None:
    try:
        text = clean_question(question)
    except InputError:
        return None
    said = " ".join(answer.split())[: files.LONGEST_ANSWER]
    if not said or len(text) > LONGEST_QUESTION:
        return None
    piece = {
        "document": str(source.document_id),
        "chunk": source.ordinal,
        "quote": " ".join(quote.split())[: evidence.LONGEST_QUOTE],
    }
    return Written(text, (piece,), said)


def _sources(workspace: Workspace, ids: Sequence[str]) -> list[Source]:
    """Return the passages in the order of the ids, skipping deleted ones."""
    with access.in_workspace(workspace.pk):
        rows = (
            Chunk.objects.in_workspace(workspace)
            .filter(pk__in=ids)
            .values_list("pk", "document_id", "document__title", "ordinal", "start", "text")
        )
        found = {str(row[0]): Source(*row) for row in rows}
    return [found[pk] for pk in ids if pk in found]


def _names(workspace: Workspace, sources: Sequence[Source]) -> dict[UUID, list[cloze.Name]]:
    starts = {source.chunk_id: source.start for source in sources}
    found: dict[UUID, list[cloze.Name]] = {}
    with access.in_workspace(workspace.pk):
        rows = Mention.objects.in_workspace(workspace).filter(chunk_id__in=starts)
        for chunk_id, start, end, kind in rows.order_by("start", "-end").values_list(
            "chunk_id", "start", "end", "type"
        ):
            first = starts[chunk_id]
            found.setdefault(chunk_id, []).append(cloze.Name(start - first, end - first, kind))
    return found


def _asked_about(workspace: Workspace, question_set: QuestionSet) -> set[tuple[str, Any]]:
    """Return the passages already used, in any state: what a person rejected is not proposed
    again."""
    rows = queries.questions_of(workspace=workspace, question_set=question_set)
    stored = rows.filter(origin="documents").values_list("evidence", flat=True)
    return {(one["document"], one.get("chunk")) for pieces in stored for one in pieces}
