"""Read and write question sets as files: one JSON object per line, as for ``manage.py evaluate``.

``{"question", "evidence": [title or id, or {"doc", "chunk"?, "quote"?}, …], "answer"?}``
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kb_project.errors import InputError
from kb_project.llm.structured import storable
from retrieval.evaluation import evidence
from retrieval.evaluation.dataset import readable
from retrieval.evaluation.evidence import Names
from retrieval.models import SetQuestion
from retrieval.search.query import LONGEST_QUESTION, clean_question

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


def read(content: bytes, names: Names) -> list[Written]:
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


def write(questions: Iterable[SetQuestion], names: Names) -> Iterator[str]:
    """Yield each question as a line."""
    for question in questions:
        record = {
            "question": question.text,
            "evidence": evidence.written(question.evidence, names),
        }
        if question.answer:
            record["answer"] = question.answer
        yield json.dumps(record, ensure_ascii=False) + "\n"


def checked_answer(answer: object) -> str:
    """Validate an answer. Raises InputError if it is not text or is too long."""
    if not isinstance(answer, str | int | float) or isinstance(answer, bool):
        raise InputError("its answer is not text")
    text = storable(readable(str(answer))).strip()
    if len(text) > LONGEST_ANSWER:
        raise InputError(f"its answer has more than {LONGEST_ANSWER:,} characters")
    return text


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


def refuse_too_many(count: int) -> None:
    """Raise InputError if a set would have more questions than allowed."""
    if count > MOST_QUESTIONS:
        raise InputError(
            f"A set may have at most {MOST_QUESTIONS:,} questions.",
            code="questions_too_many",
            kept="No question was added.",
            next_step="Split the questions into several sets.",
        )
