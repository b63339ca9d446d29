"""The panel that offers to read documents again."""

from __future__ import annotations

from typing import Any

from django import template

from ingestion.documents import estimate_sentences, rereading
from kb_project.errors import PauseError
from workspaces.language_models.queries import model_state
from workspaces.models import Capability, Workspace

register = template.Library()


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
        "sentences": estimate_sentences.sentences(estimate),
    }
