"""Records a workspace's model calls: the ledger, the cache of replies, the budget.

A call to a model with a price is opened beforehand: a ledger row, and its maximum cost reserved in
the budget by one conditional UPDATE, so that the cap holds however many workers call at once. When
it ends, the actual cost replaces the reservation. A crash in between leaves the row open and the
money reserved, since it is unknown whether the provider charged. After ``LOST_AFTER``, the
reservation is released when the money is needed, and the row records that the call's end is
unknown.

A call to a model without a price costs nothing: its row is written when it ends.

A call that ends while the database is away is kept in memory and written by the next use of the
workspace's store in this process: a reply that was paid for is not requested again.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, transaction

from kb_project.database.outages import DATABASE_AWAY
from kb_project.errors import BudgetError
from kb_project.llm.capabilities import Support
from kb_project.llm.ports import CallOutcome, CallRecord, StoredReply
from kb_project.sql import run_sql, run_sql_count
from workspaces import access, sql
from workspaces.models import ModelCall, ModelSettings
from workspaces.usage import caps
from workspaces.usage.queries import Price, installation_prices, is_write_charged

LARGEST: Final = 2**31 - 1
PRICES_HOLD: Final = 2.0
"""Seconds for which prices are cached, so that a free call costs no query."""
NOTHING: Final = Decimal(0)
LOST_AFTER: Final = timedelta(days=1)
"""No call takes this long: one that is still open ended with its process."""


class TableCallStore:
    """A ``kb_project.llm.ports.CallStore`` in the tables of one workspace.

    ``endpoint`` is the one whose ``support`` may be stored: what a replaced endpoint supports does
    not overwrite its successor's. ``is_installation`` is for calls that the operator pays for: they
    cost what the operator says, and count under the operator's limits.
    """

    def __init__(
        self, workspace_id: uuid.UUID, *, endpoint: str = "", is_installation: bool = False
    ) -> None:
        self._workspace_id = workspace_id
        self._endpoint = endpoint
        self._is_installation = is_installation
        self._prices: dict[str, Price] = {}
        self._prices_until = 0.0
        self._under_way: dict[uuid.UUID, tuple[CallRecord, Price | None]] = {}

    def find(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        if not keys:
            return {}
        self._write_ended()
        with self._scope(is_paid=False):
            found = run_sql(sql.KEPT_REPLIES, {"workspace": self._workspace_id, "keys": list(keys)})
        return {key: StoredReply(*rest) for key, *rest in found}

    def open_calls(self, calls: Sequence[CallRecord]) -> list[uuid.UUID]:
        prices = self._known_prices()
        ids = [uuid.uuid4() for _ in calls]
        pairs = list(zip(ids, calls, strict=True))
        priced = {pk: call for pk, call in pairs if call.model in prices}
        if self._is_installation:
            caps.check_priced([call.model for call in calls])
        if priced:
            lines = [_opened(pk, call, prices[call.model]) for pk, call in priced.items()]
            with self._scope(is_paid=True):
                payer = self._reserve(sum((line.cost for line in lines), NOTHING))
                self._write([replace(line, **self._whose(payer)) for line in lines])
        self._under_way |= {pk: (call, prices.get(call.model)) for pk, call in pairs}
        return ids

    def settle(self, ids: Sequence[uuid.UUID], outcomes: Sequence[CallOutcome]) -> None:
        """Record the calls' outcomes. Raises if the database is away, but keeps them in memory."""
        lines = [
            replace(_settled(pk, *self._under_way[pk], outcome), **self._whose())
            for pk, outcome in zip(ids, outcomes, strict=True)
            if pk in self._under_way
        ]
        self._write_ended(lines)
        for pk in ids:
            self._under_way.pop(pk, None)

    def note_cached(self, calls: Sequence[CallRecord], replies: Sequence[StoredReply]) -> None:
        lines = [_from_cache(call, reply) for call, reply in zip(calls, replies, strict=True)]
        if lines:
            with self._scope(is_paid=False):
                self._write(lines)

    def remember_support(self, support: Support) -> None:
        found = support.as_dict()
        with access.in_workspace(self._workspace_id):
            rows = ModelSettings.objects.in_workspace(self._workspace_id)
            rows.filter(endpoint__in=["", self._endpoint]).update(support=found)

    @contextmanager
    def _scope(self, *, is_paid: bool) -> Iterator[None]:
        """Paid calls wait for the disk; the others may be lost in a server crash."""
        durability = access.lasting_work() if is_paid else access.repeatable_work()
        with durability, access.in_workspace(self._workspace_id):
            yield

    def _known_prices(self) -> dict[str, Price]:
        now = time.monotonic()
        if now > self._prices_until:
            with self._scope(is_paid=False):
                rows = run_sql(sql.PRICES, {"workspace": self._workspace_id})
            self._prices = {model: Price(*prices) for model, *prices in rows}
            if self._is_installation:
                self._prices |= installation_prices()
            self._prices_until = now + PRICES_HOLD
        return self._prices

    def _write_ended(self, ended: Sequence[_LedgerRow] = ()) -> None:
        """Write these calls and those that could not be written before, each once."""
        kept = _unwritten.take(self._workspace_id)
        lines = list({line.pk: line for line in (*kept, *ended)}.values())
        if not lines:
            return
        paid = [line for line in lines if line.is_paid]
        is_over = False
        try:
            with self._scope(is_paid=bool(paid)):
                self._write([line for line in lines if not line.is_paid])
                self._charge(paid)
                self._keep(lines)
            is_over = True
        except DATABASE_AWAY:
            raise
        except DatabaseError:
            is_over = True  # the database would never accept it
            raise
        finally:
            if not is_over:
                _unwritten.add(self._workspace_id, lines)

    def _whose(self, payer: int | None = None) -> dict[str, Any]:
        return {"is_installation": self._is_installation, "payer": payer}

    def _reserve(self, amount: Decimal) -> int | None:
        """Reserve the amount, within the workspace's budget and the operator's limits; return the
        person whose limit it counts under.

        Raises BudgetError if one of them does not allow it.
        """
        if amount == NOTHING:
            return None
        values = {"workspace": self._workspace_id, "amount": amount}
        if not run_sql_count(sql.RESERVE, values):
            run_sql(sql.BEGIN_BUDGET, values)
            self._give_up_lost_calls()
            if not run_sql_count(sql.RESERVE, values):
                raise _spent(self._workspace_id)
        return self._reserve_under_caps(amount) if self._is_installation else None

    def _reserve_under_caps(self, amount: Decimal) -> int | None:
        try:
            with transaction.atomic():
                return caps.reserve(self._workspace_id, amount)
        except BudgetError:
            if not self._give_up_lost_calls():
                raise
        return caps.reserve(self._workspace_id, amount)

    def _give_up_lost_calls(self) -> bool:
        """Release what lost calls hold back. Returns whether any was under the operator's
        limits.
        """
        values = {"workspace": self._workspace_id, "age": LOST_AFTER, "zone": settings.TIME_ZONE}
        released = [caps.Spent(*row) for row in run_sql(sql.GIVE_UP_LOST_CALLS, values)]
        caps.charge(self._workspace_id, released)
        return bool(released)

    def _write(self, lines: Sequence[_LedgerRow]) -> None:
        if lines:
            run_sql(sql.WRITE_CALLS, _columns(self._workspace_id, lines))

    def _charge(self, lines: Sequence[_LedgerRow]) -> None:
        if lines:
            values = _columns(self._workspace_id, lines) | {"zone": settings.TIME_ZONE}
            differences = [caps.Spent(*row) for row in run_sql(sql.SETTLE_CALLS, values)]
            caps.charge(self._workspace_id, differences)

    def _keep(self, lines: Iterable[_LedgerRow]) -> None:
        # In a fixed order, so that workers with the same replies do not deadlock.
        whole = sorted(
            (line for line in lines if line.reply is not None and line.call.key),
            key=lambda line: line.call.key,
        )
        if whole:
            texts = {"texts": [_storable(line.reply or "") for line in whole]}
            run_sql(sql.KEEP_REPLIES, _columns(self._workspace_id, whole) | texts)


