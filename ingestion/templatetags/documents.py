"""Documents on pages: their formats, actions, versions, unread passages and reading them again."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.template import Context

from ingestion.documents import archive, estimates, outcomes, rereading, version_presenters
from ingestion.documents.archive import losses_of
from ingestion.documents.presenters import format_label, reader_url
from ingestion.models import Document
from ingestion.parsers.formats import FORMATS, families
from ingestion.pipeline import workspace_jobs
from kb_project.errors import PauseError
from workspaces.language_models.queries import model_state
from workspaces.models import Capability, Workspace

register = template.Library()
register.filter(format_label)


@register.filter
def format_icon(media_type: str) -> str:
    found = FORMATS.get(media_type)
    return found.icon if found else "file-earmark-text"


@register.simple_tag
def format_list() -> str:
    return ", ".join(families())


def _shared(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "document": document,
        "may_write": workspace.may(Capability.EDIT),
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("ingestion/life/document_life.html", takes_context=True)
def document_life(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show the document's state to everyone, and the actions to those allowed to take them."""
    shown = _shared(context, workspace, document) | {"days": settings.TRASH_DAYS}
    if shown["may_write"] and document.trashed_at is None:
        found = losses_of(workspace=workspace, documents=[document.pk])
        shown["follows"] = archive.into_trash(document, found, settings.TRASH_DAYS)
    return shown


@register.inclusion_tag("ingestion/document_versions.html", takes_context=True)
def document_versions(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show the versions, if there are several, and the upload to those who may edit."""
    shown = _shared(context, workspace, document)
    shown["may_write"] = shown["may_write"] and document.is_live
    shown["asks_models"] = shown["may_write"] and model_state(workspace=workspace).tier != "local"
    return shown | version_presenters.context_of(workspace, document)


@register.inclusion_tag("ingestion/passage_problems.html", takes_context=True)
def passage_problems(context: Context, workspace: Workspace, document: Document) -> dict[str, Any]:
    """Show unread passages and rejected facts; nothing if there are none."""
    unread = outcomes.passages_with_problems(workspace=workspace, document=document)
    rejected = outcomes.rejections_of(workspace=workspace, document=document)
    hrefs = [reader_url(workspace, document.pk, start=one.start, end=one.end) for one in unread]
    return _shared(context, workspace, document) | {
        "unread": list(zip(unread, hrefs, strict=True)),
        "rejected": [outcomes.rejection_sentence(*counted) for counted in rejected.items()],
    }


@register.simple_tag
def tuning_work(workspace: Workspace) -> workspace_jobs.JobProgress | None:
    """Return how far learning from the documents is."""
    return workspace_jobs.tuning_work(workspace.pk)


@register.inclusion_tag("ingestion/read_again.html")
def reading_again(workspace: Workspace) -> dict[str, Any]:
    """Show nothing if every document is up to date, or to members who may not edit."""
    member = workspace.membership
    if member is None or not member.may(Capability.EDIT):
        return {}
    try:
        estimate = rereading.reading_again_estimate(workspace=workspace)
    except PauseError:
        # An unreadable key is reported where it can be fixed.
        return {}
    return {
        "workspace": workspace,
        "estimate": estimate,
        "uses_model": model_state(workspace=workspace).tier != "local",
        "sentences": estimates.sentences(estimate),
    }
