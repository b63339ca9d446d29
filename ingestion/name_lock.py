"""The lock of a workspace's names, between those who obey what was decided and those who decide.

Documents are read side by side; a decision waits for those that have not seen it, and they for the
decision: nothing is ever left behind under names that were decided otherwise. It is held until the
transaction ends.
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
    """Let nobody decide anything meanwhile; any number may."""
    run_sql(JOIN, {"workspace": workspace_id})


def hold(workspace_id: uuid.UUID) -> None:
    """Let nobody else decide anything, and nobody obey it, meanwhile."""
    run_sql(HOLD, {"workspace": workspace_id})
