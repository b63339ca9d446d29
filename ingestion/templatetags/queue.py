"""The number of open cases, for the menu of every page."""

from __future__ import annotations

from typing import Final

from django import template
from django.core.cache import cache
from django.db.models import Count, Max

from ingestion.models import HistoryEvent, MergeSuggestion
from ingestion.suggestions import queue
from ingestion.suggestions.queue import MOST_SHOWN
from workspaces import access
from workspaces.models import Workspace

register = template.Library()

KEPT_SECONDS: Final = 60


@register.simple_tag
def open_cases(workspace: Workspace) -> int:
    """Count open cases; cached for a minute, until the history or the suggestions change."""
    with access.in_workspace(workspace.pk):
        rows = MergeSuggestion.objects.in_workspace(workspace)
        found = rows.aggregate(number=Count("pk"), latest=Max("created_at"))
        if not found["number"]:
            return 0
        changes = HistoryEvent.objects.in_workspace(workspace).aggregate(last=Max("sequence"))
        latest = found["latest"].timestamp()
        key = f"cases:{workspace.pk}:{found['number']}:{latest}:{changes['last']}"
        known = cache.get(key)
        if known is None:
            known = queue.case_counts(workspace=workspace).open
            cache.set(key, known, KEPT_SECONDS)
    return min(int(known), MOST_SHOWN)