@dataclass(frozen=True, slots=True)
class _LedgerRow:
    """A row of the ledger, and the reply to keep if there is one."""

    pk: uuid.UUID
    call: CallRecord
    state: ModelCall.State
    cost: Decimal = NOTHING
    code: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    reply: str | None = None
    is_paid: bool = False
    is_installation: bool = False
    payer: int | None = None


class _Unwritten:
    """Ended calls of this process that are not yet in the database, by workspace."""

    def __init__(self) -> None:
        self._lines: dict[uuid.UUID, dict[uuid.UUID, _LedgerRow]] = {}
        self._lock = threading.Lock()

    def add(self, workspace_id: uuid.UUID, lines: Iterable[_LedgerRow]) -> None:
        with self._lock:
            kept = self._lines.setdefault(workspace_id, {})
            kept.update((line.pk, line) for line in lines)

    def take(self, workspace_id: uuid.UUID) -> list[_LedgerRow]:
        """Take a workspace's calls for one thread to write; if it fails, it puts them back."""
        with self._lock:
            return list(self._lines.pop(workspace_id, {}).values())


_unwritten: Final = _Unwritten()


def _opened(pk: uuid.UUID, call: CallRecord, price: Price) -> _LedgerRow:
    prompt = call.prompt_tokens_estimate
    written = prompt if is_write_charged(call.model) else 0
    most = price.of(prompt=prompt, written=written, completion=call.max_output)
    return _LedgerRow(pk, call, ModelCall.State.OPEN, cost=most)


