"""Curation on pages: events of the history, toasts, and the number of open suggestions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from django import template
from django.contrib.messages.storage.base import Message
from django.core.cache import cache
from django.db.models import Count, Max
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ingestion.history.queries import EventView, is_of_documents
from ingestion.history.sentences import UNDO_TAG, Toast
from ingestion.knowledge import conflicts
from ingestion.models import EventKind, HistoryEvent, MergeSuggestion
from ingestion.suggestions import cases
from ingestion.suggestions.cases import MOST_SHOWN
from workspaces import access
from workspaces.models import Workspace

register = template.Library()

COUNT_CACHED_SECONDS: Final = 60
FIELDS: Final[Mapping[str, str]] = {
    "names": "Entities",
    "add_aliases": "Names added",
    "remove_aliases": "Names removed",
    "is_protected": "Protected",
    "is_confirmed": "Confirmed",
}


@register.simple_tag
def event_sentence(workspace: Workspace, view: EventView) -> SafeString:
    """Return the event's sentence, with a link at each name it quotes."""
    links = {f"'{name}'": _address(workspace, view, one) for one, name in view.names.items()}
    known = [name for name, address in links.items() if address]
    if not known:
        return format_html("{}", view.sentence)
    longest_first = sorted(known, key=len, reverse=True)
    cut = re.compile("(" + "|".join(re.escape(name) for name in longest_first) + ")")
    return format_html_join(
        "", "{}", ((_linked(part, links.get(part)),) for part in cut.split(view.sentence))
    )


def _linked(part: str, address: str | None) -> SafeString | str:
    return format_html('<a href="{}">{}</a>', address, part[1:-1]) if address else part


def _address(workspace: Workspace, view: EventView, one: str) -> str:
    if view.event.kind == EventKind.DOCUMENT_DELETED:
        return ""
    name = "document_detail" if is_of_documents(view.event) else "entity_detail"
    return reverse(f"ingestion:{name}", args=[workspace.slug, one])


@register.filter
def changes(view: EventView) -> list[tuple[str, str, str]]:
    """Return ``[(field, before, after), …]`` in words."""
    fields = dict.fromkeys([*view.before, *view.after])
    return [
        (
            FIELDS.get(field, field.replace("_", " ").capitalize()),
            in_words(view.before.get(field)),
            in_words(view.after.get(field)),
        )
        for field in fields
    ]


def in_words(value: Any) -> str:
    """
    >>> in_words(["A", "B"]), in_words(True), in_words("")
    ('A, B', 'yes', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(in_words(one) for one in value)
    return str(value)


@register.filter
def as_toast(message: Message) -> Toast | None:
    """Return the toast in a message, None for an ordinary message."""
    tag = message.extra_tags or ""
    is_toast = tag.startswith(UNDO_TAG)
    return Toast(str(message.message), tag.removeprefix(UNDO_TAG)) if is_toast else None


@register.simple_tag
def open_conflicts(workspace: Workspace) -> int:
    """Count the conflicts that no one has decided."""
    with access.in_workspace(workspace.pk):
        return min(conflicts.open_count(workspace), MOST_SHOWN)


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
            known = cases.case_counts(workspace=workspace).open
            cache.set(key, known, COUNT_CACHED_SECONDS)
    return min(int(known), MOST_SHOWN)
