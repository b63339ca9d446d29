"""Check whether the spans that each sentence of an answer cites support it.

A word-for-word quotation is supported. A chat model may judge the other sentences, all in one call.
Without its verdict, a sentence's numbers and names must occur in the spans, and the sentence must
be similar enough to them, by words or by the embedder.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal
from uuid import UUID

import numpy as np
import regex
from pydantic import BaseModel

from kb_project.errors import ModelError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Embedder, Role, Vectors
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt, fenced, load
from kb_project.text.values import denies, missing_names, missing_numbers
from kb_project.text.words import terms
from retrieval.answering.citations.citing import (
    Compare,
    LocatedSentence,
    ModelSentence,
    cite,
    share,
    texts_of,
    units,
    weights_of,
)
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import Check, WrittenSentence
from retrieval.search.results import Hit
from retrieval.search.services import SearchResult

logger = logging.getLogger(__name__)

BY: Final = "likeness"
VERDICTS: Final[tuple[str, ...]] = ("supported", "unsupported", "general", "conflict")
GENERAL: Final = Check("general", "marker", 0.0)
QUOTED: Final = Check("supported", "quote")
UNCITED: Final = Check("unsupported", BY, 0.0)

SAME_WORDS: Final = 0.5
"""Weighted share of the sentence that its spans must hold …"""
SOME_WORDS: Final = 0.2
"""… or this much, when the embedder's similarity, from 0 to 1, is at least this …"""
ALIKE: Final = 0.45
ALIKE_BY_ITSELF: Final = 0.3
"""… or this similarity when no words are shared, as between two languages; lower, because sentences
that share a word but differ in meaning are more similar than translations of each other."""
WITHOUT_BEING_ASKED: Final = 0.7
"""Share of a sentence without a marker that a passage must hold to be cited for it."""

_DIGITS: Final = regex.compile(r"\p{N}+(?:[.,]\p{N}+)*")
_TELLS_NOTHING: Final = regex.compile(
    r"\b(?:documents?|passages?|sources?|texts?|records?|material|data|context)\b.{0,60}"
    r"\b(?:not|no|nothing|nowhere|neither|never|silent)\b|n['’]t\b.{0,40}\b(?:say|tell|mention)"
    r"|\b(?:not|nowhere|never) (?:said|told|stated|mentioned|given|specified|known from)"
    r"|\b(?:dokumente?n?|quellen?|texte?n?)\b.{0,60}\b(?:nicht|kein\w*)\b"
    r"|(?:文档|文件|资料|材料|文中|原文).{0,20}(?:没有|未|不)",
    regex.IGNORECASE,
)

MOST: Final = 400
"""Texts embedded per answer."""
LONGEST: Final = 1_000
"""In characters."""
EVERYDAY: Final = (
    "Paris is the capital of France.",
    "Bread is baked from flour, water and yeast.",
    "The football match ended in a draw yesterday.",
    "The moon goes around the earth.",
)
"""Unrelated sentences, as a baseline: embedders differ in how similar they find any two texts."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Sentences with their verdicts. ``by`` did the check; ``problem`` says why the judge did not;
    ``added`` counts citations that the model did not write."""

    sentences: Sequence[WrittenSentence]
    by: str
    added: int = 0
    problem: str = ""


def check_all(
    said: Sequence[ModelSentence],
    numbering: Numbering,
    found: SearchResult,
    judge: ChatModel | None,
) -> Checked:
    """Return every sentence with its spans and verdict. Embeds, and asks the judge if there is one.

    A sentence without a citation gets one if a passage clearly supports it.
    """
    hits = dict(enumerate(numbering.hits, start=1))
    cited, added = [], 0
    for one in said:
        is_uncited = one.is_statement and not one.numbers
        if is_uncited and (number := likely_number(one.text.strip(), hits)):
            one, added = replace(one, numbers=(number,)), added + 1
        cited.append(cite(one, numbering))
    embedder = found.query.vector.embedder
    # Embedding takes longer than a judge: before one, only what is cited may depend on it.
    likeness = _likeness(embedder, to_compare(filter(_is_unclear, cited) if judge else cited))
    if likeness:
        cited = [one if one.is_quote else cite(one.said, numbering, likeness) for one in cited]
    opinion = _judge(cited, judge, found.query.question_id) if judge else Opinion({})
    if judge:
        left = [one for index, one in enumerate(cited) if index not in opinion.checks]
        likeness = _likeness(embedder, to_compare(left))
    sentences = [
        WrittenSentence(one.said.text, one.spans, opinion.checks.get(index) or check(one, likeness))
        for index, one in enumerate(cited)
    ]
    return Checked(sentences, opinion.by or BY, added, opinion.problem)


