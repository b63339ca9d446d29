"""What documents will cost before they are read: passages, calls, tokens, money and time.

Everything is a range, because a file's size says little of its text and a model answers as it
likes. The figures that nobody knows beforehand stand here, each with what it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final


@dataclass(frozen=True, slots=True)
class Range:
    """At least ``low``, at most ``high``, as far as anybody can tell.

    >>> Range(1, 2) + Range(3, 5), Range(1, 2) * 10
    (Range(low=4, high=7), Range(low=10, high=20))
    """

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> Range:
        return Range(self.low * factor, self.high * factor)

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)


NOTHING: Final = Range(0, 0)

# --- what nobody knows beforehand -----------------------------------------------------------------
TOKENS_PER_BYTE: Final[Mapping[str, Range]] = {
    # English has 4 to 5 bytes a token; Chinese has 3 bytes a character and about one token each.
    "text": Range(0.2, 0.4),
    # Tags, scripts and navigation are left out.
    "html": Range(0.03, 0.3),
    # Zip archives: text shrinks to a third, pictures stay as they are.
    "zip": Range(0.02, 1.0),
    # Text is deflated; fonts and pictures weigh more than words.
    "pdf": Range(0.002, 0.25),
    # Cells become "column: value" sentences.
    "table": Range(0.3, 1.5),
}
_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".docx", ".pptx", ".epub", ".xlsx", ".zip", ".odt"), "zip"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    ".pdf": "pdf",
}
FILL: Final = Range(0.7, 1.0)
"""Share of its limit that a passage holds: it ends where a sentence or a section ends."""
EXTRACT_PROMPT: Final = Range(700, 1_600)
"""Tokens around a passage: instructions, the answer's schema, perhaps examples of the workspace."""
EXTRACT_ANSWER: Final = Range(150, 900)
"""A passage of 800 tokens names 5 to 30 things, each with its description and its quote."""
GLEAN_ANSWER: Final = Range(20, 350)
GLEAN_PROMPT: Final = 60
SITUATE_PROMPT: Final = 250
SITUATE_ANSWER: Final = Range(50, 150)
ALLOWANCE: Final = Range(0.03, 0.4)
"""Descriptions, reports and decisions about names, as a share of what extraction takes. They grow
with how much documents have in common. Used until the workspace's own ledger knows better."""
SECONDS_PER_CALL: Final = Range(1, 12)
LEAST_HISTORY: Final = 20
"""Calls after which the workspace's own averages are used."""
HISTORY_SPREAD: Final = Range(0.7, 1.4)


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens."""

    prompt: float
    cached_prompt: float
    completion: float

    def of(self, prompt: Range, completion: Range, cached: Range = NOTHING) -> Range:
        """``cached`` of the prompt tokens may come from the provider's prefix cache, or none."""
        saved = max(0.0, self.prompt - self.cached_prompt) * min(cached.low, prompt.low)
        low = self.prompt * prompt.low - saved + self.completion * completion.low
        high = self.prompt * prompt.high + self.completion * completion.high
        return Range(max(0.0, low) / 1e6, high / 1e6)


@dataclass(frozen=True, slots=True)
class History:
    """What the workspace's own ledger says; None where it says too little.

    ``answer`` is tokens of an extraction's answer, ``seconds`` of any call, ``share`` what the
    other stages take for each token that extraction takes.
    """

    answer: float | None = None
    seconds: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a workspace reads documents: its settings, prices and experience."""

    gleanings: int
    chunk_tokens: int
    chunk_overlap: int
    input_limit: int
    concurrency: int
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    history: History = History()

    def price(self, role: str) -> Price | None:
        return self.prices.get(role)


def cut_by(conditions: Conditions, *, size: int, overlap: int) -> Conditions:
    return replace(conditions, chunk_tokens=size, chunk_overlap=overlap)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to read in one document, and how many of its calls were made before.

    A model is not asked where the passages stand of one that ``is_situated``.
    """

    tokens: Range
    passages: Range
    known_extractions: int = 0
    known_situations: int = 0
    is_situated: bool = False


