"""Find the workspaces that a sweep or a starting worker has to visit, in one question for all.

Most workspaces need nothing most of the time, and an installation may have thousands. Row-level
security shows one workspace at a time, also to the functions of the database that look: they go
from one to the next, with a look into a few small indexes each.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final, LiteralString

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from kb_project.sql import run_sql
from workspaces import access
from workspaces.models import Workspace

FIND: Final[LiteralString] = "SELECT need, workspace_id FROM ingestion_needs(%(trashed_before)s)"
WITH_OTHER_VECTORS: Final[LiteralString] = """
SELECT workspace_id FROM ingestion_with_other_vectors(%(expected)s) AS found (workspace_id)
"""

# Has any stage ended since no tree was missing? Read before looking: what ends meanwhile is looked
# at the next time.
ENDED_SINCE_TREES_WERE_SEEN: Final[LiteralString] = """
SELECT number FROM ingestion_corpusversion
 WHERE workspace_id = %(workspace)s AND number <> trees_seen
"""
TREES_ARE_SEEN: Final[LiteralString] = """
UPDATE ingestion_corpusversion SET trees_seen = %(number)s WHERE workspace_id = %(workspace)s
"""


class Need(StrEnum):
    """Why a workspace is visited."""

    WORK = "work"
    """Jobs that are not finished: their workers may be dead, or their calls lost."""
    PAUSED = "paused"
    """Paused jobs, which may fare better now."""
    CHANGED = "changed"
    """Changes of entities that no refresh has taken up."""
    TREE = "tree"
    """Work has ended since it was last seen that no summary tree is missing."""
    TRASH = "trash"
    """Documents that have been in the trash for too long."""
    CHECK = "check"
    """Checks of its data that are not done."""
    IMPORT = "import"
    """Imports of a graph that wait or run."""


Needs = Mapping[Need, Collection[uuid.UUID]]
# Not of deleted workspaces, in which no work goes on.
OF_WORK: Final = (Need.WORK, Need.PAUSED, Need.CHANGED, Need.TREE)


def find_needs() -> Needs:
    """Return the workspaces with each need, in the order of their ids. Call outside of scopes."""
    limit = timezone.now() - timedelta(days=settings.TRASH_DAYS)
    found: defaultdict[Need, list[uuid.UUID]] = defaultdict(list)
    with transaction.atomic():
        rows = run_sql(FIND, {"trashed_before": limit})
    at_work = set(Workspace.at_work().values_list("pk", flat=True))
    for need, workspace_id in rows:
        if need not in OF_WORK or workspace_id in at_work:
            found[Need(need)].append(workspace_id)
    return found


def with_other_vectors(expected: str) -> list[uuid.UUID]:
    """Return the workspaces in which work goes on and that have a vector of another model than the
    one with this fingerprint. Call outside of scopes."""
    with transaction.atomic():
        rows = run_sql(WITH_OTHER_VECTORS, {"expected": expected})
    at_work = set(Workspace.at_work().values_list("pk", flat=True))
    return sorted(at_work.intersection(workspace_id for (workspace_id,) in rows))


def of_work(needs: Needs) -> list[uuid.UUID]:
    """The workspaces in which some work is to be resumed or requested."""
    return sorted(set().union(*(needs.get(need, ()) for need in OF_WORK)))


def is_tree_missed(workspace_id: uuid.UUID, is_missed: Callable[[], bool]) -> bool:
    """Whether a summary tree is missing: a question about all passages, asked once after any work
    has ended."""
    values = {"workspace": workspace_id}
    with access.in_workspace(workspace_id):
        ended = run_sql(ENDED_SINCE_TREES_WERE_SEEN, values)
    if not ended or is_missed():
        return bool(ended)
    with access.in_workspace(workspace_id):
        run_sql(TREES_ARE_SEEN, {**values, "number": ended[0][0]})
    return False