def counts(checks: Iterable[Check | None]) -> dict[str, int]:
    """Count the sentences of each verdict."""
    found = [one.verdict for one in checks if one is not None]
    return {name: found.count(name) for name in VERDICTS}


# --- by words and vectors -------------------------------------------------------------------------
def check(cited: LocatedSentence, likeness: Compare | None) -> Check | None:
    """Check a sentence; None for headings and for statements that the documents do not say."""
    said = cited.said
    if not said.is_statement:
        return None
    if not cited.places:
        if 0 in said.numbers:
            return GENERAL
        return None if _TELLS_NOTHING.search(said.text) else UNCITED
    text = said.text.strip()
    missing = is_missing(text, cited.places[0][1], cited)
    if cited.is_quote and not missing:
        return QUOTED
    return _by_likeness(text, cited, likeness, is_wrong=missing)


def is_missing(text: str, first: Hit, cited: LocatedSentence) -> bool:
    """Return whether the sentence has a number missing from its spans, a name missing from its
    passages, or a negation that its spans lack."""
    spans, headings = " ".join(texts_of(cited)), " ".join((first.title, *first.heading_path))
    passages = " ".join(
        f"{hit.title} {' '.join(hit.heading_path)} {hit.text}" for _, hit, _ in cited.places
    )
    return bool(
        missing_numbers(text, f"{spans} {headings}")
        or missing_names(text, passages)
        or (denies(text) and not denies(spans))
    )


def likely_number(text: str, hits: Mapping[int, Hit]) -> int:
    """Return the number of the passage that clearly supports a sentence without a marker, else
    0."""
    weights = weights_of(text, [own for hit in hits.values() for _, own in units(hit.text)])
    shares = []
    for number, hit in hits.items():
        titled = frozenset(terms(hit.title))
        best = max((share(weights, own | titled) for _, own in units(hit.text)), default=0.0)
        shares.append((best, -number))
    highest, number = max(shares, default=(0.0, 0))
    return -number if highest >= WITHOUT_BEING_ASKED else 0


def _is_unclear(cited: LocatedSentence) -> bool:
    """Whether words do not show which sentence of a passage is cited."""
    return any(located.share < SOME_WORDS for _, _, located in cited.places)


def to_compare(cited: Iterable[LocatedSentence]) -> list[str]:
    """Return the texts to compare by embedding: sentences that are not quotes, and their spans; all
    sentences of a passage if words do not show which one is meant."""
    found: list[str] = []
    for one in cited:
        if one.is_quote or not one.places:
            continue
        found += [one.said.text.strip(), *texts_of(one)]
        for _, hit, located in one.places:
            if located.share < SOME_WORDS:
                found += [hit.text[start:end] for (start, end), _ in units(hit.text)]
    return found


def _by_likeness(
    text: str, cited: LocatedSentence, likeness: Compare | None, *, is_wrong: bool
) -> Check:
    spans = texts_of(cited)
    held = frozenset(terms(" ".join(spans)))
    around = frozenset(
        term
        for _, hit, _ in cited.places
        for term in terms(" ".join((hit.title, *hit.heading_path)))
    )
    # Numbers were already compared, in whatever form they are written.
    bare = _DIGITS.sub(" ", text)
    weights = weights_of(bare, [own for _, hit, _ in cited.places for _, own in units(hit.text)])
    words = share(weights, held | around)
    alike = max((likeness(text, span) for span in spans), default=0.0) if likeness else 0.0
    score = min(1.0, max(words, alike))
    if share(weights, held) > 0:
        is_like = words >= SAME_WORDS or (words >= SOME_WORDS and alike >= ALIKE)
    else:
        is_like = alike >= ALIKE_BY_ITSELF
    if is_like and not is_wrong:
        return Check("supported", BY, score)
    return Check("unsupported", BY, min(score, 0.49))


class TextVectors:
    """The vectors of some texts. Construct it outside transactions."""

    def __init__(self, embedder: Embedder, texts: Iterable[str]) -> None:
        wanted = list(dict.fromkeys(texts))
        vectors = embedder.embed_passages(wanted)
        self._vectors: dict[str, Vectors] = dict(zip(wanted, vectors, strict=True))

    def cosine(self, one: str, other: str) -> float | None:
        """Return the cosine of two of the texts, None for any other."""
        left, right = self._vectors.get(one), self._vectors.get(other)
        return None if left is None or right is None else float(left @ right)


