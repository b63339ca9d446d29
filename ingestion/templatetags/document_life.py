"""The actions on a document, for its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.template import Context

from ingestion.documents import deletion_impact
from ingestion.documents.deletion_impact import losses_of
from ingestion.models import Document
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/life/document_life.html", takes_context=True)
def document_life(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show the document's state to everyone, and the actions to those allowed to take them."""
    shown: dict[str, Any] = {"workspace": workspace, "document": document}
    shown |= {"csrf_token": context.get("csrf_token"), "days": settings.TRASH_DAYS}
    shown["may_write"] = workspace.may(Capability.EDIT)
    if shown["may_write"] and document.trashed_at is None:
        found = losses_of(workspace=workspace, documents=[document.pk])
        shown["follows"] = deletion_impact.into_trash(document, found, settings.TRASH_DAYS)
    return shown
