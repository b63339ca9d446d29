"""What reading documents costs: passages, calls, tokens, money and time, estimated beforehand.

Everything is a range, because a file's size says little about its text and a model's answers vary.
The assumptions are constants here, each with its basis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ingestion.extractors.situating_excerpts import WHOLE, PromptTokens, prompt_tokens


@dataclass(frozen=True, slots=True)
class Range:
    """A range from ``low`` to ``high``, as far as can be known.

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

# --- assumptions ----------------------------------------------------------------------------------
EXTRACT_PROMPT: Final = Range(400, 1_600)
"""Tokens around a passage: instructions, the answer's schema, possibly examples from the workspace.
Counted where the workspace's settings are known."""
EXTRACT_ANSWER: Final = Range(600, 900)
"""Some ten entities, each with its description and its quote, and their relationships, in a short
passage as in a long one. GPT-4o wrote 740 tokens on a passage of a novel."""
GLEAN_ANSWER: Final = Range(20, 120)
GLEAN_PROMPT: Final = 60
SITUATE_ANSWER: Final = Range(65, 100)
REFRESH_CALLS: Final = Range(0.7, 1.0)
"""Descriptions, reports, summaries and decisions about names: calls for each passage and for each
document. Measured: 0.8 on a novel, 0.9 on 50 encyclopaedia articles, 0.8 on 50 files of source
code."""
REFRESH_PROMPT: Final = Range(850, 1_280)
REFRESH_ANSWER: Final = Range(110, 200)
"""Tokens of such a call; used until the workspace's ledger has better figures."""
SECONDS_PER_CALL: Final = Range(1, 12)
LEAST_HISTORY: Final = 20
"""Number of calls after which the workspace's own averages are used."""
HISTORY_SPREAD: Final = Range(0.7, 1.4)
READING: Final = frozenset({"extract", "situate", "tune"})
"""Stages whose calls are about passages."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices per million tokens; ``write_surcharge`` is that of the provider's cache."""

    prompt: float
    cached_prompt: float
    completion: float
    write_surcharge: float = 0.0

    def of(self, prompt: Range, completion: Range, cached: Range = NOTHING) -> Range:
        """Return the cost.

        In the low estimate, ``cached.low`` prompt tokens come from the provider's prefix cache;
        in the high one, none do, and it writes ``cached.high`` again.
        """
        saved = max(0.0, self.prompt - self.cached_prompt) * min(cached.low, prompt.low)
        low = self.prompt * prompt.low - saved + self.completion * completion.low
        high = self.prompt * prompt.high + self.completion * completion.high
        high += self.write_surcharge * cached.high
        return Range(max(0.0, low) / 1e6, high / 1e6)


