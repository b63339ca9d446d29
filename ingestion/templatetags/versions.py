"""The versions of a document, for its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from ingestion import shown_versions
from ingestion.models import Document
from ingestion.shown import may
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/document_versions.html", takes_context=True)
def document_versions(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Who may add documents may add a version; where there is one only, nothing is listed."""
    may_write = may(workspace, Capability.EDIT) and document.is_live
    return {
        "workspace": workspace,
        "document": document,
        "may_write": may_write,
        "csrf_token": context.get("csrf_token"),
        **shown_versions.context_of(workspace, document),
    }
