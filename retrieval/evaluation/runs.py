"""Run a set's questions through several modes in a worker, until done or to be continued later.

Every result is stored as it is made, so that a stopped, failed or killed run continues where it
was.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString
from uuid import UUID

from django.utils import timezone

from kb_project.errors import InputError, KBError, Problem, ReplyError
from kb_project.jobs import claims, notify
from kb_project.jobs.claims import LeasedRows
from kb_project.jobs.notify import Call
from kb_project.jobs.worker import JobQueue
from kb_project.llm import halting
from kb_project.llm.ports import Role
from kb_project.sql import run_sql
from retrieval.answering import persistence
from retrieval.evaluation import evidence, making, queries
from retrieval.evaluation.judging import Judge, LocalJudge, ModelJudge
from retrieval.evaluation.measuring import Measured, Measuring, measure
from retrieval.evaluation.metrics import summary_of
from retrieval.models import EvaluationResult, EvaluationRun, RunKind, RunProgress, SetQuestion
from retrieval.search import services
from retrieval.search.reporting import StoppedError
from workspaces import access
from workspaces.models import Workspace
from workspaces.models.people import TenantQuerySet
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)

KIND: Final = "evaluation"
"""Of calls to the worker, and in ``retrieval_unfinished_jobs``."""
ROWS: Final = LeasedRows(
    table="retrieval_evaluationrun", access=access, seconds=20.0, wants_stop=access.WANTS_STOP
)
MOST_INTERRUPTIONS: Final = 3
"""A run interrupted this often may be what crashes its workers: it is not queued again."""
KEPT: Final = "The results so far are kept."
INTERRUPTED: Final[Problem] = {
    "code": "interrupted",
    "happened": "The worker running this evaluation stopped before it was finished.",
    "kept": KEPT,
    "next_step": "Continue the run.",
}
SECONDS_BETWEEN_SIGNS: Final = 1.0
SECONDS_OF_TURN: Final = 20.0
"""How long a run goes on while another workspace's waits."""
LONGEST_ANSWER: Final = 20_000


@dataclass
class Hold:
    """A run that this worker holds; ``check`` renews its lease and notices stops."""

    workspace_id: UUID
    run_id: UUID
    worker: str = field(default_factory=claims.worker_name)
    _last: float = 0.0

    def claim(self) -> None:
        """Claim the run if it is queued."""
        ROWS.claim(self.workspace_id, [self.run_id], self.worker)

    def check(self) -> None:
        """Raise StoppedError if someone stopped the run, or another worker has taken it."""
        now = time.monotonic()
        if not halting.is_halted() and now - self._last < SECONDS_BETWEEN_SIGNS:
            return
        self._last = now
        with access.repeatable_work():
            held = ROWS.renew(self.workspace_id, [self.run_id], self.worker)
        if halting.is_halted() or held.get(self.run_id, True):
            raise StoppedError("The run was stopped.")

    def write(self, **values: object) -> bool:
        """Update the run's row; False if the run is no longer ours."""
        with access.in_workspace(self.workspace_id):
            return bool(self.row().update(**values))

    def end(self, state: RunProgress, **values: object) -> bool:
        """End the run, unless another worker has it or it is queued again."""
        return self.write(state=state, lease_until=None, finished_at=timezone.now(), **values)

    def row(self) -> TenantQuerySet[EvaluationRun]:
        """Return the run if it is still ours, in the workspace's scope."""
        return EvaluationRun.objects.in_workspace(self.workspace_id).filter(
            pk=self.run_id, state=RunProgress.RUNNING, worker=self.worker
        )


class TurnOverError(Exception):
    """Another workspace's run waits, and this one has had its time."""


@dataclass(frozen=True, slots=True)
class _Turn:
    others_wait: Callable[[], bool]
    started: float = field(default_factory=time.monotonic)


_turn: ContextVar[_Turn | None] = ContextVar("_turn", default=None)


def begin_turn(others_wait: Callable[[], bool]) -> None:
    """Begin a run's turn in this thread: while others wait, it goes on for a while only."""
    _turn.set(_Turn(others_wait))


def _check_turn() -> None:
    """Raise TurnOverError if it is another run's turn. Call where the run can be continued."""
    turn = _turn.get()
    lasts = turn is None or time.monotonic() - turn.started < SECONDS_OF_TURN
    if turn is not None and not lasts and turn.others_wait():
        raise TurnOverError


