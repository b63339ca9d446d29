"""The versions of a document, for its page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from ingestion.documents import version_presenters
from ingestion.models import Document
from workspaces.models import Capability, Workspace

register = template.Library()


@register.inclusion_tag("ingestion/document_versions.html", takes_context=True)
def document_versions(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show the versions, if there are several, and the upload to those who may edit."""
    may_write = workspace.may(Capability.EDIT) and document.is_live
    return {
        "workspace": workspace,
        "document": document,
        "may_write": may_write,
        "csrf_token": context.get("csrf_token"),
        **version_presenters.context_of(workspace, document),
    }
