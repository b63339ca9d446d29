"""What was just done, told on the next page together with a way back.

The word rides on Django's messages, so that it survives a redirect and needs no script; a script
lifts it into the corner, where it is announced (``static/js/toast.js``).
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
"""Begins the tag of a message that can be undone; the address follows."""


@dataclass(frozen=True, slots=True)
class Toast:
    """``templates/components/toast.html`` shows it.

    ``undo_url`` takes the change back by POST and then goes back to the page.
    """

    text: str
    undo_url: str = ""


def toast_of(workspace: Workspace, event: HistoryEvent) -> Toast:
    return Toast(said(event), reverse("ingestion:event_undo", args=[workspace.slug, event.pk]))


def said(event: HistoryEvent) -> str:
    change = sentences.change(event)
    return f"{change[0].upper()}{change[1:]}."


def leave(request: HttpRequest, workspace: Workspace, event: HistoryEvent, text: str = "") -> None:
    """Show the toast on the page that comes next; ``text`` says what one event does not."""
    toast = toast_of(workspace, event)
    messages.success(request, text or toast.text, extra_tags=f"{MARK}{toast.undo_url}")
