"""A lane's worker on django-q2: its queue, and a cluster restarted when a process dies.

django-q2 replaces a killed process but not the lock that it may have held on the queue, so all
processes are replaced; since all work can be resumed, that costs a second.

django-q2's own broker has all consumers read the same first entry and compete for it. Here each
takes an entry that no other is taking (``SKIP LOCKED``), by an index. Entries stay rows written in
the transaction of the work that they wake for.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, LiteralString

import psutil
from django.db import connections
from django_q.brokers.orm import ORM
from django_q.cluster import Cluster
from django_q.conf import Conf

from kb_project.confinement import libc
from kb_project.database.outages import through_outages
from kb_project.jobs.gc import seldom_collected
from kb_project.sql import run_sql

# --- its queue ------------------------------------------------------------------------------------
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


# --- its processes --------------------------------------------------------------------------------
SECONDS_BETWEEN_LOOKS: Final = 0.5
# A job that takes longer to reach its next unit is killed; it resumes from there next time.
SECONDS_TO_FINISH: Final = 3.0


def work(
    lane: str, *, processes: int, recover: Callable[[], int], say: Callable[[str], None]
) -> None:
    """Serve a lane until SIGTERM or SIGINT.

    ``recover`` wakes the lane's unfinished jobs each time the processes start, and returns how
    many.
    """
    stopping = threading.Event()
    # django-q2 reads its settings before the command line is read.
    Conf.CLUSTER_NAME, Conf.WORKERS = lane, processes
    # Without its parent a worker would go on unnoticed.
    os.register_at_fork(after_in_child=lambda: libc.die_with(os.getppid()))
    with seldom_collected():
        while not stopping.is_set():
            woken = through_outages(recover)
            # A child that inherits an open connection would end its parent's session along with
            # its own.
            connections.close_all()
            cluster = _start(stopping)
            say(f"Waiting for work in the lane '{lane}'; {woken} unfinished jobs resumed.")
            family = _family(cluster)
            while not stopping.wait(SECONDS_BETWEEN_LOOKS) and all(map(_lives, family)):
                pass
            if not stopping.is_set():
                say("One of the worker's processes died; restarting all of them.")
            _end(cluster, patience=SECONDS_TO_FINISH if stopping.is_set() else 0)


def _start(stopping: threading.Event) -> Cluster:
    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    cluster = Cluster()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    cluster.start()
    return cluster


def _family(cluster: Cluster) -> list[psutil.Process]:
    """The sentinel and its children: workers, pusher and monitor."""
    try:
        sentinel = psutil.Process(cluster.sentinel.pid)
        return [sentinel, *sentinel.children()]
    except psutil.NoSuchProcess:
        return []


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _end(cluster: Cluster, *, patience: float) -> None:
    if patience:
        # In a separate thread: setting the event waits for the sentinel, which may be dead.
        threading.Thread(target=cluster.stop_event.set, daemon=True).start()
        cluster.sentinel.join(patience)
    for process in psutil.Process().children(recursive=True):
        process.kill()
    cluster.sentinel.join()
