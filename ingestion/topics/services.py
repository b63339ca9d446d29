"""Requests for the chat model to write reports that no model wrote."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import QuerySet

from ingestion.knowledge import topics
from ingestion.models import (
    Community,
    CommunityReport,
)
from ingestion.pipeline import runner
from kb_project.errors import ConflictError
from workspaces.models import Workspace

logger = logging.getLogger(__name__)


def report_retry(*, workspace: Workspace, community: Community) -> None:
    """Have the model write a topic's report at the next refresh, and request one.

    Raises ConflictError if a model wrote it, or there is no model.
    """
    rows = topics.unwritten_reports(workspace=workspace).filter(community=community)
    if not _rewrite(workspace, rows):
        raise ConflictError(
            "This report has nothing for a model to rewrite.",
            code="nothing_to_retry",
            kept="It is unchanged.",
        )


def reports_retry(*, workspace: Workspace) -> int:
    """Have the model write every report that no model wrote. Raises ConflictError if
    there is none.
    """
    number = _rewrite(workspace, topics.unwritten_reports(workspace=workspace))
    if not number:
        raise ConflictError(
            "No report is waiting to be written by a model.",
            code="nothing_to_retry",
            kept="Nothing was changed.",
        )
    return number


def _rewrite(workspace: Workspace, reports: QuerySet[CommunityReport]) -> int:
    with transaction.atomic():
        number = (
            Community.objects.in_workspace(workspace)
            .filter(pk__in=reports.values("community_id"))
            .update(is_changed=True)
        )
        if number:
            runner.request_refresh(workspace.pk)
    logger.info("reports asked for again workspace=%s reports=%s", workspace.pk, number)
    return number
