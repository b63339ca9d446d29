from __future__ import annotations

import pytest

from ingestion.resolution import locks
from kb_project.sql import run_sql
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
HELD = """
SELECT classid, objid, mode FROM pg_locks
 WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
"""

ADDRESSES = """
SELECT (key >> 32) & 4294967295, key & 4294967295
  FROM (SELECT hashtextextended('addresses of workspaces', 0) AS key) AS k
"""


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def held() -> dict[str, set[tuple[int, int]]]:
    """What is locked now, by how; not the addresses of workspaces, by whoever made one."""
    [addresses] = run_sql(ADDRESSES)
    found: dict[str, set[tuple[int, int]]] = {}
    for first, second, mode in run_sql(HELD, {}):
        if (first, second) == addresses:
            continue
        found.setdefault(mode, set()).add((first, second))
    return found


def test_who_obeys_decisions_and_who_makes_them_meet_at_one_lock(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        locks.join(workspace.pk)
        joined = held()
        locks.hold(workspace.pk)
        both = held()

    assert list(joined) == ["ShareLock"]
    assert len(joined["ShareLock"]) == 1
    assert both == {"ShareLock": joined["ShareLock"], "ExclusiveLock": joined["ShareLock"]}


def test_every_workspace_has_its_own(workspace: Workspace):
    with access.in_workspace(workspace.pk):
        locks.hold(workspace.pk)
        locks.hold(rows.make_workspace("Elsewhere").pk)
        locked = held()

    assert len(locked["ExclusiveLock"]) == 2
