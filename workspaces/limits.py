"""Limits: how often something may happen, and how much a workspace may store and ask at once.

Rates follow the generic cell rate algorithm (ITU-T I.371): one timestamp for each limited thing,
one statement for each use. ``take`` commits with the open transaction: call it where no error rolls
it back, in a middleware or before the view's transaction.

Services check quotas in the transaction that uses what is left. A check holds a lock until that
transaction ends where two at once could exceed the quota. Each is a setting; 0 is no limit.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.utils import timezone

from kb_project.errors import LimitError, QuotaError
from kb_project.sql import bulk_plans, run_sql
from workspaces import sql
from workspaces.models import User, Workspace


# --- how often ------------------------------------------------------------------------------------
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


# --- how much -------------------------------------------------------------------------------------
MOST_AT_ONCE: Final = 50
"""Questions that may be under way in as many transactions, which do not see each other's."""
SECONDS_TO_WAIT: Final = 5
MB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Quota:
    """How much of a quota is used; ``limit`` is None if there is none."""

    name: str
    label: str
    used: int
    limit: int | None

    @property
    def percent(self) -> int:
        if not self.limit:
            return 0
        return min(100, int(100 * self.used / self.limit))

    @property
    def is_bytes(self) -> bool:
        return self.name == "storage"


def quotas_of(*, workspace: Workspace, user: User) -> list[Quota]:
    """Return the quotas that limit the user in the workspace."""
    documents, stored = _stored(workspace.pk)
    asked, own = _in_flight(workspace.pk, user.pk)
    return [
        Quota("storage", "Stored files", stored, settings.MAX_STORED_BYTES or None),
        Quota("documents", "Documents", documents, settings.MAX_DOCUMENTS or None),
        Quota(
            "questions",
            "Questions being answered",
            asked,
            settings.MAX_QUESTIONS_OF_WORKSPACE or None,
        ),
        Quota(
            "own_questions",
            "Your questions being answered",
            own,
            settings.MAX_QUESTIONS_OF_PERSON or None,
        ),
    ]


def check_storage(workspace_id: uuid.UUID, *, size: int, documents: int = 0) -> None:
    """Check that the workspace may store so many more bytes and documents. Raises QuotaError."""
    if not (settings.MAX_STORED_BYTES or settings.MAX_DOCUMENTS):
        return
    _hold(f"{workspace_id} storage")
    present, stored = _stored(workspace_id)
    if documents and 0 < settings.MAX_DOCUMENTS < present + documents:
        raise QuotaError(
            f"This workspace may have {settings.MAX_DOCUMENTS:,} documents, and has {present:,}.",
            code="quota_documents",
            kept="The file was not added; nothing else was changed.",
            next_step="Empty the trash or delete documents for good, or ask your administrator to"
            " raise MAX_DOCUMENTS.",
        )
    if 0 < settings.MAX_STORED_BYTES < stored + size:
        raise QuotaError(
            f"This workspace may store {settings.MAX_STORED_BYTES / MB:,.0f} MB of files. It stores"
            f" {stored / MB:,.1f} MB, and this would add {size / MB:,.1f} MB.",
            code="quota_storage",
            kept="The file was not added; nothing else was changed.",
            next_step="Empty the trash or delete documents for good, or ask your administrator to"
            " raise MAX_STORED_MB.",
        )


def check_questions(workspace_id: uuid.UUID, *, user_id: int | None) -> None:
    """Check that one more question may be answered in the workspace now. Raises LimitError.

    Far from a limit, no request waits for another's transaction.
    """
    if not (settings.MAX_QUESTIONS_OF_WORKSPACE or settings.MAX_QUESTIONS_OF_PERSON):
        return
    counts = _in_flight(workspace_id, user_id)
    if any(left <= MOST_AT_ONCE for left in _left(counts)):
        _hold(f"{workspace_id} questions")
        counts = _in_flight(workspace_id, user_id)
    of_workspace, of_person = _left(counts)
    if of_person <= 0:
        raise _too_many(f"{counts[1]} of your questions are being answered, as many as allowed.")
    if of_workspace <= 0:
        raise _too_many(f"{counts[0]} questions are being answered here, as many as allowed.")


def check_workspaces(user: User | None) -> None:
    """Check that the user may create one more workspace. Raises QuotaError."""
    most = settings.MAX_WORKSPACES_OF_PERSON
    if user is None or not most:
        return
    _hold(f"workspaces of {user.pk}")
    present = Workspace.objects.filter(created_by=user).count()
    if present >= most:
        raise QuotaError(
            f"One person may create {most} workspaces, and {user} has created {present}.",
            code="quota_workspaces",
            kept="No workspace was created.",
            next_step="Delete one that is no longer used, or ask your administrator to raise"
            " MAX_WORKSPACES_OF_PERSON.",
        )


def _stored(workspace_id: uuid.UUID) -> tuple[int, int]:
    """Return how many documents there are, and the bytes of all their versions."""
    with bulk_plans():
        [(documents, stored)] = run_sql(sql.STORED, {"workspace": workspace_id})
    return documents, stored


def _in_flight(workspace_id: uuid.UUID, user_id: int | None) -> tuple[int, int]:
    """Return how many questions are being answered in the workspace, and how many of the user's."""
    [(of_workspace, of_person)] = run_sql(
        sql.IN_FLIGHT, {"workspace": workspace_id, "person": user_id}
    )
    return of_workspace, of_person


def _left(counts: tuple[int, int]) -> tuple[float, float]:
    most = (settings.MAX_QUESTIONS_OF_WORKSPACE, settings.MAX_QUESTIONS_OF_PERSON)
    of_workspace, of_person = (
        limit - used if limit else float("inf") for limit, used in zip(most, counts, strict=True)
    )
    return of_workspace, of_person


def _too_many(happened: str) -> LimitError:
    return LimitError(
        happened,
        code="questions_in_flight",
        kept="The question was not asked.",
        next_step="Wait until some are answered, or stop them.",
        retry_after=SECONDS_TO_WAIT,
    )


def _hold(name: str) -> None:
    run_sql(sql.HOLD_QUOTA, {"name": name})
