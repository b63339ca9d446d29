"""Judge answers: what they claim, and which text entails which claim.

A chat model, in its *judge* role, is asked about a few claims at a time. Without one, words,
numbers and vectors decide. A claim is compared with every window of up to ``WINDOW`` sentences.
Words alone decide if nearly all are there; if half of them are, the vectors must agree too. A name
or number of the claim that the text lacks, and a *not* on one side only, decide against it. This is
good enough to compare two systems on one set; it knows nothing of synonyms, or of who did what to
whom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import regex
from pydantic import BaseModel, Field

from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Embedder, Role
from kb_project.prompt import fenced, load
from kb_project.text.sentences import sentence_spans
from kb_project.text.values import denies
from kb_project.text.words import terms
from retrieval.answering.checking import TextVectors
from retrieval.evaluation.metrics import Entailments

PROMPTS: Final = Path(__file__).parents[1] / "prompts"
STAGE: Final = "evaluate"
LOCAL: Final = "words and vectors"
LONGEST_CLAIM: Final = 600
LONGEST_TEXT: Final = 12_000
"""Characters of an answer or passage that are judged."""
AT_ONCE: Final = 5
"""Claims per call to the judge, as in RAGChecker."""
WINDOW: Final = 2
ENOUGH: Final = 0.8
"""Share of the claim's terms that suffices alone."""
HALF: Final = 0.5
ALIKE: Final = 0.95
"""Cosine at which half of the terms suffice. With E5 vectors, sentences about other things have
0.8, those that say something else about the same thing up to 0.94, paraphrases 0.92 to 0.98."""
MOST_CLAIMS: Final = 20

_NUMBER: Final = regex.compile(r"\p{N}[\p{N}.,]*(?<=\p{N})")
# Capitalised words, except a single one at the start of the text: it need not be a name.
_NAME: Final = regex.compile(r"(?<=\S\s+)\b\p{Lu}[\p{L}'’-]*|^\W*\p{Lu}\p{L}+(?:\s+\p{Lu}\p{L}+)+")
_CLAUSE: Final = regex.compile(r";\s+|；")
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")


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
    response = f"{question}\n\n{answer}" if answer.strip() else ""
    rows = judge.entailed([*wanted, *said], [f"{question}\n\n{expected}", response, *passages])
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


# --- by words and vectors -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class LocalJudge:
    embedder: Embedder

    @property
    def name(self) -> str:
        return LOCAL

    def claims(self, question: str, answer: str) -> list[str]:
        del question  # claims are not reworded here
        return [one[:LONGEST_CLAIM] for one in claims_in(answer[:LONGEST_TEXT])]

    def entailed(self, claims: Sequence[str], texts: Sequence[str]) -> list[list[bool]]:
        return entailed(claims, [one[:LONGEST_TEXT] for one in texts], self.embedder)


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A piece of text, reduced to what entailment compares."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    denies: bool


def claims_in(answer: str) -> list[str]:
    """Return the sentences, split at semicolons.

    >>> claims_in("It opened in 1890; it closed in 1950. Nobody knows why.")
    ['It opened in 1890', 'it closed in 1950.', 'Nobody knows why.']
    """
    sentences = (answer[start:end] for start, end in sentence_spans(answer))
    clauses = (" ".join(part.split()) for one in sentences for part in _CLAUSE.split(one))
    return [clause for clause in clauses if _WORD.search(clause)][:MOST_CLAIMS]


def windows(text: str) -> list[str]:
    """Return every run of one to ``WINDOW`` sentences.

    >>> windows("One. Two. Three.")
    ['One.', 'One. Two.', 'Two.', 'Two. Three.', 'Three.']
    """
    spans = sentence_spans(text)
    return [
        text[spans[first][0] : spans[last][1]]
        for first in range(len(spans))
        for last in range(first, min(first + WINDOW, len(spans)))
    ]


def compared(text: str) -> ComparedText:
    numbers = frozenset(found.replace(",", "") for found in _NUMBER.findall(text))
    names = frozenset(terms(" ".join(found[0] for found in _NAME.finditer(text))))
    return ComparedText(text, frozenset(terms(text)), names, numbers, denies(text))


def coverage(claim: ComparedText, window: ComparedText) -> float:
    """Return the share of the claim's terms in the window; 0 if a name, number or *not* differs.

    >>> coverage(compared("The lamp burns oil"), compared("Whale oil burns in the lamp."))
    1.0
    >>> coverage(compared("Ada Lind keeps the light"), compared("Per Holm keeps the light."))
    0.0
    >>> coverage(compared("It was lit in 1869"), compared("It was lit in 1896"))
    0.0
    """
    is_other = claim.numbers - window.numbers or claim.names - window.terms
    if not claim.terms or is_other or claim.denies != window.denies:
        return 0.0
    return len(claim.terms & window.terms) / len(claim.terms)


def entailed(claims: Sequence[str], texts: Sequence[str], embedder: Embedder) -> list[list[bool]]:
    """Return for each claim whether each text entails it. Call outside transactions."""
    inside = [[compared(window) for window in windows(text)] for text in texts]
    covered = [
        (row, column, window.text, coverage(claim, window))
        for row, claim in enumerate(map(compared, claims))
        for column, found in enumerate(inside)
        for window in found
    ]
    entailing = {(row, column) for row, column, _, share in covered if share >= ENOUGH}
    open_ = [(row, column, text) for row, column, text, share in covered if HALF <= share < ENOUGH]
    if open_:
        asked = (claims[row] for row, *_ in open_)
        vectors = TextVectors(embedder, [*(text for *_, text in open_), *asked])
        entailing |= {
            (row, column)
            for row, column, text in open_
            if (vectors.cosine(claims[row], text) or 0.0) >= ALIKE
        }
    return [
        [(row, column) in entailing for column in range(len(texts))] for row in range(len(claims))
    ]


# --- by a chat model ------------------------------------------------------------------------------
class Claims(BaseModel):
    claims: list[str] = Field(max_length=200)


class Verdict(BaseModel):
    number: int
    is_entailed: bool


class Verdicts(BaseModel):
    verdicts: list[Verdict] = Field(max_length=200)


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
