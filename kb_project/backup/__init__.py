"""Everything an installation or a workspace holds, in one portable file, and back.

An archive is a zip of ``manifest.json``, one NDJSON member a table, and the files of documents
(``docs/backup.md`` describes it). Which tables there are is asked of Django and the database, so a
new one is in the next backup by itself.
"""

from __future__ import annotations
