"""Runs each curation service: one transaction, one event, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.overrides import NameResolution
from kb_project.database.outages import retried
from workspaces import access
from workspaces.models import Workspace


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


def apply(
    workspace: Workspace, before: NameResolution, keys: Iterable[str], *, may_wait: bool = True
) -> bool:
    """Apply new decisions to the graph, for these names and all that resolve differently now.

    Returns whether a worker applies them, because many documents use the names.
    """
    after = load_resolution(workspace.pk)
    names = {*keys, *after.changed_since(before)}
    return propagate(workspace.pk, names, after, may_wait=may_wait)


def add_details(event: HistoryEvent, **more: Any) -> HistoryEvent:
    """Add details to an event, in its own transaction, that are known only afterwards."""
    event.details = {**event.details, **more}
    event.save(update_fields=["details"])
    return event
