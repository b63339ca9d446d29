"""What a model could not read of a document, for its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from ingestion import passages
from ingestion.models import Document
from ingestion.shown import may
from ingestion.templatetags.knowledge import reader_url
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/passage_problems.html", takes_context=True)
def passage_problems(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Nothing at all where every passage was read and every fact stood."""
    unread = passages.passages_with_problems(workspace=workspace, document=document)
    rejected = passages.rejections_of(workspace=workspace, document=document)
    hrefs = [reader_url(workspace, document.pk, start=one.start, end=one.end) for one in unread]
    return {
        "workspace": workspace,
        "document": document,
        "unread": list(zip(unread, hrefs, strict=True)),
        "rejected": [passages.rejection_sentence(*counted) for counted in rejected.items()],
        "may_write": may(workspace, Capability.EDIT),
        "csrf_token": context.get("csrf_token"),
    }
