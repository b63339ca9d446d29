"""The panel that offers to read documents again, on the pages where the wish may come up."""

from __future__ import annotations

from typing import Any

from django import template

from ingestion import estimate_words, rereading
from kb_project.errors import PauseError
from workspaces.models import Capability, Workspace
from workspaces.selectors import model_state

register = template.Library()


@register.inclusion_tag("ingestion/read_again.html")
def reading_again(workspace: Workspace) -> dict[str, Any]:
    """Nothing where every document is read as the workspace reads now, and for mere readers."""
    member = workspace.membership
    if member is None or not member.may(Capability.EDIT):
        return {}
    try:
        estimate = rereading.reading_again_estimate(workspace=workspace)
    except PauseError:
        # A key that cannot be read is told of where it is mended.
        return {}
    return {
        "workspace": workspace,
        "estimate": estimate,
        "uses_model": model_state(workspace=workspace).tier != "local",
        "sentences": estimate_words.sentences(estimate),
    }
