"""Question sets, by which a workspace measures itself: every change to them, and their file format.

A file has one JSON object per line, as for ``manage.py evaluate``:
``{"question", "evidence": [title or id, or {"doc", "chunk"?, "quote"?}, …], "answer"?}``
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Max

from kb_project.errors import ConflictError, InputError
from kb_project.llm.structured import storable
from retrieval.conversations import queries as conversation_queries
from retrieval.evaluation import evidence, queries
from retrieval.evaluation.dataset import readable
from retrieval.evaluation.evidence import Names
from retrieval.models import AnswerState, QuestionSet, SetQuestion
from retrieval.search.query import LONGEST_QUESTION, clean_question
from workspaces import access, audit
from workspaces.audit import Target
from workspaces.models import AuditAction, User, Workspace

logger = logging.getLogger(__name__)

LONGEST_NAME: Final = 120
MOST_SETS: Final = 200
State = SetQuestion.State
LARGEST_FILE: Final = 8_000_000
"""In bytes."""
MOST_QUESTIONS: Final = 2_000
"""In a set; a run asks at most this many."""
LONGEST_ANSWER: Final = 8_000
MOST_NAMED: Final = 12
"""Bad lines named with their fault; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Written:
    """A question as a person writes it; ``evidence`` in the stored form."""

    text: str
    evidence: tuple[dict[str, Any], ...]
    answer: str = ""


def set_create(*, workspace: Workspace, user: User | None, name: str) -> QuestionSet:
    """Create a set. Raises InputError, and ConflictError if the name is taken."""
    name = _checked_name(name)
    with access.in_workspace(workspace.pk):
        rows = QuestionSet.objects.in_workspace(workspace)
        if rows.count() >= MOST_SETS:
            raise ConflictError(f"A workspace may have at most {MOST_SETS} question sets.")
        _refuse_taken(workspace, name)
        made = QuestionSet.objects.create(workspace=workspace, name=name, added_by=user)
    logger.info("question set created workspace=%s set=%s", workspace.pk, made.pk)
    return made


def set_rename(*, workspace: Workspace, question_set: QuestionSet, name: str) -> QuestionSet:
    name = _checked_name(name)
    with access.in_workspace(workspace.pk):
        if name != question_set.name:
            _refuse_taken(workspace, name)
        question_set.name = name
        question_set.save(update_fields=["name"])
    return question_set


def set_delete(*, workspace: Workspace, question_set: QuestionSet) -> None:
    """Delete a set, with its questions and runs. Raises ConflictError while a run is under way."""
    with access.in_workspace(workspace.pk):
        queries.check_no_run(
            workspace=workspace,
            question_set=question_set,
            kept="Nothing was deleted.",
            next_step="Stop the run first.",
        )
        QuestionSet.objects.in_workspace(workspace).filter(pk=question_set.pk).delete()
        _audited(AuditAction.SET_DELETED, question_set, workspace)
    logger.info("question set deleted workspace=%s set=%s", workspace.pk, question_set.pk)


def set_import(*, workspace: Workspace, question_set: QuestionSet, content: bytes) -> int:
    """Add all questions of a file, or none: InputError names the lines at fault."""
    found = parse(content, evidence.names_in(workspace))
    return len(_add(workspace, question_set, found, origin="file"))


def set_export(*, workspace: Workspace, question_set: QuestionSet) -> str:
    """Return the accepted questions as a file that can be imported again."""
    names = evidence.names_in(workspace)
    with access.in_workspace(workspace.pk):
        rows = list(queries.accepted_of(workspace=workspace, question_set=question_set))
        _audited(AuditAction.QUESTIONS_EXPORTED, question_set, workspace, questions=len(rows))
    return "".join(export(rows, names))


def _audited(action: AuditAction, subject: QuestionSet, workspace: Workspace, **after: int) -> None:
    target, user = Target("question set", subject.pk, subject.name), audit.acting(workspace)
    audit.record(action, workspace=workspace, user=user, target=target, after=after)


def question_add(
    *,
    workspace: Workspace,
    question_set: QuestionSet,
    text: str,
    evidence_given: object,
    answer: str = "",
) -> SetQuestion:
    """Add a question by hand; ``evidence_given`` as in a file. Raises InputError."""
    written = _checked(workspace, text, evidence_given, answer)
    return _add(workspace, question_set, [written], origin="person")[0]


