"""What can be done with a document, on its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.template import Context

from ingestion import life_words
from ingestion.losses import losses_of
from ingestion.models import Document
from ingestion.shown import may
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/life/document_life.html", takes_context=True)
def document_life(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Where it stands, for everybody; what can be done, for those who may."""
    shown: dict[str, Any] = {"workspace": workspace, "document": document}
    shown |= {"csrf_token": context.get("csrf_token"), "days": settings.TRASH_DAYS}
    shown["may_write"] = may(workspace, Capability.EDIT)
    if shown["may_write"] and document.trashed_at is None:
        found = losses_of(workspace=workspace, documents=[document.pk])
        shown["follows"] = life_words.into_trash(document, found, settings.TRASH_DAYS)
    return shown
