"""The SQL of citations, each statement named by the question it answers."""

from __future__ import annotations

from typing import Final, LiteralString

# In which version of its document does each quotation stand? In the one that is searched, unless
# another took its place while the answer was being made.
VERSIONS_QUOTED: Final[LiteralString] = """
SELECT t.number, coalesce(v.number, d.live_number)
  FROM unnest(%(numbers)s::int4[], %(documents)s::uuid[], %(starts)s::int4[], %(ends)s::int4[],
              %(quotes)s::text[]) AS t (number, document, start, stop, quote)
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = t.document
  LEFT JOIN LATERAL (
       SELECT of.number FROM ingestion_documentversion AS of
        WHERE of.workspace_id = %(workspace)s AND of.document_id = d.id
          AND substr(of.text, t.start + 1, t.stop - t.start) = t.quote
        ORDER BY of.number = d.live_number DESC, of.number DESC LIMIT 1) AS v
    ON EXISTS (SELECT FROM ingestion_documentversion AS other
                WHERE other.workspace_id = %(workspace)s AND other.document_id = d.id
                  AND other.number > 1)
"""

# Documents that are still there, and stay until the citations of them are written.
HOLD_DOCUMENTS: Final[LiteralString] = """
SELECT id, title FROM ingestion_document
 WHERE workspace_id = %(workspace)s AND id = ANY(%(documents)s::uuid[])
 ORDER BY id FOR KEY SHARE
"""
