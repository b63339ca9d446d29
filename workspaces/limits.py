"""Limits on how often something may happen, shared by all processes.

The generic cell rate algorithm (ITU-T I.371): one timestamp for each limited thing, one statement
for each use. ``take`` commits with the open transaction: call it where no error rolls it back, in a
middleware or before the view's transaction.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from kb_project.sql import run_sql
from workspaces import sql


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``count`` uses within ``seconds``, all at once or spread out."""

    count: int
    seconds: float

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=self.seconds / self.count)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a use is allowed, how many more are now, and the seconds until the next one is.

    ``reset_after`` are the seconds until nothing counts as used.
    """

    is_allowed: bool
    limit: int
    remaining: int
    retry_after: int
    reset_after: int


def take(name: str, rate: Rate) -> Allowance:
    """Count a use of the thing with this name, or refuse it without counting it.

    The name may hold an address or a token: only its digest is stored.
    """
    key, now = _key(name), timezone.now()
    values = {
        "key": key,
        "now": now,
        "used": rate.interval,
        "latest": now + timedelta(seconds=rate.seconds),
    }
    rows = run_sql(sql.TAKE, values)
    return _allowance(rate, rows[0][0] if rows else _full_at(key), now, is_allowed=bool(rows))


def take_each(uses: Mapping[str, Rate]) -> list[Allowance]:
    """Count a use of each thing in one statement, in order, the least allowed first.

    A use that is refused is not counted, and the others are. Call it outside of transactions: it
    commits without waiting for the disk.
    """
    rates, now = {_key(name): rate for name, rate in uses.items()}, timezone.now()
    values = {
        "keys": list(rates),
        "now": now,
        "used": [rate.interval for rate in rates.values()],
        "latest": [now + timedelta(seconds=rate.seconds) for rate in rates.values()],
    }
    taken: dict[str, datetime] = dict(run_sql(sql.TAKE_EACH, values))
    allowances = [
        _allowance(rate, taken.get(key) or _full_at(key), now, is_allowed=key in taken)
        for key, rate in rates.items()
    ]
    return sorted(allowances, key=lambda one: (one.is_allowed, one.remaining))


def give_back(name: str, rate: Rate) -> None:
    """Undo one use, as when only failures count and this was none."""
    run_sql(sql.GIVE_BACK, {"key": _key(name), "used": rate.interval})


def forget_old() -> None:
    """Delete what no longer limits anything."""
    run_sql(sql.FORGET_OLD_RATES)


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _full_at(key: str) -> datetime | None:
    rows = run_sql(sql.FULL_AT, {"key": key})
    return rows[0][0] if rows else None


def _remaining(rate: Rate, full_at: datetime | None, now: datetime) -> int:
    used = max(timedelta(0), (full_at or now) - now)
    return max(0, math.floor(rate.count - used / rate.interval + 1e-6))


def _allowance(
    rate: Rate, full_at: datetime | None, now: datetime, *, is_allowed: bool
) -> Allowance:
    remaining = _remaining(rate, full_at, now)
    wait = timedelta(0)
    if not is_allowed:
        wait = (full_at or now) + rate.interval - now - timedelta(seconds=rate.seconds)
    return Allowance(
        is_allowed, rate.count, remaining, _seconds(wait), _seconds((full_at or now) - now)
    )


def _seconds(wait: timedelta) -> int:
    return max(0, math.ceil(wait.total_seconds()))
