"""Watch topics and remember what a member has seen; have the chat model write reports."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion.knowledge import topics, watches
from ingestion.knowledge.topics import is_new_visit
from ingestion.knowledge.watches import ChangeList, WatchedTopic
from ingestion.models import Community, CommunityReport, TopicWatch
from ingestion.pipeline import runner
from kb_project.errors import ConflictError, NotFoundError, found
from workspaces import editions
from workspaces.models import Workspace

logger = logging.getLogger(__name__)

# --- watching -------------------------------------------------------------------------------------
MOST_WATCHED: Final = 50
"""Topics that a member may watch in a workspace."""


def topic_watch(
    *, workspace: Workspace, community_id: UUID, mails: bool | None = None
) -> WatchedTopic:
    """Have the member who passed the gate watch a topic, or change whether e-mails mention it.

    Raises NotFoundError, and ConflictError for too many.
    """
    community = topics.community_get(workspace=workspace, community_id=community_id)
    known = watch_of(workspace=workspace, community_id=community.pk)
    if known is None:
        return _begin(workspace, community.pk, mails=mails)
    if mails is not None and mails != known.watch.mails:
        with watches.at_home(workspace):
            _rows_of(known).update(mails=mails)
        known.watch.mails = mails
    return known


def _begin(workspace: Workspace, topic: UUID, *, mails: bool | None) -> WatchedTopic:
    # Before the state: a change in between is found, not missed.
    signature = watches.signatures_of(workspace, [topic]).get(topic, "")
    state = watches.states_of(workspace, [topic])[topic]
    names, titles = watches.names_of(workspace, topic), watches.titles_of(workspace, [topic])
    seen = state.as_json()
    with watches.at_home(workspace):
        others = list(watches.watch_rows(workspace).values_list("mails", flat=True))
        if len(others) >= MOST_WATCHED:
            raise ConflictError(
                f"You watch {MOST_WATCHED} topics in this workspace, the most possible.",
                code="too_many_watches",
                kept="Nothing was changed.",
                next_step="Stop watching one of them first.",
            )
        if mails is None:
            # Someone who has stopped all e-mails gets none about another topic.
            mails = not others or any(others)
        row = TopicWatch.objects.create(
            workspace_id=editions.source_id(workspace.pk),
            membership=found(workspace.membership, "membership"),
            place=workspace.pk,
            topic=topic,
            names=names,
            seen=seen,
            latest=seen,
            signature=signature,
            mails=mails,
        )
    logger.info("topic watched workspace=%s topic=%s", workspace.pk, topic)
    return WatchedTopic(row, topic, titles.get(topic, ""), state)


def topic_unwatch(*, workspace: Workspace, community_id: UUID) -> WatchedTopic:
    """End and return a watch of the member who passed the gate. Raises NotFoundError."""
    ended = watch_get(workspace=workspace, community_id=community_id)
    with watches.at_home(workspace):
        _rows_of(ended).delete()
    logger.info("topic no longer watched workspace=%s topic=%s", workspace.pk, community_id)
    return ended


def watch_get(*, workspace: Workspace, community_id: UUID) -> WatchedTopic:
    """Return the member's watch on a topic, or on one whose entities are in it now.

    The id of a topic that is gone leads to the watch on it, too. Raises NotFoundError.
    """
    watch = watch_of(workspace=workspace, community_id=community_id)
    if watch is None:
        raise NotFoundError(
            "You don't watch this topic.", code="not_watched", next_step="Watch it on its page."
        )
    return watch


def watch_of(*, workspace: Workspace, community_id: UUID) -> WatchedTopic | None:
    """Return the member's watch on a topic, on one that became part of it, or None."""
    with watches.at_home(workspace):
        rows = list(watches.watch_rows(workspace).defer("seen", "latest", "names"))
    own = [row for row in rows if row.topic == community_id]
    if not own:
        gone = set(watches.gone(workspace, rows))
        own = [row for row in rows if row.topic in gone]
    followed = watches.watched(workspace, _whole(workspace, own))
    return next((one for one in followed if community_id in (one.watch.topic, one.topic)), None)


def _whole(workspace: Workspace, rows: Sequence[TopicWatch]) -> list[TopicWatch]:
    if not rows:
        return []
    with watches.at_home(workspace):
        return list(watches.watch_rows(workspace).filter(pk__in=[row.pk for row in rows]))


def topic_visit(
    *, workspace: Workspace, watched: WatchedTopic, now: datetime | None = None
) -> ChangeList:
    """Remember that the member has seen a topic as it is now; return what changed since before.

    What a visit listed stays listed until the next one. A watch on a topic that is gone follows
    it, for good.
    """
    now = now or timezone.now()
    changed = watches.change_list(workspace, watched, now)
    if watched.topic is None:
        return changed
    watch, state = watched.watch, watched.state.as_json()
    seen = {"latest": state, "visited_at": now, "place": workspace.pk, "topic": watched.topic}
    if watched.is_elsewhere:
        # What was seen is of another copy: this is the first visit to this one.
        seen |= {"seen": state, "seen_at": now}
    elif is_new_visit(watch.visited_at, now):
        seen |= {"seen": watch.latest, "seen_at": watch.visited_at}
    if watched.has_moved and not watched.is_elsewhere:
        seen["moved_at"] = now
    names = watches.names_of(workspace, watched.topic)
    seen["signature"] = watched.signature
    with watches.at_home(workspace):
        # Two watched topics that became one are one watch.
        same = watches.watch_rows(workspace).filter(topic=watched.topic)
        same.exclude(pk=watch.pk).delete()
        _rows_of(watched).update(**seen, names=names)
    return changed


def mails_stop(*, workspace_id: UUID, membership_id: UUID) -> int:
    """Stop the e-mails about all topics that a member watches, in the workspace's scope."""
    rows = TopicWatch.objects.in_workspace(workspace_id).filter(membership=membership_id)
    number = rows.update(mails=False)
    logger.info("mails about topics stopped workspace=%s watches=%s", workspace_id, number)
    return number


def _rows_of(watched: WatchedTopic) -> watches.Watches:
    rows = TopicWatch.objects.in_workspace(watched.watch.workspace_id)
    return rows.filter(pk=watched.watch.pk)


logger = logging.getLogger(__name__)


# --- reports --------------------------------------------------------------------------------------
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
