"""Make questions from the documents, for a person to accept or reject.

One for each passage of an even sample: by the chat model, whose quote must occur in the passage, or
on the local tier from a sentence that contains a name. "Ada Lind keeps the light" becomes "Who
keeps the light?"; if the name does not begin the sentence, it is replaced by a gap to fill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import regex
from pydantic import BaseModel, Field

from ingestion.models import Chunk, Mention
from kb_project.errors import InputError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.text.languages import HAN
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import terms
from retrieval.evaluation import evidence, queries, sets
from retrieval.evaluation.sets import Written
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
        # In any state: what a person rejected is not proposed again.
        made = queries.questions_of(workspace=workspace, question_set=question_set)
        stored = made.filter(origin="documents").values_list("evidence", flat=True)
        known = {(one["document"], one.get("chunk")) for pieces in stored for one in pieces}
    fresh = [pk for pk, document_id, ordinal in rows if (str(document_id), ordinal) not in known]
    first = spread(fresh, wanted)
    rest = [pk for pk in fresh if pk not in set(first)]
    return first + spread(rest, wanted * (TRIES - 1))


def spread(rows: Sequence[UUID], wanted: int) -> list[UUID]:
    """Return at most ``wanted`` rows, evenly spaced."""
    step = max(1.0, len(rows) / max(1, wanted))
    places = (int(number * step + step / 2) for number in range(wanted))
    return [rows[place] for place in places if place < len(rows)]


def checked(made: MadeQuestion, source: Source) -> Written | None:
    """Convert a question to one of a set; None if it is unusable or its quote is not in the
    passage."""
    quote, answer = _on_one_line(made.quote), _on_one_line(made.answer)
    if not quote or not answer or quote not in _on_one_line(source.text):
        return None
    try:
        text = clean_question(made.question)
    except InputError:
        return None
    if len(text) > LONGEST_QUESTION:
        return None
    piece = {
        "document": str(source.document_id),
        "chunk": source.ordinal,
        "quote": quote[: evidence.LONGEST_QUOTE],
    }
    return Written(text, (piece,), answer[: sets.LONGEST_ANSWER])


def _written(
    workspace: Workspace,
    sources: Sequence[Source],
    chat: ChatModel | None,
    check: Callable[[], None],
) -> Iterator[Written]:
    if chat is None:
        names = _names(workspace, sources)
        for source in sources:
            made = cloze(source.text, names.get(source.chunk_id, ()))
            if made and (kept := checked(made, source)):
                yield kept
        return
    replies: dict[int, MadeQuestion | None] = {}
    requests = [
        ChatRequest(
            Role.JUDGE,
            load(PROMPT).fill(
                title=fenced(source.title, "title"), passage=fenced(source.text, "passage")
            ),
            About(STAGE, document_id=source.document_id, chunk_id=source.chunk_id),
            MadeQuestion,
        )
        for source in sources
    ]
    for place, reply in chat.ask_many(requests):
        check()
        replies[place] = None if isinstance(reply, ReplyError) else reply.value
    for place, source in enumerate(sources):
        said = replies.get(place)
        if said and (kept := checked(said, source)):
            yield kept


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


def _names(workspace: Workspace, sources: Sequence[Source]) -> dict[UUID, list[Name]]:
    starts = {source.chunk_id: source.start for source in sources}
    found: dict[UUID, list[Name]] = {}
    with access.in_workspace(workspace.pk):
        rows = Mention.objects.in_workspace(workspace).filter(chunk_id__in=starts)
        for chunk_id, start, end, kind in rows.order_by("start", "-end").values_list(
            "chunk_id", "start", "end", "type"
        ):
            first = starts[chunk_id]
            found.setdefault(chunk_id, []).append(Name(start - first, end - first, kind))
    return found


# --- without a chat model -------------------------------------------------------------------------
SHORTEST: Final = 30
LONGEST: Final = 260
"""Characters of a sentence to make a question from; Chinese needs a third as many."""
FEWEST_TERMS: Final = 3
"""Terms besides the answer, by which it can be searched for."""
GAP: Final = "____"

_LEANS_ON_CONTEXT: Final = regex.compile(
    r"\W*(?:he|she|it|they|his|her|its|their|this|that|these|those|both|here|there|then|also|but|and"
    r"|however|such|another|other|we|i|you|our|my|your)\b|\W*[他她它这此其]",
    regex.IGNORECASE,
)
_ENDS: Final = regex.compile(r"[.。!！]['\"”’」』]*$")
_VERB_FOLLOWS: Final = regex.compile(
    r"\s+(?:is|was|has|had|keeps?|kept|founded|wrote|writes|built|made|makes|became|led|leads|held"
    r"|holds|won|designed|directed|played|plays|said|says|runs|ran|owns|owned|bought|sold|joined"
    r"|left|gave|gives|took|takes|opened|closed|moved|created|invented|discovered|married|died"
    r"|lives|lived|works|worked|\p{Ll}{3,}(?:ed|es))\s+\S"
)
_YEAR: Final = regex.compile(r"(?<![\d.,])(?:1[0-9]|20)\d\d(?![\d,]|\.\d)")
_ASKED: Final = {
    "person": "Who is missing here",
    "organization": "Which organisation is missing here",
    "group": "Which group is missing here",
    "place": "Which place is missing here",
    "location": "Which place is missing here",
    "facility": "Which place is missing here",
    "year": "Which year is missing here",
}
_ASKED_HAN: Final = "这句话里缺了什么"


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a passage; offsets are in the passage's text."""

    start: int
    end: int
    type: str


def cloze(text: str, names: Sequence[Name]) -> MadeQuestion | None:
    """Return a passage's best question: who-questions first, then gaps, in reading order."""
    found = list(_questions(text, names))
    return min(found, key=lambda made: GAP in made.question, default=None)


def _questions(text: str, names: Sequence[Name]) -> Iterator[MadeQuestion]:
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if not _stands_alone(sentence):
            continue
        inside = [one for one in names if start <= one.start and one.end <= end]
        years = [
            Name(start + found.start(), start + found.end(), "year")
            for found in _YEAR.finditer(sentence)
        ]
        for name in [*inside, *years]:
            question = _question(sentence, name, start)
            if question:
                yield MadeQuestion(question=question, answer=_on_one_line(sentence), quote=sentence)


def _stands_alone(sentence: str) -> bool:
    """Return whether the sentence can be understood without the one before it."""
    length = len(sentence) * (3 if HAN.search(sentence) else 1)
    is_prose = _ENDS.search(sentence) is not None and "|" not in sentence
    return SHORTEST <= length <= LONGEST and is_prose and not _LEANS_ON_CONTEXT.match(sentence)


def _question(sentence: str, name: Name, start: int) -> str:
    """Return the question, '' if too little is left to search for the answer by."""
    before, after = sentence[: name.start - start], sentence[name.end - start :]
    own = set(terms(sentence[name.start - start : name.end - start]))
    if not own or len(set(terms(before + " " + after)) - own) < FEWEST_TERMS:
        return ""
    kind = name.type.lower()
    if kind == "person" and not before.strip() and _VERB_FOLLOWS.match(after):
        return f"Who {_ENDS.sub('', _on_one_line(after))}?"
    asked = _ASKED_HAN if HAN.search(sentence) else _ASKED.get(kind)
    if not asked:
        return ""
    return f"{asked}: “{_on_one_line(before + GAP + after)}”"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
