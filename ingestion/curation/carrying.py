"""How every service of curation is carried out: one transaction, one event, nothing by halves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from ingestion import history
from ingestion.history import Deed
from ingestion.models import HistoryEvent
from kb_project.retrying import retried
from workspaces import access


def carried_out(deed: Deed, work: Callable[[], HistoryEvent]) -> HistoryEvent:
    """Lock the workspace's history, see that nothing was changed meanwhile, and do the work.

    What the database breaks off for others' sake is done again. Raises PreconditionError.
    """

    def whole() -> HistoryEvent:
        with access.in_workspace(deed.workspace.pk):
            history.lock(deed.workspace)
            history.check_expected(deed)
            return work()

    return retried(whole)


def rehearsed(work: Callable[[], HistoryEvent]) -> HistoryEvent:
    """The event as it would be; nothing of what was done for it stays."""
    with transaction.atomic():
        event = work()
        transaction.set_rollback(True)
    return event


def tell(event: HistoryEvent, more: Mapping[str, Any]) -> HistoryEvent:
    """Add to an event, in its own transaction, what was known only when all was done."""
    event.details = {**event.details, **more}
    event.save(update_fields=["details"])
    return event
