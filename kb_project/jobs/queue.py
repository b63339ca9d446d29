"""The queue of wake-ups: django-q2's table of entries, taken without races.

django-q2's own broker has all consumers read the same first entry and compete for it. Here each
takes an entry that no other is taking (``SKIP LOCKED``), by an index. Entries stay rows written in
the transaction of the work that they wake for.
"""

from __future__ import annotations

import time
from typing import Final, LiteralString

from django_q.brokers.orm import ORM
from django_q.conf import Conf

from kb_project.sql import run_sql

TAKE: Final[LiteralString] = """
UPDATE django_q_ormq SET lock = %(until)s
 WHERE id = ANY (ARRAY(SELECT id FROM django_q_ormq
                        WHERE key = %(lane)s AND lock < now()
                        ORDER BY lock, id LIMIT %(most)s
                          FOR UPDATE SKIP LOCKED))
RETURNING id, payload
"""


class Queue(ORM):  # type: ignore[misc]  # django-q2 has no types
    """django-q2's broker on the database, with another way to take entries."""

    def dequeue(self) -> list[tuple[int, str]] | None:
        """Take the entries that have waited longest; wait a moment if there are none."""
        self.get_connection()  # drops a connection that went away
        values = {"lane": self.list_key, "until": self.timeout(None), "most": Conf.BULK}
        taken = [(number, payload) for number, payload in run_sql(TAKE, values)]
        if not taken:
            time.sleep(Conf.POLL)
        return taken or None