@dataclass(frozen=True, slots=True)
class Habit:
    """The calls that a stage has made, with their tokens, and the passages they were about."""

    calls: int
    prompt: int
    completion: int
    passages: int = 0

    def __add__(self, other: Habit) -> Habit:
        return Habit(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.passages + other.passages,
        )

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class History:
    """What the workspace's own ledger says; None where it has too few calls.

    ``answer`` is tokens extracted from a passage, second looks included, ``seconds`` of any call,
    ``share`` the tokens the other stages take for each token of extraction.
    """

    answer: float | None = None
    seconds: float | None = None
    share: float | None = None
    stages: Mapping[str, Habit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a workspace reads documents: its settings, prices and history."""

    gleanings: int
    chunk_tokens: int
    chunk_overlap: int
    input_limit: int
    concurrency: int
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    history: History = History()
    instructions: Range = EXTRACT_PROMPT
    local_extraction: bool = False


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to read in one document, and how many of its calls were already made.

    With ``is_situated``, its passages already have their context, so no model is asked for it.
    Of one that is replaced, ``above`` counts what rests on the passages that change, by the stage
    that writes it, and ``answer`` is what was extracted from each of them before, in tokens.
    """

    tokens: Range
    passages: Range
    known_extractions: int = 0
    known_situations: int = 0
    is_situated: bool = False
    above: Mapping[str, Range] | None = None
    answer: float | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """The calls of one kind, with their tokens and cost."""

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
    """An estimate. ``known`` calls are in the cache and cost nothing; ``cost`` is None if no price
    is set.

    ``left`` is the remaining budget, None if there is none. Without a model, everything except
    documents and passages is zero.
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
        """Whether the budget might not suffice."""
        return self.left is not None and self.cost is not None and self.cost.high > self.left

    @property
    def is_surely_short(self) -> bool:
        return self.left is not None and self.cost is not None and self.cost.low > self.left


# --- how much work it is --------------------------------------------------------------------------
def estimate(
    extents: Sequence[Extent], conditions: Conditions | None, *, left: float | None = None
) -> Estimate:
    """Estimate the work of reading these documents. Without ``conditions``, no model is called."""
    passages = total(extent.passages for extent in extents)
    if conditions is None:
        return Estimate(len(extents), passages)
    extraction = sum_of(extraction_of(extent, conditions) for extent in extents)
    situating = sum_of(situating_of(extent, conditions) for extent in extents)
    effort = refresh_of([one for one in extents if one.above is None], conditions)
    effort += sum_of(_rewriting(one, conditions) for one in extents if one.above is not None)
    if not conditions.local_extraction:
        effort = extraction + situating + effort
    known = conditions.history.seconds
    each = SECONDS_PER_CALL if known is None else HISTORY_SPREAD * known
    return Estimate(
        documents=len(extents),
        passages=passages,
        calls=effort.calls,
        prompt_tokens=effort.prompt,
        completion_tokens=effort.completion,
        cost=effort.cost,
        seconds=effort.calls.times(each) * (1 / max(1, conditions.concurrency)),
        known=0
        if conditions.local_extraction
        else sum(
            extent.known_extractions + (0 if extent.is_situated else extent.known_situations)
            for extent in extents
        ),
        left=left,
        uses_model=True,
    )


def extraction_of(extent: Extent, conditions: Conditions) -> Effort:
    """One call per passage, plus gleanings, each of which rereads the conversation so far."""
    passages = _without(extent.passages, extent.known_extractions)
    each = _each_passage(extent)
    known = extent.answer or conditions.history.answer
    answer = EXTRACT_ANSWER if known is None else HISTORY_SPREAD * known
    gleaned = GLEAN_ANSWER if known is None else NOTHING
    first = conditions.instructions + each
    prompt, completion = first, answer
    rounds = Range(min(1, conditions.gleanings), conditions.gleanings)
    for number in range(conditions.gleanings):
        is_sure = number < rounds.low
        again = first + answer + gleaned * number + Range(GLEAN_PROMPT, GLEAN_PROMPT)
        prompt += Range(again.low if is_sure else 0, again.high)
        completion += Range(gleaned.low if is_sure else 0, gleaned.high)
    calls = passages.times(Range(1 + rounds.low, 1 + rounds.high))
    price = conditions.prices.get("extract")
    return Effort.of(calls, passages.times(prompt), passages.times(completion), price=price)


def situating_of(extent: Extent, conditions: Conditions) -> Effort:
    """One call per passage, with the document in the prompt; none for a document of one passage."""
    if extent.is_situated:
        return Effort()
    several = Range(
        extent.passages.low if extent.passages.low > 1 else 0,
        extent.passages.high if extent.passages.high > 1 else 0,
    )
    passages = _without(several, extent.known_situations)
    left = passages.high / max(1.0, several.high)
    sent = _situating_prompts(extent, conditions)
    prompt = Range(min(each.sent for each in sent), max(each.sent for each in sent)) * left
    cached = Range(min(each.cached for each in sent), max(each.cached for each in sent)) * left
    completion = passages.times(SITUATE_ANSWER)
    price = conditions.prices.get("situate")
    return Effort.of(passages, prompt, completion, price=price, cached=cached)


def _situating_prompts(extent: Extent, conditions: Conditions) -> list[PromptTokens]:
    """The prompts of the shortest and the longest document it can be; and as one that is just still
    shown whole takes more than a longer one, of that too if it is between them.
    """
    tokens, passages = extent.tokens, extent.passages
    sizes = [(tokens.low, passages.low), (tokens.high, passages.high)]
    if tokens.low < WHOLE < tokens.high:
        share = (WHOLE - tokens.low) / (tokens.high - tokens.low)
        sizes.append((WHOLE, passages.low + share * (passages.high - passages.low)))
    return [prompt_tokens(size, number, limit=conditions.input_limit) for size, number in sizes]


def refresh_of(extents: Sequence[Extent], conditions: Conditions) -> Effort:
    """Estimate what the workspace stages add: descriptions, reports, decisions about names."""
    extraction = sum_of(extraction_of(extent, conditions) for extent in extents)
    unread = [_without(extent.passages, extent.known_extractions) for extent in extents]
    documents = Range(sum(one.low > 0 for one in unread), sum(one.high > 0 for one in unread))
    expected = total(unread) + documents
    calls = _or_wider(expected.times(REFRESH_CALLS), expected)
    prompt, completion = calls.times(REFRESH_PROMPT), calls.times(REFRESH_ANSWER)
    if conditions.history.share is not None:
        share = HISTORY_SPREAD * conditions.history.share
        prompt, completion = extraction.prompt.times(share), extraction.completion.times(share)
    return Effort.of(calls, prompt, completion, price=conditions.prices.get("summarise"))


def _rewriting(extent: Extent, conditions: Conditions) -> Effort:
    """Estimate what the workspace stages write again after a change: what rests on its passages,
    and of the rest as much as they wrote for so many passages before.
    """
    stages = dict(conditions.history.stages)
    counts = dict(extent.above or {})
    if (read := stages.get("extract")) and counts:
        rest = [one for name, one in stages.items() if name not in {*READING, *counts}]
        others = stages["others"] = sum(rest, Habit(0, 0, 0))
        expected = extraction_of(extent, conditions).calls * (others.calls / read.calls)
        counts["others"] = _or_wider(expected, expected)
    effort = Effort()
    price = conditions.prices.get("summarise")
    for name, calls in counts.items():
        prompt, answer = REFRESH_PROMPT, REFRESH_ANSWER
        if (known := stages.get(name)) and known.calls:
            prompt = HISTORY_SPREAD * (known.prompt / known.calls)
            answer = HISTORY_SPREAD * (known.completion / known.calls)
        effort += Effort.of(calls, calls.times(prompt), calls.times(answer), price=price)
    return effort


def _or_wider(range_: Range, expected: Range) -> Range:
    """Widen the range of a number of calls to what chance makes of it: a count of ``n`` varies by
    its square root, as Poisson's does. That matters below 25.

    >>> _or_wider(Range(3.2, 4.8), Range(4, 4)), _or_wider(Range(80, 120), Range(100, 100))
    (Range(low=2.0, high=6.0), Range(low=80, high=120))
    """
    low, high = math.sqrt(expected.low), math.sqrt(expected.high)
    return Range(
        min(range_.low, max(0, expected.low - low)), max(range_.high, expected.high + high)
    )


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


def _each_passage(extent: Extent) -> Range:
    """Tokens per passage."""
    return Range(
        extent.tokens.low / max(1.0, extent.passages.low),
        extent.tokens.high / max(1.0, extent.passages.high),
    )


def _without(passages: Range, known: int) -> Range:
    return Range(max(0, passages.low - known), max(0, passages.high - known))