class Likeness(TextVectors):
    """Similarity of prepared texts; any other text scores 0."""

    def __init__(self, embedder: Embedder, texts: Iterable[str]) -> None:
        wanted = dict.fromkeys([*EVERYDAY, *(text[:LONGEST] for text in texts)])
        super().__init__(embedder, list(wanted)[:MOST])

    def __call__(self, one: str, other: str) -> float:
        """Return how much more similar the two texts are than the first is to the unrelated
        sentences, from 0 to 1."""
        cosine = self.cosine(one[:LONGEST], other[:LONGEST])
        if cosine is None:
            return 0.0
        everyday = np.mean([self.cosine(one[:LONGEST], text) or 0.0 for text in EVERYDAY])
        usual = min(float(everyday), 0.99)
        return max(0.0, (cosine - usual) / (1 - usual))


def _likeness(embedder: Embedder, texts: Sequence[str]) -> Likeness | None:
    """Return None if there is nothing to compare or no embedder: words decide then."""
    try:
        return Likeness(embedder, texts) if texts else None
    except ModelError as error:
        logger.warning("sentences not compared code=%s", error.code)
        return None


# --- by a chat model ------------------------------------------------------------------------------
STAGE: Final = "check"
JUDGED_TOGETHER: Final = 40
MOST_SENTENCES: Final = 200
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


def _judge(cited: Sequence[LocatedSentence], chat: ChatModel, question_id: UUID | None) -> Opinion:
    """Return the judge's verdicts on sentences that cite something and are not quotes.

    If the model fails to judge, the caller decides: the answer is already written.
    """
    wanted = [
        (index, one)
        for index, one in enumerate(cited)
        if one.places and one.said.is_statement and not one.is_quote
    ][:MOST_SENTENCES]
    about = About(STAGE, question_id=question_id)
    requests = [
        ChatRequest(Role.JUDGE, prompt, about, schema=Judgement, wrong=partial(_of_none, numbers))
        for prompt, numbers in _prompts(wanted, chat.input_limit(Role.JUDGE))
    ]
    said, problem = list[Judged](), ""
    try:
        for _, reply in chat.ask_many(requests):
            if isinstance(reply, ReplyError):
                problem = reply.code
            elif reply.value:
                said += reply.value.verdicts
    except ModelError as error:
        problem = error.code
    name, judged = chat.model_of(Role.JUDGE)[:LONGEST_NAME], {index for index, _ in wanted}
    checks = {one.sentence - 1: _verdict(one, name) for one in said if one.sentence - 1 in judged}
    if requests and not checks:
        problem = problem or "reply_empty"
    return Opinion(checks, by=name if checks else "", problem=problem)


def _of_none(numbers: Sequence[int], judgement: Judgement) -> str:
    is_one = any(one.sentence in numbers for one in judgement.verdicts)
    return "" if is_one else f"The sentences have the numbers {list(numbers)}."


def _verdict(said: Judged, name: str) -> Check:
    verdict, score = _VERDICTS[said.verdict]
    return Check(verdict, name, score)


def _prompts(
    cited: Sequence[tuple[int, LocatedSentence]], limit: int
) -> list[tuple[Prompt, list[int]]]:
    """Put the sentences into prompts, side by side where one does not hold all. A sentence that
    does not fit any is checked the other way."""
    template = load(_TEMPLATE)
    longest = limit - count_tokens(template.system) - 100
    batches: list[dict[int, str]] = []
    room = 0
    for index, one in cited:
        evidence = "\n".join(
            f"{' > '.join((hit.title, *hit.heading_path))}: {text}"
            for _, hit, located in one.places
            for text in _with_neighbours(hit, located.spans)
        )
        sentence = fenced(one.said.text.strip(), "sentence")
        line = f"{index + 1}.\n{sentence}\n{fenced(evidence, 'passages')}"
        cost = count_tokens(line) + 2
        if cost > longest:
            continue
        if cost > room or len(batches[-1]) == JUDGED_TOGETHER:
            batches.append({})
            room = longest
        batches[-1][index + 1] = line
        room -= cost
    return [
        (template.fill(sentences="\n\n".join(lines.values())), list(lines)) for lines in batches
    ]


def _with_neighbours(hit: Hit, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the spans with the sentence before and after each, which a pronoun may need."""
    places = [span for span, _ in units(hit.text)]
    for start, end in spans:
        first, last = start - hit.start, end - hit.start
        around = [index for index, (a, b) in enumerate(places) if a < last and first < b] or [0]
        begin = places[max(0, around[0] - 1)][0] if places else first
        finish = places[min(len(places) - 1, around[-1] + 1)][1] if places else last
        yield hit.text[min(begin, first) : max(finish, last)]
