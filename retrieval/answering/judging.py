"""A model as the judge of an answer: one call for all sentences that are not quotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel

from kb_project.errors import ModelError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering.citations.citing import Cited
from retrieval.answering.citations.spans import units
from retrieval.answering.drafts import Check
from retrieval.search.hits import Hit

STAGE: Final = "check"
MOST_SENTENCES: Final = 40
LONGEST_NAME: Final = 120
_TEMPLATE: Final = Path(__file__).parent.parent / "prompts" / "judge_support.md"
_VERDICTS: Final = {
    "supported": ("supported", 1.0),
    "partly": ("unsupported", 0.5),
    "unsupported": ("unsupported", 0.0),
}


class Judged(BaseModel):
    """A verdict on one sentence, by its number."""

    sentence: int
    verdict: Literal["supported", "partly", "unsupported"]


class Judgement(BaseModel):
    """One verdict for each sentence."""

    verdicts: list[Judged]


@dataclass(frozen=True, slots=True)
class Opinion:
    """Checks by sentence index; ``problem`` says why there are none."""

    checks: Mapping[int, Check]
    by: str = ""
    problem: str = ""


def judge(cited: Sequence[Cited], chat: ChatModel, question_id: UUID | None) -> Opinion:
    """Return the judge's verdicts on sentences that cite something and are not quotes.

    If the model fails to judge, the caller decides: the answer is already written.
    """
    wanted = [
        index
        for index, one in enumerate(cited)
        if one.places and one.said.is_statement and not one.is_quote
    ][:MOST_SENTENCES]
    if not wanted:
        return Opinion({})
    prompt = _prompt([(index, cited[index]) for index in wanted], chat.input_limit(Role.JUDGE))
    about = About(STAGE, question_id=question_id)
    try:
        reply = chat.ask(ChatRequest(Role.JUDGE, prompt, about, schema=Judgement))
    except ModelError as error:
        return Opinion({}, problem=error.code)
    name = chat.model_of(Role.JUDGE)[:LONGEST_NAME]
    said = reply.value.verdicts if reply.value else []
    checks = {
        one.sentence - 1: Check(*_of(one.verdict, name))
        for one in said
        if one.sentence - 1 in wanted
    }
    return Opinion(checks, by=name if checks else "", problem="" if checks else "reply_empty")


def _of(verdict: str, by: str) -> tuple[str, str, float]:
    name, score = _VERDICTS[verdict]
    return name, by, score


def _prompt(cited: Sequence[tuple[int, Cited]], limit: int) -> Prompt:
    """Fit in as many sentences as possible; the rest are checked the other way."""
    template = load(_TEMPLATE)
    lines: list[str] = []
    room = limit - count_tokens(template.system) - 100
    for index, one in cited:
        line = f"{index + 1}.\n{fenced(one.said.text.strip(), 'sentence')}\n{_evidence(one)}"
        room -= count_tokens(line) + 2
        if room < 0:
            break
        lines.append(line)
    return template.fill(sentences="\n\n".join(lines))


def _evidence(one: Cited) -> str:
    said = "\n".join(
        f"{' > '.join((hit.title, *hit.heading_path))}: {text}"
        for _, hit, located in one.places
        for text in _with_neighbours(hit, located.spans)
    )
    return fenced(said, "passages")


def _with_neighbours(hit: Hit, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the spans with the sentence before and after each, which a pronoun may need."""
    places = [span for span, _ in units(hit.text)]
    for start, end in spans:
        first, last = start - hit.start, end - hit.start
        around = [index for index, (a, b) in enumerate(places) if a < last and first < b] or [0]
        begin = places[max(0, around[0] - 1)][0] if places else first
        finish = places[min(len(places) - 1, around[-1] + 1)][1] if places else last
        yield hit.text[min(begin, first) : max(finish, last)]
