"""The operator's monthly limits on the installation's model, which no workspace can change.

There is one for each workspace, one for all workspaces of a person, and one for the installation.
A call reserves the most it can cost under all three, in the transaction that opens it and by
conditional statements, always in this order: however many processes call at once, no limit is
exceeded and none waits for another in a circle.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final

from django.conf import settings

from kb_project.errors import BudgetError
from kb_project.sql import run_sql, run_sql_count
from workspaces import sql
from workspaces.models import User, Workspace
from workspaces.usage.queries import installation_prices

CODE: Final = "cap_reached"
ALMOST: Final = Decimal("0.99")
"""Share of a limit from which hardly any call fits in what is left."""


class CapKind(StrEnum):
    """Whose spending a limit counts, in the order in which the limits are reserved."""

    WORKSPACE = "workspace"
    PERSON = "person"
    TOTAL = "total"


WHOSE: Final = {
    CapKind.WORKSPACE: "for this workspace",
    CapKind.PERSON: "for all workspaces of this workspace's owner",
    CapKind.TOTAL: "for all workspaces together",
}


@dataclass(frozen=True, slots=True)
class Spent:
    """The amount by which a call's cost differs from what was reserved for it.

    ``payer`` is the person whose limit it was reserved under; ``month`` is the call's.
    """

    month: date
    payer: int | None
    more: Decimal


@dataclass(frozen=True, slots=True)
class CapUse:
    """A limit and what is used of it this month; ``spent`` is None where others' is not shown."""

    kind: CapKind
    cap: Decimal
    spent: Decimal | None
    is_reached: bool

    @property
    def whose(self) -> str:
        return WHOSE[self.kind]

    @property
    def percent(self) -> int:
        if self.spent is None or not self.cap:
            return 100 if self.is_reached else 0
        return min(100, int(100 * self.spent / self.cap))


def reserve(workspace_id: uuid.UUID, amount: Decimal) -> int | None:
    """Reserve the amount under every limit; return the person whose limit it counts under.

    Call in the workspace's scope. Raises BudgetError; the transaction must then be rolled back.
    """
    payer = _payer_of(workspace_id)
    for kind, subject in _subjects(workspace_id, payer):
        values = _values(kind, subject) | {"amount": amount, "cap": cap_of(kind)}
        if not run_sql_count(sql.RESERVE_UNDER_CAP, values):
            raise _reached(kind, subject)
    return payer


def charge(workspace_id: uuid.UUID, differences: Iterable[Spent]) -> None:
    """Correct what is reserved by what the calls cost."""
    sums: defaultdict[tuple[int, date, CapKind, str], Decimal] = defaultdict(Decimal)
    for one in differences:
        for order, (kind, subject) in enumerate(_subjects(workspace_id, one.payer)):
            rank = order if kind is not CapKind.TOTAL else len(CapKind)
            sums[rank, one.month, kind, subject] += one.more
    for (_, month, kind, subject), more in sorted(sums.items()):
        if more:
            values = {"month": month, "kind": kind, "subject": subject, "more": more}
            run_sql_count(sql.CHARGE_CAP, values)


def check_priced(models: Sequence[str]) -> None:
    """Raise BudgetError if a limit could not count the calls of one of these models."""
    missing = sorted(set(models) - set(installation_prices()))
    if missing and any(cap_of(kind) is not None for kind in CapKind):
        raise BudgetError(
            f"The installation limits spending, and has no price for its model {missing[0]}.",
            code=CODE,
            kept="Everything done so far is kept.",
            next_step="Ask your administrator to set the model's price.",
        )


def cap_of(kind: CapKind) -> Decimal | None:
    """Return a limit, or None if there is none."""
    amounts: dict[CapKind, Decimal | None] = {
        CapKind.WORKSPACE: settings.MODEL_CAP_WORKSPACE,
        CapKind.PERSON: settings.MODEL_CAP_PERSON,
        CapKind.TOTAL: settings.MODEL_CAP_TOTAL,
    }
    return amounts[kind]


def caps_of(*, workspace: Workspace, viewer: User | None) -> list[CapUse]:
    """Return the limits on a workspace; call in its scope.

    What a person's other workspaces spend is shown to that person only, and what the installation
    spends to no one here. Without a ``viewer``, as on the command line, everything is shown.
    """
    payer = _payer_of(workspace.pk)
    found = []
    for kind, subject in _subjects(workspace.pk, payer):
        cap = cap_of(kind)
        if cap is None:
            continue
        spent = _spent(kind, subject)
        is_shown = viewer is None or kind is CapKind.WORKSPACE
        is_shown |= kind is CapKind.PERSON and viewer is not None and viewer.pk == payer
        is_reached = spent >= cap * ALMOST
        found.append(CapUse(kind, cap, spent if is_shown else None, is_reached))
    return found


def _subjects(workspace_id: uuid.UUID, payer: int | None) -> list[tuple[CapKind, str]]:
    found = [(CapKind.WORKSPACE, str(workspace_id))]
    if payer is not None:
        found.append((CapKind.PERSON, str(payer)))
    return [*found, (CapKind.TOTAL, "")]


def _payer_of(workspace_id: uuid.UUID) -> int | None:
    [(payer,)] = run_sql(sql.PAYER, {"workspace": workspace_id})
    return None if payer is None else int(payer)


def _spent(kind: CapKind, subject: str) -> Decimal:
    rows = run_sql(sql.SPENT_UNDER_CAP, _values(kind, subject))
    return Decimal(rows[0][0]) if rows else Decimal(0)


def _values(kind: CapKind, subject: str) -> dict[str, object]:
    return {"kind": kind.value, "subject": subject, "zone": settings.TIME_ZONE}


def _reached(kind: CapKind, subject: str) -> BudgetError:
    amounts = ""
    if kind is CapKind.WORKSPACE:
        spent, cap = _spent(kind, subject), cap_of(kind) or Decimal(0)
        amounts = f": {spent:.4f} of {cap:.4f} is spent or set aside for calls under way"
    return BudgetError(
        f"The installation's monthly limit {WHOSE[kind]} does not allow another call of its"
        f" model{amounts}.",
        code=CODE,
        kept="Everything done so far is kept.",
        next_step="Work continues next month, or when your administrator raises the limit. An admin"
        " can also enter an endpoint of the workspace's own on the Models page.",
    )
