"""Prices of models: a workspace's own, and those that the operator sets for the installation's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from django.conf import settings

MILLION: Final = 1_000_000
SMALLEST: Final = Decimal("1e-10")
"""The smallest unit of a cost; costs are rounded up to it."""


WRITE_SURCHARGE: Final = Decimal("0.25")
"""Anthropic's, on the input price of tokens that it takes up into its cache for five minutes, as
``cache_control`` asks it to (Anthropic's price list, *prompt caching*)."""


def is_write_charged(model: str) -> bool:
    """Whether the model's provider charges for writing to its cache. Others do not, or by the hour.

    >>> is_write_charged("anthropic/claude-haiku-5-5"), is_write_charged("gpt-6-sol")
    (True, False)
    """
    return "claude" in model.casefold()


@dataclass(frozen=True, slots=True)
class Price:
    """A price per million tokens; ``cached_prompt`` applies to tokens in the provider's
    own cache.
    """

    prompt: Decimal
    cached_prompt: Decimal
    completion: Decimal

    def of(self, *, prompt: int, completion: int, cached: int = 0, written: int = 0) -> Decimal:
        """Return the cost; ``written`` tokens of the prompt cost the surcharge on top.

        >>> Price(Decimal(2), Decimal(1), Decimal(10)).of(prompt=1000, cached=400, completion=50)
        Decimal('0.0021000000')
        """
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        millionths = (
            (prompt - cached) * self.prompt
            + cached * self.cached_prompt
            + written * self.prompt * WRITE_SURCHARGE
            + completion * self.completion
        )
        return (millionths / MILLION).quantize(SMALLEST, rounding=ROUND_UP)


def installation_prices() -> Mapping[str, Price]:
    """Return the operator's prices by model. Raises ValueError for an entry that is none."""
    return _parsed(tuple(settings.MODEL_PRICES))


def offered_model(name: str) -> str:
    """Return the model that the installation's endpoint is asked for in place of ``name``.

    Only ``MODEL_NAME`` and models that the operator prices are offered.
    """
    return name if name in installation_prices() else str(settings.MODEL_NAME)


@lru_cache(maxsize=8)
def _parsed(entries: tuple[str, ...]) -> Mapping[str, Price]:
    return dict(map(price_in, entries))


def price_in(entry: str) -> tuple[str, Price]:
    """Parse MODEL=IN/OUT or MODEL=IN/OUT/CACHED. Raises ValueError.

    >>> price_in("small-1=0.15/0.60")[1].completion
    Decimal('0.60')
    """
    name, _, amounts = entry.rpartition("=")
    try:
        prompt, completion, *cached = map(Decimal, amounts.split("/"))
    except (InvalidOperation, ValueError):
        raise ValueError(f"{entry} is not MODEL=IN/OUT") from None
    money = (prompt, completion, *cached)
    if not name.strip() or len(cached) > 1 or not all(m.is_finite() and m >= 0 for m in money):
        raise ValueError(f"{entry} is not MODEL=IN/OUT")
    return name.strip(), Price(prompt, cached[0] if cached else prompt, completion)
