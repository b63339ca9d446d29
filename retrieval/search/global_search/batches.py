"""Batch labelled reports, as many to a prompt as its tokens allow."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from kb_project import prompt
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


def request(query: Query, role: Role, asked: Prompt, schema: type[SchemaT]) -> ChatRequest[SchemaT]:
    return ChatRequest(role, asked, About(STAGE, question_id=query.question_id), schema=schema)


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