def _nothing() -> None: ...


def run_evaluation(workspace_id: UUID, run_id: UUID, begun: Callable[[], None] = _nothing) -> None:
    """Carry out a run that is queued, or that this worker has already claimed.

    ``begun`` is called at once: a run takes minutes, and holds no transaction open. Safe to repeat.
    Raises no expected errors: the run's row records how it ended.
    """
    begun()
    hold = Hold(workspace_id, run_id)
    hold.claim()
    with access.in_workspace(workspace_id):
        rows = EvaluationRun.objects.in_workspace(workspace_id).filter(pk=run_id)
        run = rows.select_related("question_set").first()
    if run is None or (run.state, run.worker) != (RunProgress.RUNNING, hold.worker):
        return
    try:
        _work(run, hold)
    except TurnOverError:
        _wait_again(run, hold)
    except StoppedError:
        _end(hold, RunProgress.STOPPED)
    except KBError as error:
        is_stopped = halting.is_halted()
        state = RunProgress.STOPPED if is_stopped else RunProgress.FAILED
        _end(hold, state, problem=None if is_stopped else problem_of(error))
        logger.warning("evaluation failed run=%s code=%s", run_id, error.code)
    else:
        _end(hold, RunProgress.DONE)


def _wait_again(run: EvaluationRun, hold: Hold) -> None:
    """Queue the run again, behind those that wait; it continues where it stopped."""
    with access.in_workspace(run.workspace_id):
        if hold.write(state=RunProgress.QUEUED, worker="", lease_until=None):
            notify.wake(KIND, run.workspace_id, run.pk, run.requested_by_id)


def problem_of(error: KBError) -> Problem:
    return error.problem(kept=KEPT, next_step="Continue the run once that is fixed.")


def _work(run: EvaluationRun, hold: Hold) -> None:
    workspace = Workspace.objects.get(pk=run.workspace_id)
    if run.kind == RunKind.MAKE:
        making.make(workspace, run, check=hold.check, write=hold.write)
    else:
        _measure_all(workspace, run, hold)


def _measure_all(workspace: Workspace, run: EvaluationRun, hold: Hold) -> None:
    judge = judge_for(workspace, hold.check) if run.answers else None
    measuring = Measuring(workspace, evidence.names_in(workspace), tuple(run.ks), judge, hold.check)
    waiting, done = _waiting(workspace, run)
    hold.write(
        total=done + sum(len(modes) for _, modes in waiting),
        done=done,
        judged_by=judge.name[:120] if judge else "",
        **now(workspace, run, with_answers=run.answers),
    )
    for place, (question, modes) in enumerate(waiting):
        if place:
            _check_turn()
        vector = services.question_vector(workspace, question.text)
        vector.make()
        for mode in modes:
            hold.check()
            _store(run, question, mode, _measured(measuring, question, mode, vector))
            done += 1
            if not hold.write(done=done):
                raise StoppedError("Another worker is doing the run.")


def judge_for(workspace: Workspace, check: Callable[[], None]) -> Judge:
    ports = ports_for(workspace.pk)
    return ModelJudge(ports.chat, check) if ports.chat else LocalJudge(ports.embedder)


def _measured(
    measuring: Measuring, question: SetQuestion, mode: str, vector: services.QuestionVector
) -> Measured | KBError:
    """Measure; return errors of this question alone, and raise those that affect all."""
    try:
        return measure(measuring, question, mode, vector)
    except (ReplyError, InputError) as error:
        return error


def _waiting(
    workspace: Workspace, run: EvaluationRun
) -> tuple[list[tuple[SetQuestion, list[str]]], int]:
    """Return each question with the modes that have no result, and the number of results."""
    with access.in_workspace(workspace.pk):
        questions = list(queries.accepted_of(workspace=workspace, question_set=run.question_set))
        rows = EvaluationResult.objects.in_workspace(workspace).filter(run=run)
        there = set(rows.values_list("question_id", "mode"))
    open_ = [
        (question, [mode for mode in run.modes if (question.pk, mode) not in there])
        for question in questions
    ]
    return [(question, modes) for question, modes in open_ if modes], len(there)


