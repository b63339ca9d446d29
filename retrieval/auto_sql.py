"""Hand-written SQL of the mode that picks a mode."""

from __future__ import annotations

from typing import Final, LiteralString

HAS_REPORTS: Final[LiteralString] = """
SELECT EXISTS (SELECT 1 FROM ingestion_communityreport WHERE workspace_id = %(workspace)s)
"""