@dataclass(frozen=True, slots=True)
class Effort:
    """Calls of one kind."""

    calls: Range = NOTHING
    prompt: Range = NOTHING
    completion: Range = NOTHING
    cost: Range | None = NOTHING

    @classmethod
    def of(
        cls,
        calls: Range,
        prompt: Range,
        completion: Range,
        *,
        price: Price | None,
        cached: Range = NOTHING,
    ) -> Effort:
        cost = price.of(prompt, completion, cached) if price else None
        return cls(calls, prompt, completion, cost if calls.high else NOTHING)

    def __add__(self, other: Effort) -> Effort:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Effort(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            total(costs) if len(costs) == 2 else None,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """``known`` calls cost nothing: their answers are in the cache. ``cost`` None: no price set.

    ``left`` is what remains of the budget, None where there is none. On the local tier everything
    but documents and passages is nothing.
    """

    documents: int
    passages: Range
    calls: Range = NOTHING
    prompt_tokens: Range = NOTHING
    completion_tokens: Range = NOTHING
    cost: Range | None = NOTHING
    seconds: Range = NOTHING
    known: int = 0
    left: float | None = None
    uses_model: bool = False

    @property
    def is_free(self) -> bool:
        return not self.uses_model or not self.calls.high

    @property
    def is_short(self) -> bool:
        """Whether the budget may not suffice."""
        return self.left is not None and self.cost is not None and self.cost.high > self.left

    @property
    def is_surely_short(self) -> bool:
        return self.left is not None and self.cost is not None and self.cost.low > self.left


# --- how much there is ----------------------------------------------------------------------------
def extent_of_file(name: str, size: int, conditions: Conditions) -> Extent:
    """What a file of that name and of so many bytes may hold."""
    kind = _KINDS.get(PurePath(name).suffix.lower(), "text")
    tokens = TOKENS_PER_BYTE[kind] * max(0, size)
    passages = Range(
        passages_of(tokens.low, conditions, FILL.high),
        passages_of(tokens.high, conditions, FILL.low),
    )
    return Extent(tokens, passages if size else NOTHING)


def passages_of(tokens: float, conditions: Conditions, fill: float) -> int:
    """
    >>> passages_of(1600, Conditions(1, 800, 0, 16_000, 8), 1.0)
    2
    """
    step = conditions.chunk_tokens * fill - conditions.chunk_overlap
    rest = tokens - conditions.chunk_tokens * fill
    return 1 + max(0, math.ceil(rest / max(1.0, step)))


# --- how much work it is --------------------------------------------------------------------------
def estimate(
    extents: Sequence[Extent], conditions: Conditions | None, *, left: float | None = None
) -> Estimate:
    """What reading these documents takes. No ``conditions``: the local tier, which asks nobody."""
    passages = total(extent.passages for extent in extents)
    if conditions is None:
        return Estimate(len(extents), passages)
    extraction = sum_of(extraction_of(extent, conditions) for extent in extents)
    situating = sum_of(situating_of(extent, conditions) for extent in extents)
    effort = extraction + situating + allowance_of(extraction, conditions)
    return Estimate(
        documents=len(extents),
        passages=passages,
        calls=effort.calls,
        prompt_tokens=effort.prompt,
        completion_tokens=effort.completion,
        cost=effort.cost,
        seconds=seconds_of(effort.calls, conditions),
        known=sum(
            extent.known_extractions + (0 if extent.is_situated else extent.known_situations)
            for extent in extents
        ),
        left=left,
        uses_model=True,
    )


def extraction_of(extent: Extent, conditions: Conditions) -> Effort:
    """One call a passage and the gleanings, each of which reads the conversation before it."""
    passages = _without(extent.passages, extent.known_extractions)
    each = _each_passage(extent)
    answer = _answer(conditions)
    first = EXTRACT_PROMPT + each
    prompt, completion = first, answer
    rounds = Range(min(1, conditions.gleanings), conditions.gleanings)
    for number in range(conditions.gleanings):
        is_sure = number < rounds.low
        again = first + answer + GLEAN_ANSWER * number + Range(GLEAN_PROMPT, GLEAN_PROMPT)
        prompt += Range(again.low if is_sure else 0, again.high)
        completion += Range(GLEAN_ANSWER.low if is_sure else 0, GLEAN_ANSWER.high)
    calls = passages.times(Range(1 + rounds.low, 1 + rounds.high))
    price = conditions.price("extract")
    return Effort.of(calls, passages.times(prompt), passages.times(completion), price=price)


def situating_of(extent: Extent, conditions: Conditions) -> Effort:
    """One call a passage that holds the document too; none for a document of one passage."""
    if extent.is_situated:
        return Effort()
    several = Range(
        extent.passages.low if extent.passages.low > 1 else 0,
        extent.passages.high if extent.passages.high > 1 else 0,
    )
    passages = _without(several, extent.known_situations)
    room = Range(
        min(extent.tokens.low, conditions.input_limit),
        min(extent.tokens.high, conditions.input_limit),
    )
    prompt = passages.times(room + _each_passage(extent) + Range(SITUATE_PROMPT, SITUATE_PROMPT))
    again = Range(max(0, passages.low - 1), max(0, passages.high - 1)).times(room)
    completion = passages.times(SITUATE_ANSWER)
    price = conditions.price("situate")
    return Effort.of(passages, prompt, completion, price=price, cached=again)


def allowance_of(extraction: Effort, conditions: Conditions) -> Effort:
    """What the workspace's stages may take on top: descriptions, reports, decisions about names."""
    known = conditions.history.share
    share = ALLOWANCE if known is None else HISTORY_SPREAD * known
    return Effort.of(
        extraction.calls.times(share),
        extraction.prompt.times(share),
        extraction.completion.times(share),
        price=conditions.price("summarise"),
    )


def seconds_of(calls: Range, conditions: Conditions) -> Range:
    known = conditions.history.seconds
    each = SECONDS_PER_CALL if known is None else HISTORY_SPREAD * known
    return calls.times(each) * (1 / max(1, conditions.concurrency))


def total(ranges: Iterable[Range]) -> Range:
    result = NOTHING
    for each in ranges:
        result += each
    return result


def sum_of(efforts: Iterable[Effort]) -> Effort:
    result = Effort()
    for each in efforts:
        result += each
    return result


def _answer(conditions: Conditions) -> Range:
    known = conditions.history.answer
    return EXTRACT_ANSWER if known is None else HISTORY_SPREAD * known


def _each_passage(extent: Extent) -> Range:
    """Tokens of one passage."""
    return Range(
        extent.tokens.low / max(1.0, extent.passages.low),
        extent.tokens.high / max(1.0, extent.passages.high),
    )


def _without(passages: Range, known: int) -> Range:
    return Range(max(0, passages.low - known), max(0, passages.high - known))