def _store(run: EvaluationRun, question: SetQuestion, mode: str, found: Measured | KBError) -> None:
    """Store a result, unless the question was deleted meanwhile or the result exists."""
    values: dict[str, Any] = (
        {"problem": problem_of(found)}
        if isinstance(found, KBError)
        else {
            "metrics": found.metrics,
            "answer": found.answer[:LONGEST_ANSWER],
            "passages": found.passages,
            "claims": found.claims,
        }
    )
    with access.in_workspace(run.workspace_id):
        if not SetQuestion.objects.in_workspace(run.workspace_id).filter(pk=question.pk).exists():
            return
        EvaluationResult.objects.bulk_create(
            [
                EvaluationResult(
                    workspace_id=run.workspace_id, run=run, question=question, mode=mode, **values
                )
            ],
            ignore_conflicts=True,
        )


def _end(hold: Hold, state: RunProgress, *, problem: Problem | None = None) -> None:
    with access.lasting_work(), access.in_workspace(hold.workspace_id):
        hold.end(state, problem=problem, summary=summary_of(_figures(hold)))
    logger.info("evaluation ended run=%s state=%s", hold.run_id, state.value)


def _figures(hold: Hold) -> Iterator[tuple[str, dict[str, float]]]:
    rows = EvaluationResult.objects.in_workspace(hold.workspace_id).filter(run_id=hold.run_id)
    yield from rows.filter(problem__isnull=True).values_list("mode", "metrics")


EXTRACTIVE: Final = "extractive"

# The number of documents and passages, and a digest that changes whenever a document is added,
# removed or chunked differently.
CORPUS: Final[LiteralString] = """
SELECT count(*), coalesce(sum(chunks), 0)::bigint,
       md5(coalesce(string_agg(version_id::text || ':' || chunks, ',' ORDER BY version_id), ''))
  FROM (SELECT version_id, count(*) AS chunks FROM ingestion_chunk
         WHERE workspace_id = %(workspace)s GROUP BY version_id) AS cut
"""


def now(workspace: Workspace, run: EvaluationRun, *, with_answers: bool) -> dict[str, Any]:
    """Return ``conditions`` and ``corpus`` of ``EvaluationRun``; ``questions`` maps ids to
    digests."""
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        [(documents, passages, digest)] = run_sql(CORPUS, {"workspace": workspace.pk})
        questions = queries.accepted_of(workspace=workspace, question_set=run.question_set)
        digests = {str(question.pk): digest_of(question) for question in questions}
    answers_by = ports.writer.model_of(Role.ANSWER) if ports.writer else EXTRACTIVE
    conditions = {
        **run.conditions,
        "documents": documents,
        "passages": passages,
        "embedder": ports.embedder.fingerprint,
        "answers_by": answers_by if with_answers else "",
        "questions": digests,
    }
    return {"conditions": conditions, "corpus": digest}


def digest_of(question: SetQuestion) -> str:
    """Return a digest that shows whether a question has changed since it was asked."""
    asked = json.dumps([question.text, question.answer, question.evidence], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:12]


def _fail_claimed(call: Call, worker: str, error: Exception) -> None:
    """End a run for a reason that ``run_evaluation`` does not handle."""
    hold = Hold(call.workspace_id, call.id, worker)
    if isinstance(error, KBError):
        _fail(hold, persistence.problem_of(error))
    else:
        _fail(hold, persistence.UNEXPECTED)


def _interrupt(call: Call, worker: str) -> None:
    """Queue a run whose worker stopped again, unless it was interrupted too often."""
    hold = Hold(call.workspace_id, call.id, worker)
    with access.in_workspace(call.workspace_id):
        run = hold.row().select_for_update().first()
        if run is None:
            return
        interruptions = run.conditions.get("interruptions", 0)
        if interruptions < MOST_INTERRUPTIONS:
            hold.write(
                state=RunProgress.STOPPED if run.wants_stop else RunProgress.QUEUED,
                conditions=run.conditions | {"interruptions": interruptions + 1},
                worker="",
                lease_until=None,
                finished_at=timezone.now() if run.wants_stop else None,
            )
            logger.warning("evaluation interrupted, waits for another worker run=%s", call.id)
        else:
            _fail(hold, INTERRUPTED)


def _fail(hold: Hold, problem: Problem) -> None:
    if hold.end(RunProgress.FAILED, problem=problem):
        logger.warning("evaluation failed run=%s code=%s", hold.run_id, problem["code"])


QUEUE: Final = JobQueue(
    kind=KIND,
    rows=ROWS,
    run=run_evaluation,
    fail=_fail_claimed,
    interrupt=_interrupt,
    threads=1,  # they take minutes, and no one waits for them
)