def _settled(
    pk: uuid.UUID, call: CallRecord, price: Price | None, outcome: CallOutcome
) -> _LedgerRow:
    prompt, completion = _count(outcome.prompt_tokens), _count(outcome.completion_tokens)
    cached = min(_count(outcome.cached_tokens), prompt)
    written = _count(outcome.written_tokens) if is_write_charged(call.model) else 0
    cost = NOTHING
    if price:
        cost = price.of(prompt=prompt, completion=completion, cached=cached, written=written)
    return _LedgerRow(
        pk,
        call,
        state=ModelCall.State.FAILED if outcome.reply is None else ModelCall.State.DONE,
        cost=cost,
        code=outcome.code,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        seconds=outcome.seconds,
        reply=outcome.reply,
        is_paid=price is not None,
    )


def _from_cache(call: CallRecord, reply: StoredReply) -> _LedgerRow:
    return _LedgerRow(
        uuid.uuid4(),
        call,
        ModelCall.State.CACHED,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
    )


def _columns(workspace_id: uuid.UUID, lines: Sequence[_LedgerRow]) -> dict[str, Any]:
    """Return the rows as arrays, with texts cut to their columns' lengths."""
    calls = [line.call for line in lines]
    return {
        "workspace": workspace_id,
        "ids": [line.pk for line in lines],
        "states": [line.state.value for line in lines],
        "keys": [call.key[:64] for call in calls],
        "stages": [call.stage[:20] for call in calls],
        "roles": [call.role.value for call in calls],
        "prompts": [call.prompt[:60] for call in calls],
        "versions": [call.prompt_version[:12] for call in calls],
        "models": [call.model[:120] for call in calls],
        "documents": [call.document_id for call in calls],
        "chunks": [call.chunk_id for call in calls],
        "questions": [call.question_id for call in calls],
        "codes": [line.code[:60] for line in lines],
        "prompt_tokens": [line.prompt_tokens for line in lines],
        "cached_tokens": [line.cached_tokens for line in lines],
        "completion_tokens": [line.completion_tokens for line in lines],
        "costs": [line.cost for line in lines],
        "seconds": [line.seconds for line in lines],
        "is_installation": [line.is_installation for line in lines],
        "payers": [line.payer for line in lines],
    }


def _count(reported: int) -> int:
    """Clamp a reported number of tokens to its column's range."""
    return max(0, min(reported, LARGEST))


def _storable(text: str) -> str:
    """Make text storable in Postgres: no NUL, no lone surrogate."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _spent(workspace_id: uuid.UUID) -> BudgetError:
    [(cap, spent)] = run_sql(sql.BUDGET, {"workspace": workspace_id})
    return BudgetError(
        f"The workspace's budget for models does not allow another call: {spent:.4f} of"
        f" {cap:.4f} is spent or set aside for calls under way.",
        kept="Everything done so far is kept.",
        next_step="An admin can raise the budget on the page Models; work then continues.",
    )
