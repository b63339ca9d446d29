"""Checks that a workspace's data matches its documents and people's decisions.

``check`` compares tables with each other, and vectors, words, the graph projection, the walk's
snapshot and the files on disk with the tables. What a running refresh or document will repair
counts as waiting, not as drift: rows marked ``is_changed``, tombstones, documents being read, and
the output of a stage still ahead (``scope.Scope.is_ahead``).
"""

from __future__ import annotations

from ingestion.health.checking import check, repair
from ingestion.health.checks import CHECKS
from ingestion.health.report import Drift, Report, Waiting

__all__ = ["CHECKS", "Drift", "Report", "Waiting", "check", "repair"]
