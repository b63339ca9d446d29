"""Runs each curation service: one transaction, one event, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent
from kb_project.database.retrying import retried
from workspaces import access


def operation(change: ChangeContext, work: Callable[[], HistoryEvent]) -> HistoryEvent:
    """Lock the workspace's history, check that nothing changed meanwhile, and do the work.

    Retries on deadlocks and serialization failures. Raises PreconditionError.
    """

    def whole() -> HistoryEvent:
        with access.in_workspace(change.workspace.pk):
            recording.lock(change.workspace)
            recording.check_expected(change)
            return work()

    return retried(whole)


def dry_run(work: Callable[[], HistoryEvent]) -> HistoryEvent:
    """Return the event that the work would record, and roll everything back."""
    with transaction.atomic():
        event = work()
        transaction.set_rollback(True)
    return event


def tell(event: HistoryEvent, more: Mapping[str, Any]) -> HistoryEvent:
    """Add details to an event, in its own transaction, that are known only afterwards."""
    event.details = {**event.details, **more}
    event.save(update_fields=["details"])
    return event
