"""Backup and restore of an installation or a workspace as one portable file.

An archive is a zip of ``manifest.json``, one NDJSON member per table, and the documents' files (see
``docs/backup.md``). The list of tables comes from Django and the database, so a new table is backed
up automatically.
"""

from __future__ import annotations
