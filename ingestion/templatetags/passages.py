"""The unread passages of a document, for its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from ingestion.documents import unread_passages
from ingestion.documents.links import reader_url
from ingestion.models import Document
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/passage_problems.html", takes_context=True)
def passage_problems(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show unread passages and rejected facts; nothing if there are none."""
    unread = unread_passages.passages_with_problems(workspace=workspace, document=document)
    rejected = unread_passages.rejections_of(workspace=workspace, document=document)
    hrefs = [reader_url(workspace, document.pk, start=one.start, end=one.end) for one in unread]
    return {
        "workspace": workspace,
        "document": document,
        "unread": list(zip(unread, hrefs, strict=True)),
        "rejected": [unread_passages.rejection_sentence(*counted) for counted in rejected.items()],
        "may_write": workspace.may(Capability.EDIT),
        "csrf_token": context.get("csrf_token"),
    }
