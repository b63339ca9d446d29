"""Calls that read reports: labelled reports packed into prompts, calls side by side, replies.

Replies are bounded and normalised: nothing in them is trusted.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import regex
from pydantic import BaseModel, BeforeValidator, Field

from kb_project import prompt
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role, SchemaT
from kb_project.llm.structured import schema_text
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt, Template
from retrieval.search.global_search.ranking import Ranked
from retrieval.search.query import Query

TOKENS: Final = 12_000
"""Tokens of reports in one prompt, as in GraphRAG."""
SEED: Final = 86
"""GraphRAG's seed. Related topics are adjacent: shuffling keeps batches from being all of one
kind."""
SPARE: Final = 0.1
"""Share of a prompt's room left free, since servers count tokens differently."""
SMALLEST: Final = 200
"""Tokens always allowed for reports; if they are too many, the call fails with that error."""
LABEL_TOKENS: Final = 5
_PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"

STAGE: Final = "search"


@dataclass(frozen=True, slots=True)
class Batch:
    """Reports in one prompt. ``labels`` maps "T1" to its report; labels are unique per question."""

    labels: Mapping[str, Ranked]
    text: str


def template(name: str) -> Template:
    return prompt.load(_PROMPTS / f"{name}.md")


def filled(name: str, question: str, reports: str) -> Prompt:
    return template(name).fill(
        question=prompt.fenced(question, "question"), reports=prompt.fenced(reports, "reports")
    )


def ask_all(
    query: Query, chat: ChatModel, role: Role, schema: type[SchemaT], prompts: Sequence[Prompt]
) -> list[SchemaT | None]:
    """Make calls side by side; return each one's value, None if it got no usable reply.

    Raises StoppedError, after which no call continues, and PauseError if all must wait.
    """
    about = About(STAGE, question_id=query.question_id)
    requests = [ChatRequest(role, prompt, about, schema=schema) for prompt in prompts]
    found: list[SchemaT | None] = [None] * len(requests)
    replies = chat.ask_many(requests)
    try:
        for place, reply in replies:
            found[place] = None if isinstance(reply, ReplyError) else reply.value
            query.reporter.check()
    finally:
        if isinstance(replies, Generator):
            replies.close()
    return found


def room(chat: ChatModel, role: Role, empty: Prompt, schema: type[BaseModel]) -> int:
    """Return the tokens that reports may take in a prompt that is otherwise ``empty``."""
    taken = sum(map(count_tokens, (empty.system, empty.user, schema_text(schema))))
    left = chat.input_limit(role) - taken
    return max(SMALLEST, min(TOKENS, int(left * (1 - SPARE))))


