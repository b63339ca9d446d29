"""An estimate as plain sentences, the same on the page, in the API and on the command line."""

from __future__ import annotations

from typing import Final

from ingestion.documents.estimates import Estimate, Range
from kb_project.text import counting
from workspaces.usage.currency import money
from workspaces.usage.queries import UsageLine

MINUTE: Final = 60
HOUR: Final = 3_600
MILLION: Final = 1_000_000


def sentences(estimate: Estimate) -> list[str]:
    """Describe the cost, what is already known, and whether the budget suffices."""
    if not estimate.uses_model:
        return ["Costs nothing: no model is called."]
    if estimate.is_free:
        return ["Costs nothing: every answer is in the cache."]
    return [
        sentence
        for sentence in (_price(estimate), _what(estimate), _known(estimate), _budget(estimate))
        if sentence
    ]


def spent(usage: UsageLine, *, what: str) -> list[str]:
    """Describe the calls made and their cost, for a document or a whole run.

    >>> spent(UsageLine("", calls=3, cached=3), what="It")
    ['No new calls: every answer was in the cache.']
    """
    asked = usage.calls - usage.cached
    if not asked:
        return ["No new calls: every answer was in the cache."]
    cost = f", at a cost of {money(float(usage.cost))}" if usage.cost else ""
    tokens = f"{usage.tokens:,} tokens"
    sentences = [f"{what} took {counting.counted(asked, 'call')} and {tokens}{cost}."]
    if usage.cached:
        sentences.append(
            f"{usage.cached:,} of {usage.calls:,} answers came from the cache and cost nothing."
        )
    if usage.failed:
        sentences.append(f"{usage.failed:,} of them failed.")
    return sentences


def counted(range_: Range, noun: str) -> str:
    """
    >>> counted(Range(1, 1), "call"), counted(Range(1200, 3480), "call")
    ('1 call', '1,200 to 3,500 calls')
    >>> counted(Range(960_000, 14_900_000), "token")
    '0.96 to 15 million tokens'
    """
    low, high = _round(range_.low), _round(range_.high)
    if high >= MILLION:
        return f"{_millions(low)} to {_millions(high)} million {noun}s"
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {noun}{'' if high == 1 else 's'}"


def _millions(number: float) -> str:
    """
    >>> _millions(40_000), _millions(960_000), _millions(4_940_000), _millions(1_234_000_000)
    ('0.04', '0.96', '4.9', '1,234')
    """
    found = number / MILLION
    digits = 2 if found < 1 else 1 if found < 10 else 0
    return f"{found:,.{digits}f}"


def duration(range_: Range) -> str:
    """
    >>> duration(Range(20, 200)), duration(Range(1, 30)), duration(Range(4000, 9000))
    ('up to 4 minutes', 'less than a minute', '67 to 150 minutes')
    """
    if range_.high < MINUTE:
        return "less than a minute"
    unit, name = (MINUTE, "minute") if range_.high < 4 * HOUR else (HOUR, "hour")
    low, high = round(range_.low / unit), -(-range_.high // unit)
    if low < 1:
        return f"up to {high:,.0f} {name}{'' if high == 1 else 's'}"
    return f"{low:,} to {high:,.0f} {name}s" if low < high else f"{low:,} {name}{'s' * (low > 1)}"


def cost(estimate: Estimate) -> str:
    """Format the cost; '' where no price is set."""
    if estimate.cost is None:
        return ""
    low, high = money(estimate.cost.low), money(estimate.cost.high)
    return low if low == high else f"{low} to {high}"


def _what(estimate: Estimate) -> str:
    passages = counted(estimate.passages, "passage")
    tokens = counted(estimate.prompt_tokens + estimate.completion_tokens, "token")
    return (
        f"To read: {passages}, with {counted(estimate.calls, 'call')} to the model and"
        f" {tokens}, in {duration(estimate.seconds)}."
    )


def _price(estimate: Estimate) -> str:
    if estimate.cost is None:
        return "The cost is unknown: no price is set for the model."
    return f"Cost: {cost(estimate)}."


def _known(estimate: Estimate) -> str:
    if not estimate.known:
        return ""
    answers = "answer is" if estimate.known == 1 else "answers are"
    return (
        f"{estimate.known:,} {answers} already known and cost{'s' * (estimate.known == 1)} nothing."
    )


def _budget(estimate: Estimate) -> str:
    if estimate.left is None:
        return ""
    left = f"{money(estimate.left)} of the budget is left"
    if not estimate.is_short:
        return f"{left}."
    will = "will not" if estimate.is_surely_short else "may not"
    return (
        f"{left}, which {will} be enough. Work pauses when it is spent, keeps everything done,"
        " and continues when the budget is raised."
    )


def _round(number: float) -> int:
    """Round to two significant digits, the precision of an estimate; numbers below 100 are exact.

    >>> _round(87), _round(1234), _round(98_765)
    (87, 1200, 99000)
    """
    whole = round(number)
    digits = len(str(whole)) - 2
    return whole if whole < 100 else round(whole, -digits)
