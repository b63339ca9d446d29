"""Hand-written SQL of the mode that picks a mode."""

from __future__ import annotations

from typing import Final, LiteralString

HAS_REPORTS: Final[LiteralString] = """
SELECT EXISTS (SELECT 1 FROM ingestion_communityreport WHERE workspace_id = %(workspace)s)
"""

# How many documents there are, and whether the title of one, but for what it says in parentheses,
# is one of the names.
DOCUMENTS_NAMED: Final[LiteralString] = r"""
SELECT count(*),
       coalesce(bool_or(
           lower(regexp_replace(title, '\s*\([^()]*\)\s*$', '')) = ANY(%(names)s::text[])), false)
FROM ingestion_document
WHERE workspace_id = %(workspace)s AND disabled_at IS NULL AND trashed_at IS NULL
"""
