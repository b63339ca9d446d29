"""Quotas: what a workspace may store and ask at once, and how many workspaces a person may create.

Services check them in the transaction that uses what is left. A check holds a lock until that
transaction ends where two at once could exceed the quota. Each is a setting; 0 is no limit.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from kb_project.errors import LimitError, QuotaError
from kb_project.sql import bulk_plans, run_sql
from workspaces import sql
from workspaces.models import User, Workspace

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
