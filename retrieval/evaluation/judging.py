"""Judge answers: what they claim, and which text entails which claim.

With a chat model, its *judge* role is asked about a few claims at a time; on the local tier words,
numbers and vectors decide (``entailment``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import BaseModel, Field

from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Embedder, Role
from kb_project.prompt import fenced, load
from retrieval.evaluation import entailment
from retrieval.evaluation.ragchecker import Entailments

PROMPTS: Final = Path(__file__).parents[1] / "prompts"
STAGE: Final = "evaluate"
LOCAL: Final = "words and vectors"
MOST_CLAIMS: Final = entailment.MOST_CLAIMS
LONGEST_CLAIM: Final = 600
LONGEST_TEXT: Final = 12_000
"""Characters of an answer or passage that are judged."""
AT_ONCE: Final = 5
"""Claims per call to the judge, as in RAGChecker."""


class Claims(BaseModel):
    claims: list[str] = Field(max_length=200)


class Verdict(BaseModel):
    number: int
    is_entailed: bool


class Verdicts(BaseModel):
    verdicts: list[Verdict] = Field(max_length=200)


class Judge(Protocol):
    """Judges claims. Call outside transactions. Raises ReplyError, and PauseErrors if work must
    wait."""

    @property
    def name(self) -> str:
        """As in ``EvaluationRun.judged_by``."""

    def claims(self, question: str, answer: str) -> list[str]:
        """Return at most ``MOST_CLAIMS`` claims; none if the answer says nothing."""

    def entailed(self, claims: Sequence[str], texts: Sequence[str]) -> list[list[bool]]:
        """Return for each claim whether each text entails it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The claims of both answers; ``found`` has a row for each of ``expected`` and of ``said``."""

    expected: Sequence[str]
    said: Sequence[str]
    found: Entailments

    def as_json(self) -> dict[str, Any]:
        return {
            "expected": list(self.expected),
            "said": list(self.said),
            "expected_in_response": list(self.found.expected_in_response),
            "response_in_expected": list(self.found.response_in_expected),
            "expected_in_passages": [list(row) for row in self.found.expected_in_passages],
            "response_in_passages": [list(row) for row in self.found.response_in_passages],
        }


def judge_answer(
    judge: Judge, *, question: str, expected: str, answer: str, passages: Sequence[str]
) -> Judged:
    """Return what both answers claim, and what entails it.

    Both are read after the question: a short answer says little without it.
    """
    wanted, said = judge.claims(question, expected), judge.claims(question, answer)
    told = f"{question}\n\n{answer}" if answer.strip() else ""
    rows = judge.entailed([*wanted, *said], [f"{question}\n\n{expected}", told, *passages])
    own, others = rows[: len(wanted)], rows[len(wanted) :]
    return Judged(
        wanted,
        said,
        Entailments(
            passages=len(passages),
            expected_in_response=[row[1] for row in own],
            response_in_expected=[row[0] for row in others],
            expected_in_passages=[row[2:] for row in own],
            response_in_passages=[row[2:] for row in others],
        ),
    )


@dataclass(frozen=True, slots=True)
class LocalJudge:
    embedder: Embedder

    @property
    def name(self) -> str:
        return LOCAL

    def claims(self, question: str, answer: str) -> list[str]:
        del question  # claims are not reworded here
        return [one[:LONGEST_CLAIM] for one in entailment.claims_in(answer[:LONGEST_TEXT])]

    def entailed(self, claims: Sequence[str], texts: Sequence[str]) -> list[list[bool]]:
        return entailment.entailed(claims, [one[:LONGEST_TEXT] for one in texts], self.embedder)


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A chat model as judge; ``check`` is called between calls, so that a run can stop there."""

    chat: ChatModel
    check: Callable[[], None]

    @property
    def name(self) -> str:
        return self.chat.model_of(Role.JUDGE)

    def claims(self, question: str, answer: str) -> list[str]:
        if not answer.strip():
            return []
        prompt = load(PROMPTS / "claims.md").fill(
            question=fenced(question, "question"), answer=fenced(answer[:LONGEST_TEXT], "answer")
        )
        reply = self.chat.ask(ChatRequest(Role.JUDGE, prompt, About(STAGE), Claims))
        self.check()
        said = reply.value.claims if reply.value else []
        lines = (" ".join(one.split())[:LONGEST_CLAIM] for one in said)
        return list(dict.fromkeys(line for line in lines if line))[:MOST_CLAIMS]

    def entailed(self, claims: Sequence[str], texts: Sequence[str]) -> list[list[bool]]:
        found = [[False] * len(texts) for _ in claims]
        asked = list(self._asked(claims, texts))
        for place, reply in self.chat.ask_many([request for *_, request in asked]):
            self.check()
            if isinstance(reply, ReplyError):
                raise reply
            column, first, count, _ = asked[place]
            for row, verdict in enumerate(verdicts_of(reply.value, count), start=first):
                found[row][column] = verdict
        return found

    def _asked(
        self, claims: Sequence[str], texts: Sequence[str]
    ) -> Iterator[tuple[int, int, int, ChatRequest[Verdicts]]]:
        """Yield the text's column, the first claim's row, the number of claims, and the request."""
        template = load(PROMPTS / "entails.md")
        for column, text in enumerate(texts):
            if not text.strip():
                continue  # an empty text entails nothing
            for first in range(0, len(claims), AT_ONCE):
                some = claims[first : first + AT_ONCE]
                prompt = template.fill(
                    text=fenced(text[:LONGEST_TEXT], "text"),
                    claims=fenced(numbered(some), "claims"),
                )
                request = ChatRequest(Role.JUDGE, prompt, About(STAGE), Verdicts)
                yield column, first, len(some), request


def numbered(claims: Sequence[str]) -> str:
    """
    >>> numbered(["It burns.", "It is red."])
    '1. It burns.\\n2. It is red.'
    """
    return "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, start=1))


def verdicts_of(value: Verdicts | None, count: int) -> list[bool]:
    """Return a verdict for each claim, in order. Raises ReplyError if one is missing."""
    given = value.verdicts if value else []
    by_number = {one.number: one.is_entailed for one in reversed(given)}
    if missing := [number for number in range(1, count + 1) if number not in by_number]:
        raise ReplyError(
            f"The judge gave no verdict on {len(missing)} of {count} claims.",
            kept="The results so far are kept.",
        )
    return [by_number[number] for number in range(1, count + 1)]
