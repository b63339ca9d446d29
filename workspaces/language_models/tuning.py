"""What the model learned from a sample of the documents: starting it, editing it, forgetting it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.db import transaction
from django_q.tasks import async_task

from kb_project.errors import InputError
from workspaces import access
from workspaces.language_models.choice import checked_entity_types
from workspaces.language_models.services import QUEUE, config_needed, row_to_change
from workspaces.models import ModelSettings, Workspace

logger = logging.getLogger(__name__)

TUNE: Final = "ingestion.tasks.tune"
LONGEST: Final[Mapping[str, int]] = {
    "domain": 600,
    "language": 40,
    "persona": 600,
    "report_rating": 600,
    "report_language": 40,
}
"""What people may edit of it, with the most characters of each."""


def tuning_set(*, workspace: Workspace, changes: Mapping[str, str]) -> ModelSettings:
    """Edit what was learned, or say it without learning. Prompts use it from then on.

    Raises InputError for a text that is too long.
    """
    edited = {name: " ".join(text.split()) for name, text in changes.items()}
    for name, text in edited.items():
        if len(text) > LONGEST[name]:
            raise InputError(
                f"{name.replace('_', ' ').capitalize()} has at most {LONGEST[name]} characters.",
                kept="Nothing was changed.",
            )
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        row.tuning = {**row.tuning, **edited}
        row.save()
    logger.info("tuning edited workspace=%s", workspace.pk)
    return row


def tuning_save(*, workspace: Workspace, tuning: Mapping[str, Any]) -> ModelSettings:
    """Save what was learned from the documents: domain, language, examples, and ``types`` if any.

    Learned types apply only if no types were chosen.
    """
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        row.tuning = dict(tuning)
        if not row.entity_types:
            row.entity_types = list(checked_entity_types(tuning.get("types", ())))
        row.save()
    logger.info("tuning saved workspace=%s", workspace.pk)
    return row


def tuning_start(*, workspace: Workspace) -> None:
    """Have the model read a sample of the documents. Raises ConflictError without a chat model."""
    config_needed(workspace)
    transaction.on_commit(partial(async_task, TUNE, str(workspace.pk), cluster=QUEUE))
    logger.info("tuning asked for workspace=%s", workspace.pk)


def tuning_forget(*, workspace: Workspace) -> ModelSettings:
    with access.in_workspace(workspace.pk):
        row = row_to_change(workspace)
        row.tuning = {}
        row.save()
    logger.info("tuning forgotten workspace=%s", workspace.pk)
    return row
