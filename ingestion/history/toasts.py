"""Toasts: what was just done, shown on the next page with an undo button.

They use Django's messages, so they survive a redirect and need no script; a script moves them into
the corner, where they are announced (``static/js/toast.js``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from ingestion.history import sentences
from ingestion.models import HistoryEvent
from workspaces.models import Workspace

MARK: Final = "undo:"
"""Prefix of the tag of a message that can be undone; the address follows."""


@dataclass(frozen=True, slots=True)
class Toast:
    """Shown by ``templates/components/toast.html``.

    ``undo_url`` undoes the change by POST and then returns to the page.
    """

    text: str
    undo_url: str = ""


def toast_of(workspace: Workspace, event: HistoryEvent) -> Toast:
    return Toast(said(event), reverse("ingestion:event_undo", args=[workspace.slug, event.pk]))


def said(event: HistoryEvent) -> str:
    change = sentences.change(event)
    return f"{change[0].upper()}{change[1:]}."


def leave(request: HttpRequest, workspace: Workspace, event: HistoryEvent, text: str = "") -> None:
    """Show the toast on the next page; ``text`` replaces the event's own sentence."""
    toast = toast_of(workspace, event)
    messages.success(request, text or toast.text, extra_tags=f"{MARK}{toast.undo_url}")
