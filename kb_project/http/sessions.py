"""Sessions in the database, read by one hand-written statement, since every user's
request does so.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

from django.contrib.sessions.backends import db
from django.utils import timezone

from kb_project.sql import run_sql

SESSION: Final[LiteralString] = """
SELECT session_data, expire_date FROM django_session
 WHERE session_key = %(key)s AND expire_date > %(now)s
"""


class SessionStore(db.SessionStore):
    """Django's session store, with a faster lookup."""

    def _get_session_from_db(self) -> Any:
        rows = run_sql(SESSION, {"key": self.session_key, "now": timezone.now()})
        if not rows:
            # As in Django: this key is never given to a new session.
            self._session_key = None
            return None
        [(data, expires)] = rows
        return self.model(
            session_key=self.session_key or "", session_data=data, expire_date=expires
        )
