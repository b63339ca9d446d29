"""What a scripted model answers to the prompts of drift."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kb_project.llm.fake import FakeChat
from tests.retrieval.search.global_search.model import Request, asked, lines_of

QUESTION = "Why is the Skarrow light kept?"


def step(
    answer: str = "",
    score: int = 0,
    records: Iterable[str] = (),
    follow_ups: Iterable[tuple[str, int]] = (),
) -> dict[str, Any]:
    return {
        "answer": answer,
        "score": score,
        "records": list(records),
        "follow_ups": [{"question": one, "score": worth} for one, worth in follow_ups],
    }


def says(**said: Any) -> Any:
    return lambda _: step() | said


def follow_up_of(request: Request) -> str:
    return re.findall(r"<follow_up>\n(.*)\n</follow_up>", request.prompt.user)[0]


def followed(chat: FakeChat) -> list[str]:
    return [follow_up_of(request) for request in asked(chat, "drift_follow")]


PRIMER = step(
    "The light is kept by Ada Lind.",
    60,
    ["T1"],
    [("What does Ada Lind drink?", 40), ("Who is Ada Lind?", 90), ("Where is the quarry?", 70)],
)


def endless(request: Request) -> dict[str, Any]:
    """Each answer rests on the same passage and raises three more questions."""
    asked_by = follow_up_of(request)
    return step(
        "Ada.", 30, ["P1"], [(f"{asked_by} And Ada {part}?", 50 + part) for part in range(3)]
    )


def titles_read(requests: Iterable[Request]) -> list[list[str]]:
    return [[text.split(".")[0] for text in lines_of(one).values()] for one in requests]