def question_change(
    *,
    workspace: Workspace,
    question: SetQuestion,
    text: str,
    evidence_given: object,
    answer: str = "",
) -> SetQuestion:
    """Change a question. That also accepts it."""
    written = _checked(workspace, text, evidence_given, answer)
    with access.in_workspace(workspace.pk):
        question.text, question.answer = written.text, written.answer
        question.evidence, question.state = list(written.evidence), State.ACCEPTED
        question.save(update_fields=["text", "answer", "evidence", "state"])
    return question


def question_delete(*, workspace: Workspace, question: SetQuestion) -> None:
    """Delete a question, with its results in all runs."""
    with access.in_workspace(workspace.pk):
        SetQuestion.objects.in_workspace(workspace).filter(pk=question.pk).delete()


def questions_decide(
    *, workspace: Workspace, question_set: QuestionSet, ids: Sequence[UUID], accept: bool
) -> int:
    """Accept or reject proposed questions; return how many were decided."""
    with access.in_workspace(workspace.pk):
        rows = queries.questions_of(workspace=workspace, question_set=question_set)
        return rows.filter(pk__in=ids, state=State.PROPOSED).update(
            state=State.ACCEPTED if accept else State.REJECTED
        )


def question_keep(
    *, workspace: Workspace, question_set: QuestionSet, question_id: UUID
) -> SetQuestion:
    """Add a question someone asked: its answer becomes the expected one, its citations the
    evidence.

    Raises NotFoundError, and ConflictError if it is unanswered or the answer cites nothing.
    """
    with access.in_workspace(workspace.pk):
        asked = conversation_queries.asked(workspace=workspace, question_id=question_id)
        ids = [citation.chunk_id for citation in asked.citations]
        chunks = conversation_queries.chunks_by_id(workspace=workspace, ids=ids)
    if asked.answer.state in (AnswerState.QUEUED, AnswerState.RUNNING):
        raise ConflictError(
            "The question is still being answered.",
            code="answer_unfinished",
            kept="No question was added.",
            next_step="Add it once the answer is finished.",
        )
    if not any(citation.document_id for citation in asked.citations):
        raise ConflictError(
            "The answer cites nothing, so its evidence is unknown.",
            code="answer_uncited",
            kept="No question was added.",
            next_step="Add the question manually, with the document that answers it.",
        )
    pieces = [
        {
            "document": str(citation.document_id),
            "chunk": chunks[citation.chunk_id].ordinal if citation.chunk_id in chunks else None,
            "quote": citation.quote[: evidence.LONGEST_QUOTE],
        }
        for citation in asked.citations[: evidence.MOST_PIECES]
        if citation.document_id is not None
    ]
    text = asked.question.standalone or asked.question.text
    written = Written(text, tuple(pieces), asked.answer.text[:LONGEST_ANSWER])
    return _add(workspace, question_set, [written], origin="answer")[0]


def questions_propose(
    *, workspace: Workspace, question_set: QuestionSet, found: Sequence[Written]
) -> list[SetQuestion]:
    """Add questions made from the documents, which count once a person has accepted them."""
    return _add(workspace, question_set, found, origin="documents", state=State.PROPOSED)


def _add(
    workspace: Workspace,
    question_set: QuestionSet,
    found: Sequence[Written],
    *,
    origin: str,
    state: SetQuestion.State = State.ACCEPTED,
) -> list[SetQuestion]:
    """Append questions to the set, skipping those whose text it already has."""
    with access.in_workspace(workspace.pk):
        rows = queries.questions_of(workspace=workspace, question_set=question_set)
        # Lock the set: two concurrent additions would assign the same ordinals.
        QuestionSet.objects.in_workspace(workspace).select_for_update().get(pk=question_set.pk)
        known: dict[str, SetQuestion] = {_folded(row.text): row for row in rows}
        first_of_each = {_folded(one.text): one for one in reversed(found)}
        new = [one for key, one in reversed(first_of_each.items()) if key not in known]
        refuse_too_many(len(known) + len(new))
        first = (rows.aggregate(last=Max("ordinal"))["last"] or 0) + 1
        made = SetQuestion.objects.bulk_create(
            SetQuestion(
                workspace=workspace,
                question_set=question_set,
                ordinal=ordinal,
                text=one.text,
                answer=one.answer,
                evidence=list(one.evidence),
                state=state,
                origin=origin,
            )
            for ordinal, one in enumerate(new, start=first)
        )
    if not made and len(found) == 1 and state == State.ACCEPTED:
        raise ConflictError(
            "The set already has this question.",
            code="question_known",
            kept="Nothing was changed.",
        )
    return list(made)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _checked(workspace: Workspace, text: str, given: object, answer: Any) -> Written:
    names = evidence.names_in(workspace)
    try:
        pieces = evidence.of_lines(given, names) if isinstance(given, str) else given
        pieces = list(pieces) if isinstance(pieces, tuple) else pieces
        found = tuple(evidence.checked(pieces, names))
        return Written(clean_question(storable(text)), found, checked_answer(answer or ""))
    except InputError as error:
        # Faults of lines are sentence fragments.
        happened = error.happened[:1].upper() + error.happened[1:].rstrip(".") + "."
        raise InputError(
            happened, code=error.code, kept="Nothing was changed.", next_step=error.next_step
        ) from error


