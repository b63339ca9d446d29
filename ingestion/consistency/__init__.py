"""Whether a workspace is what its documents, and what people decided, make of it.

``check`` compares tables with each other, and vectors, words, the graph projection, the walk's
snapshot and the files on disk with the tables. What a refresh or a document under way will mend
waits, and is no drift: rows marked ``is_changed``, tombstones, documents that are being read, and
what a stage makes that is still ahead (``scope.Scope.is_ahead``).
"""

from __future__ import annotations

from ingestion.consistency.checking import check, repair
from ingestion.consistency.checks import CHECKS
from ingestion.consistency.report import Drift, Report, Waiting

__all__ = ["CHECKS", "Drift", "Report", "Waiting", "check", "repair"]