def shuffled(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return the reports in a fixed order, whatever order they came in, with related ones apart."""
    ordered = sorted(ranked, key=lambda one: one.topic.place)
    random.Random(SEED).shuffle(ordered)  # noqa: S311 - an order, not a secret
    return ordered


def pack(
    ranked: Sequence[Ranked],
    budget: int,
    weights: Mapping[UUID, float],
    *,
    text: Callable[[Ranked], str] = lambda one: one.topic.text,
    most: int = 10_000,
) -> list[Batch]:
    """Put each report in exactly one batch, in the given order; inside a batch the heaviest first.

    At most ``most`` reports to a batch; a report longer than a batch is cut.
    """
    groups: list[list[tuple[Ranked, str]]] = []
    left = 0
    for one in ranked:
        line, cost = _line(text(one), budget)
        if not groups or cost > left or len(groups[-1]) == most:
            groups.append([])
            left = budget
        groups[-1].append((one, line))
        left -= cost
    return _labelled(groups, weights)


def _line(text: str, budget: int) -> tuple[str, int]:
    longest = budget - LABEL_TOKENS
    cost = count_tokens(text)
    if cost > longest:
        text, cost = truncate_tokens(text, longest), longest
    return text, cost + LABEL_TOKENS


def _labelled(
    groups: Sequence[Sequence[tuple[Ranked, str]]], weights: Mapping[UUID, float]
) -> list[Batch]:
    batches = []
    number = 0
    for group in groups:
        heaviest = sorted(
            group,
            key=lambda pair: (
                -weights.get(pair[0].topic.report.community, 0.0),
                -pair[0].topic.report.rating,
                pair[0].topic.place,
            ),
        )
        labels: dict[str, Ranked] = {}
        lines = []
        for one, line in heaviest:
            number += 1
            labels[f"T{number}"] = one
            lines.append(f"T{number} {line}")
        batches.append(Batch(labels, "\n".join(lines)))
    return batches


LONGEST_POINT: Final = 2_000
MOST_POINTS: Final = 20
HIGHEST_SCORE: Final = 100.0
HIGHEST_RATING: Final = 5.0

_LARGEST: Final = 1_000_000
# From the standard library: it knows the digits that ``float`` reads, and no newer ones.
_NUMBER: Final = re.compile(r"-?\d{1,9}(?:[.,]\d{1,9})?")
_UNSEEN: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def number_of(value: Any) -> float | None:
    """Return the first number in the value, or None.

    >>> number_of("85/100"), number_of("9"), number_of(7), number_of("high"), number_of(True)
    (85.0, 9.0, 7.0, None, None)
    """
    if isinstance(value, str):
        found = _NUMBER.search(value)
        return float(found.group().replace(",", ".")) if found else None
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    # Bounded before conversion to float, which fails for huge integers.
    return float(max(-_LARGEST, min(_LARGEST, value)))


def score_of(value: Any) -> float:
    """Return a score from 0 to 100; a value without a number scores 0.

    >>> score_of("9") < score_of("85"), score_of(250), score_of("very")
    (True, 100.0, 0.0)
    """
    return min(HIGHEST_SCORE, max(0.0, number_of(value) or 0.0))


def rating_of(value: Any) -> float | None:
    """Return a rating from 0 to 5, or None without a number."""
    number = number_of(value)
    return None if number is None else min(HIGHEST_RATING, max(0.0, number))


def text_of(value: Any) -> str:
    """Return any scalar as text on one line, without invisible characters; '' for anything else."""
    text = str(value)[: 2 * LONGEST_POINT] if isinstance(value, str | int | float) else ""
    return " ".join(_UNSEEN.sub(" ", text).split())


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def objects_of(value: Any) -> list[Any]:
    """Return the objects, ignoring anything else in the list."""
    return [one for one in list_of(value) if isinstance(one, dict | BaseModel)]


REPORTS: Final = "TP"
"""The letters that labels begin with in calls that read reports."""


@cache
def _label(letters: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}])([{letters}])\s?(\d{{1,6}})(?![\p{{L}}\p{{N}}])")


@cache
def _mark(letters: str) -> regex.Pattern[str]:
    """Match "[T1, T2]", "(P1)", "[Data: T1; T2]": brackets with nothing but labels in them."""
    return regex.compile(
        rf"\s*[\[(（【](?:Data:|Reports?:|Passages?:)?\s*[{letters}]\s?\d{{1,6}}"
        rf"(?:\s*(?:[,;，、]|and)?\s*[{letters}]\s?\d{{1,6}}){{0,20}}\s*[\])）】]"
    )


Text = Annotated[str, BeforeValidator(text_of)]
Texts = Annotated[list[Text], BeforeValidator(list_of)]
Score = Annotated[float, BeforeValidator(score_of)]


class PointReply(BaseModel):
    """A partial answer as a model gives it."""

    description: Text = ""
    score: Score = 0.0
    records: Texts = Field(default_factory=list)


class MapReply(BaseModel):
    """A model's notes on some reports."""

    points: Annotated[list[PointReply], BeforeValidator(objects_of)]


class RatingReply(BaseModel):
    """``rating`` is None if the model gave no number."""

    record: Text = ""
    rating: Annotated[float | None, BeforeValidator(rating_of)] = None


class RateReply(BaseModel):
    """Ratings of some reports."""

    ratings: Annotated[list[RatingReply], BeforeValidator(objects_of)]


def labels_in(texts: Iterable[str], letters: str = REPORTS) -> list[str]:
    """Return the labels in the texts, each once.

    >>> labels_in(["T1, t02", "[P3]", "nothing"])
    ['T1', 'T2', 'P3']
    """
    found = (match for text in texts for match in _label(letters).findall(text.upper()))
    return list(dict.fromkeys(letter + (number.lstrip("0") or "0") for letter, number in found))


def cited_labels(text: str, records: Iterable[str], letters: str = REPORTS) -> list[str]:
    """Return the labels that an answer gives as its records or marks in its text."""
    marks = (match.group() for match in _mark(letters).finditer(text))
    return labels_in([*records, *marks], letters)


def clean(text: str, letters: str = REPORTS) -> str:
    """Remove the text's label marks, which are only valid in this one call."""
    return str(_mark(letters).sub("", text)).strip()[:LONGEST_POINT]