def _checked_name(name: str) -> str:
    found = " ".join(storable(name).split())
    if not found or len(found) > LONGEST_NAME:
        raise InputError(
            f"A question set needs a name of at most {LONGEST_NAME} characters.",
            code="set_name_invalid",
            kept="Nothing was changed.",
        )
    return found


def _refuse_taken(workspace: Workspace, name: str) -> None:
    if QuestionSet.objects.in_workspace(workspace).filter(name=name).exists():
        raise ConflictError(
            f"A question set named '{name}' already exists.",
            code="set_name_taken",
            kept="Nothing was changed.",
            next_step="Choose another name.",
        )


def checked_answer(answer: object) -> str:
    """Validate an answer. Raises InputError if it is not text or is too long."""
    if not isinstance(answer, str | int | float) or isinstance(answer, bool):
        raise InputError("its answer is not text")
    text = storable(readable(str(answer))).strip()
    if len(text) > LONGEST_ANSWER:
        raise InputError(f"its answer has more than {LONGEST_ANSWER:,} characters")
    return text


def refuse_too_many(count: int) -> None:
    """Raise InputError if a set would have more questions than allowed."""
    if count > MOST_QUESTIONS:
        raise InputError(
            f"A set may have at most {MOST_QUESTIONS:,} questions.",
            code="questions_too_many",
            kept="No question was added.",
            next_step="Split the questions into several sets.",
        )


# --- files ----------------------------------------------------------------------------------------
def parse(content: bytes, names: Names) -> list[Written]:
    """Read all questions of a file. Raises InputError that names each bad line by its number."""
    found: list[Written] = []
    faults: list[tuple[int, str]] = []
    for number, line in _lines(content):
        try:
            found.append(_question(line, names))
        except InputError as error:
            faults.append((number, error.happened.rstrip(".")))
    if faults:
        raise _refused(faults, len(faults) + len(found))
    if not found:
        raise InputError("The file contains no questions.", code="questions_empty")
    refuse_too_many(len(found))
    return found


def export(questions: Iterable[SetQuestion], names: Names) -> Iterator[str]:
    """Yield each question as a line."""
    for question in questions:
        record = {
            "question": question.text,
            "evidence": evidence.written(question.evidence, names),
        }
        if question.answer:
            record["answer"] = question.answer
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, numbered from 1."""
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"The file is larger than {LARGEST_FILE // 1_000_000} MB.", code="questions_too_large"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = content[: error.start].count(b"\n") + 1
        raise InputError(f"Line {place} is not UTF-8.", code="questions_invalid") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _question(line: str, names: Names) -> Written:
    record = _record(line)
    question = record.get("question")
    if not isinstance(question, str):
        raise InputError("it has no text 'question'")
    if len(question) > LONGEST_QUESTION:
        raise InputError(f"its question has more than {LONGEST_QUESTION:,} characters")
    return Written(
        clean_question(storable(readable(question))),
        tuple(evidence.checked(record.get("evidence"), names)),
        checked_answer(record.get("answer") or ""),
    )


def _record(line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("it is not JSON") from None
    if not isinstance(record, dict):
        raise InputError("it is not a JSON object")
    return record


def _refused(faults: list[tuple[int, str]], lines: int) -> InputError:
    """
    >>> _refused([(2, "it is not JSON")], 3).happened
    '1 of 3 lines cannot be used. Line 2: it is not JSON.'
    """
    named = "; ".join(f"line {number}: {fault}" for number, fault in faults[:MOST_NAMED])
    more = len(faults) - MOST_NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return InputError(
        f"{len(faults)} of {lines} lines cannot be used. {named[:1].upper()}{named[1:]}{rest}.",
        code="questions_invalid",
        kept="No question was added.",
        next_step="Correct these lines and upload the file again.",
    )
