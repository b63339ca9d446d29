"""The worker of the answering lane: answers first, and evaluations beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, LiteralString

from django.conf import settings

from kb_project.jobs.worker import Worker
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from retrieval.answering import jobs, scheduler
from retrieval.evaluation import runs

# Queued and running jobs of every workspace: a function, since no role sees all rows at once.
UNFINISHED: Final[LiteralString] = """
SELECT kind, workspace_id, id, state, worker, is_overdue, person FROM retrieval_unfinished_jobs()
"""


def work(_lane: str, *, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    embedder = build_ports().embedder
    ready = f"Waiting for questions; up to {settings.ANSWERERS} are answered at a time."
    new_worker().work(
        # Load the model now, so that the first question need not wait for it.
        prepare=lambda: embedder.embed_question("ready"),
        say_ready=lambda: say(ready),
    )


def new_worker(name: str = "") -> Worker:
    places = settings.ANSWERERS
    answers = scheduler.Scheduler(
        finding=places, writing=places, queued=lambda: worker.todo[jobs.KIND].waiting()
    )
    queues = [
        replace(
            jobs.QUEUE,
            turn=answers.turn,
            may_start=answers.may_start,
            begin=lambda call: scheduler.begin(call.party),
        ),
        replace(
            runs.QUEUE,
            begin=lambda call: runs.begin_turn(
                lambda: worker.todo[runs.KIND].others_wait(call.workspace_id)
            ),
        ),
    ]
    worker = Worker(queues, find=lambda: run_sql(UNFINISHED), name=name)
    return worker
