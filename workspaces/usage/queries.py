"""Usage and cost of a workspace's models, their prices, and how amounts are written.

Nothing here ever contains a key.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import ROUND_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, Literal

from django.conf import settings

from kb_project.sql import run_sql
from workspaces import sql
from workspaces.models import ModelBudget, ModelCall, ModelPrice, Workspace

# --- prices ---------------------------------------------------------------------------------------
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


# --- usage ----------------------------------------------------------------------------------------
By = Literal["stage", "role", "model", "document", "day"]
USAGE_KINDS: Final[tuple[By, ...]] = ("stage", "role", "model", "document", "day")
MOST_LINES: Final = 50
MOST_CALLS: Final = 50
LONGEST_CALL: Final = timedelta(hours=4)
"""All attempts at the longest timeout: a call open for longer lost its process."""


@dataclass(frozen=True, slots=True)
class UsageLine:
    """``calls`` includes those answered from the cache; tokens and costs do not.

    ``cached_tokens`` are those of ``prompt_tokens`` that the provider had in a cache of its own.
    ``title`` is a document's, '' if it is gone.
    """

    name: str
    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal = Decimal(0)
    seconds: float = 0.0
    title: str = ""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Spending:
    """``spent`` counts calls in progress at their maximum cost; without a ``cap``, no limit.

    ``lost`` calls are among them: a crash left them open, so their cost is unknown.
    """

    cap: Decimal | None
    spent: Decimal
    lost: int = 0
    lost_cost: Decimal = Decimal(0)

    @property
    def left(self) -> Decimal | None:
        return None if self.cap is None else max(Decimal(0), self.cap - self.spent)

    @property
    def percent(self) -> int:
        """Percentage of the cap, from 0 to 100."""
        if self.cap is None:
            return 0
        return 100 if not self.cap else min(100, int(100 * self.spent / self.cap))


def usage_total(*, workspace: Workspace) -> UsageLine:
    return _total(workspace.pk, None)


def usage_of_document(*, workspace: Workspace, document_id: uuid.UUID) -> UsageLine:
    """Return the usage for one document; all zeros if no model was called for it."""
    return _total(workspace.pk, document_id)


def usage_by(*, workspace: Workspace, by: By, most: int = MOST_LINES) -> list[UsageLine]:
    """Return usage, most expensive first, days newest first. Documents are named by id, with a
    title.
    """
    lines = _lines(workspace.pk, by, None, most)
    if by != "document" or not lines:
        return lines
    values = {"workspace": workspace.pk, "ids": [line.name for line in lines]}
    titles: dict[str, str] = dict(run_sql(sql.DOCUMENT_TITLES, values))
    return [replace(line, title=titles.get(line.name, "")) for line in lines]


def spending_of(*, workspace: Workspace) -> Spending:
    budget = ModelBudget.objects.in_workspace(workspace).first()
    if budget is None:
        return Spending(None, usage_total(workspace=workspace).cost)
    values = {"workspace": workspace.pk, "age": LONGEST_CALL}
    [(lost, cost)] = run_sql(sql.LOST_CALLS, values)
    return Spending(budget.cap, budget.spent, lost, cost)


def last_calls(*, workspace: Workspace, most: int = MOST_CALLS) -> list[ModelCall]:
    return list(ModelCall.objects.in_workspace(workspace).order_by("-created_at")[:most])


def prices_in(*, workspace: Workspace) -> list[ModelPrice]:
    return list(ModelPrice.objects.in_workspace(workspace).order_by("model"))


def unpriced(
    *, workspace: Workspace, models: Sequence[str], is_installation: bool = False
) -> list[str]:
    """Return the models without a price: a budget does not limit their calls.

    The operator prices those of the installation.
    """
    priced = {price.model for price in prices_in(workspace=workspace)}
    if is_installation:
        priced |= set(installation_prices())
    return sorted({model for model in models if model} - priced)


def _total(workspace_id: uuid.UUID, document_id: uuid.UUID | None) -> UsageLine:
    lines = _lines(workspace_id, "", document_id, 1)
    return replace(lines[0], name="") if lines else UsageLine("")


def _lines(
    workspace_id: uuid.UUID, by: str, document_id: uuid.UUID | None, most: int
) -> list[UsageLine]:
    values = {
        "workspace": workspace_id,
        "by": by,
        "document": document_id,
        "zone": settings.TIME_ZONE,
        "most": most,
    }
    return [UsageLine(*row) for row in run_sql(sql.USAGE_BY, values)]


def money(amount: float) -> str:
    """Format with two significant digits below 0.1, else two decimals; never in powers of ten.

    >>> money(0), money(0.00123), money(0.05), money(12.345), money(1234.5)
    ('0', '0.0012', '0.05', '12.35', '1,234.50')
    """
    if not amount:
        return "0"
    if amount >= 0.1:
        return f"{amount:,.2f}"
    for digits in range(3, 8):
        if amount * 10**digits >= 10:
            return f"{amount:.{digits}f}".removesuffix("0")
    return "less than 0.000001"
