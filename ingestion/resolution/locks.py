"""The lock on a workspace's names: shared by those who apply decisions, exclusive to deciders.

Documents are read in parallel. A decision waits for readers that have not seen it, and they wait
for the decision, so nothing is left under names that were decided otherwise. The lock is held until
the transaction ends.
"""

from __future__ import annotations

import uuid
from typing import Final, LiteralString

from kb_project.sql import run_sql

JOIN: Final[LiteralString] = """
SELECT pg_advisory_xact_lock_shared(hashtextextended(%(workspace)s::text || ' names', 0))
"""
HOLD: Final[LiteralString] = """
SELECT pg_advisory_xact_lock(hashtextextended(%(workspace)s::text || ' names', 0))
"""


def join(workspace_id: uuid.UUID) -> None:
    """Take the lock in shared mode: no decision can be made meanwhile."""
    run_sql(JOIN, {"workspace": workspace_id})


def hold(workspace_id: uuid.UUID) -> None:
    """Take the lock exclusively: no one else can decide or apply decisions meanwhile."""
    run_sql(HOLD, {"workspace": workspace_id})
