"""Start, stop, continue and delete runs, and estimate their cost. The work is in ``runs``.

Estimates are ranges: how many claims an answer makes is not known beforehand, and calls answered
from the cache cost nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from ingestion.documents import cost_model, estimates
from ingestion.documents.cost_model import Effort, Estimate, Price, Range
from kb_project.errors import ConflictError, InputError
from kb_project.jobs import notify
from kb_project.llm.ports import ChatModel, Role
from retrieval.evaluation import making, queries, runs
from retrieval.evaluation.measuring import Plan
from retrieval.models import EvaluationResult, EvaluationRun, QuestionSet, RunKind, RunProgress
from workspaces import access
from workspaces.models import ModelSettings, User, Workspace
from workspaces.ports import ports_for
from workspaces.usage import queries as usage_queries

# --- assumptions ----------------------------------------------------------------------------------
ANSWER_CALLS: Final = Range(1, 2)
"""Calls to write the answer, and perhaps to check it."""
ANSWER_PROMPT: Final = Range(1_500, 10_000)
ANSWER_TOKENS: Final = Range(60, 600)
SEARCH_CALLS: Final[dict[str, Range]] = {
    "global": Range(2, 40),
    "drift": Range(4, 40),
    "auto": Range(0, 40),
    "entities": Range(1, 1),
    "relations": Range(1, 1),
    "graph": Range(1, 1),
    "mix": Range(1, 1),
}
"""Calls to find passages; other modes make none."""
SEARCH_PROMPT: Final = Range(300, 8_000)
SEARCH_TOKENS: Final = Range(20, 700)
PASSAGES: Final = Range(6, 20)
"""An answer is judged against each passage it was made from."""
ROUNDS: Final = Range(1, 4)
"""Calls per passage: the claims of both answers, five at a time."""
CLAIM_PROMPT: Final = Range(300, 1_000)
CLAIM_TOKENS: Final = Range(20, 300)
JUDGE_PROMPT: Final = Range(350, 1_700)
JUDGE_TOKENS: Final = Range(20, 150)
MAKE_PROMPT: Final = Range(400, 1_500)
MAKE_TOKENS: Final = Range(50, 250)
MAKE_TRIES: Final = Range(1, 3)
USUAL_CONCURRENCY: Final = 8


def estimate_for_run(
    *, workspace: Workspace, question_set: QuestionSet, modes: list[str], answers: bool
) -> Estimate:
    """Estimate a run. Here ``documents`` counts questions, ``passages`` the results to make."""
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        accepted = queries.accepted_of(workspace=workspace, question_set=question_set)
        asked, known = accepted.count(), accepted.exclude(answer="").count()
        if ports.writer is None:
            return Estimate(asked, _exactly(asked * len(modes)))
        prices = _prices(workspace, ports.writer)
        if ports.chat is None:
            written = asked * len(modes) if answers else 0
            effort = _of_writing(prices, written)
            return _estimate(workspace, effort, asked, asked * len(modes))
        effort = cost_model.sum_of(
            _of_mode(prices, mode, asked=asked, known=known, answers=answers) for mode in modes
        )
        return _estimate(workspace, effort, asked, asked * len(modes))


def estimate_for_making(*, workspace: Workspace, number: int) -> Estimate:
    chat = ports_for(workspace.pk).chat
    with access.in_workspace(workspace.pk):
        if chat is None:
            return Estimate(number, _exactly(number))
        price = _prices(workspace, chat)[Role.JUDGE]
        calls = MAKE_TRIES * number
        effort = _effort(calls, MAKE_PROMPT, MAKE_TOKENS, price)
        return _estimate(workspace, effort, number, number)


def estimate_sentences(estimate: Estimate) -> list[str]:
    """Return the estimate in plain words, the same on the page, in the API and on the command
    line."""
    if not estimate.uses_model:
        return ["Costs nothing: no model is called."]
    if estimate.is_free:
        return ["Costs nothing: these modes call no model."]
    price = (
        "The cost is unknown: no price is set for the model."
        if estimate.cost is None
        else f"Cost: {estimates.cost(estimate)} at most; cached answers are free."
    )
    calls = estimates.counted(estimate.calls, "call")
    tokens = estimates.counted(estimate.prompt_tokens + estimate.completion_tokens, "token")
    took = estimates.duration(estimate.seconds)
    pausing = (
        "The run stops when it is spent, keeps every result, and can continue when the budget is"
        " raised."
    )
    said = [price, f"{calls} to the model and {tokens}, in {took}."]
    return said + estimates.budget_left(estimate, pausing)


def _of_mode(
    prices: Mapping[Role, Price | None], mode: str, *, asked: int, known: int, answers: bool
) -> Effort:
    """Estimate searching (an answer's repeated search is cached), answering, and judging known
    answers."""
    keyword, judge = prices[Role.KEYWORD], prices[Role.JUDGE]
    finding = SEARCH_CALLS.get(mode, cost_model.NOTHING) * asked
    effort = _effort(finding, SEARCH_PROMPT, SEARCH_TOKENS, keyword)
    if not answers:
        return effort
    effort += _of_writing(prices, asked)
    effort += _effort(_exactly(2 * known), CLAIM_PROMPT, CLAIM_TOKENS, judge)
    checks = (PASSAGES + _exactly(2)).times(ROUNDS) * known
    return effort + _effort(checks, JUDGE_PROMPT, JUDGE_TOKENS, judge)


def _of_writing(prices: Mapping[Role, Price | None], answers: int) -> Effort:
    price = prices[Role.ANSWER]
    return _effort(ANSWER_CALLS * answers, ANSWER_PROMPT, ANSWER_TOKENS, price)


def _effort(calls: Range, prompt: Range, completion: Range, price: Price | None) -> Effort:
    return Effort.of(calls, calls.times(prompt), calls.times(completion), price=price)


def _estimate(workspace: Workspace, effort: Effort, asked: int, results: int) -> Estimate:
    row = ModelSettings.objects.in_workspace(workspace).first()
    left = usage_queries.spending_of(workspace=workspace).left
    concurrency = row.concurrency if row else USUAL_CONCURRENCY
    return Estimate(
        documents=asked,
        passages=_exactly(results),
        calls=effort.calls,
        prompt_tokens=effort.prompt,
        completion_tokens=effort.completion,
        cost=effort.cost,
        seconds=effort.calls.times(cost_model.SECONDS_PER_CALL) * (1 / max(1, concurrency)),
        left=None if left is None else float(left),
        uses_model=True,
    )


def _prices(workspace: Workspace, chat: ChatModel) -> dict[Role, Price | None]:
    """Return the price of each role's model, None if none is set."""
    known = {
        row.model: Price(float(row.prompt), float(row.cached_prompt), float(row.completion))
        for row in usage_queries.prices_in(workspace=workspace)
    }
    return {role: known.get(chat.model_of(role)) for role in Role}


def _exactly(number: int) -> Range:
    return Range(number, number)


# --- runs -----------------------------------------------------------------------------------------
logger = logging.getLogger(__name__)

MOST_KS: Final = 6
KS: Final = (5, 8, 20)
LEASE: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Order:
    """Who requested a run. With a ``worker``, it is claimed for that worker and wakes no other."""

    user: User | None = None
    worker: str = ""


def run_start(
    *,
    workspace: Workspace,
    order: Order,
    question_set: QuestionSet,
    plan: Plan,
    answers: bool = False,
) -> EvaluationRun:
    """Start a run.

    Raises ConflictError if no question is accepted yet, or a run over the set is under way.
    """
    if len(plan.ks) > MOST_KS:
        raise InputError(f"At most {MOST_KS} numbers of passages can be measured at once.")
    with access.in_workspace(workspace.pk):
        accepted = queries.accepted_of(workspace=workspace, question_set=question_set).count()
        if not accepted:
            raise ConflictError(
                "The set has no accepted questions.",
                code="set_empty",
                next_step="Add questions, or accept the proposed ones.",
            )
        return _begin(
            workspace,
            order,
            question_set,
            modes=list(plan.modes),
            ks=list(plan.ks),
            answers=answers,
            total=accepted * len(plan.modes),
        )


def questions_make(
    *, workspace: Workspace, order: Order, question_set: QuestionSet, number: int
) -> EvaluationRun:
    """Start making so many questions from the documents. Raises InputError, ConflictError."""
    if not 1 <= number <= making.MOST:
        raise InputError(f"Between 1 and {making.MOST} questions can be generated at once.")
    with access.in_workspace(workspace.pk):
        return _begin(
            workspace,
            order,
            question_set,
            kind=RunKind.MAKE,
            total=number,
            conditions={"wanted": number},
        )


def run_stop(*, workspace: Workspace, run: EvaluationRun) -> EvaluationRun:
    """Stop a run, keeping its results. Raises ConflictError if it has ended."""
    with access.in_workspace(workspace.pk):
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk)
        waiting = rows.filter(state=RunProgress.QUEUED)
        now = timezone.now()
        if not waiting.update(state=RunProgress.STOPPED, wants_stop=True, finished_at=now):
            if not rows.filter(state=RunProgress.RUNNING).update(wants_stop=True):
                raise ConflictError("The run has already ended.", code="run_ended")
            notify.wake(notify.STOP, workspace.pk, run.pk)
        run.refresh_from_db()
    return run


def run_continue(*, workspace: Workspace, run: EvaluationRun, order: Order) -> EvaluationRun:
    """Continue a run where it stopped; questions that failed individually are tried again."""
    with access.in_workspace(workspace.pk):
        _check_no_run(workspace, run.question_set)
        results = EvaluationResult.objects.in_workspace(workspace).filter(run=run)
        again = [RunProgress.FAILED, RunProgress.STOPPED]
        if results.filter(problem__isnull=False).exists():
            again.append(RunProgress.DONE)
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk, state__in=again)
        # Reset the count of interruptions: a person has looked at the run.
        conditions = {k: v for k, v in run.conditions.items() if k != "interruptions"}
        values = {"wants_stop": False, "problem": None, "finished_at": None}
        if not rows.update(**_claimed(order), **values, conditions=conditions):
            raise ConflictError("This run is complete.", code="run_ended")
        results.filter(problem__isnull=False).delete()
        _wake(workspace, run, order)
        run.refresh_from_db()
    return run


def run_delete(*, workspace: Workspace, run: EvaluationRun) -> None:
    """Delete a run. Raises ConflictError while it is under way."""
    with access.in_workspace(workspace.pk):
        rows = EvaluationRun.objects.in_workspace(workspace).filter(pk=run.pk)
        if rows.filter(state__in=queries.UNFINISHED).exists():
            raise ConflictError(
                "The run is in progress.", code="run_unfinished", next_step="Stop it first."
            )
        rows.delete()


def _begin(
    workspace: Workspace, order: Order, question_set: QuestionSet, **values: object
) -> EvaluationRun:
    QuestionSet.objects.in_workspace(workspace).select_for_update().get(pk=question_set.pk)
    _check_no_run(workspace, question_set)
    run = EvaluationRun.objects.create(
        workspace=workspace,
        question_set=question_set,
        requested_by=order.user,
        **_claimed(order),
        **values,
    )
    _wake(workspace, run, order)
    logger.info("evaluation started workspace=%s run=%s", workspace.pk, run.pk)
    return run


def _claimed(order: Order) -> dict[str, object]:
    if not order.worker:
        return {"state": RunProgress.QUEUED, "worker": "", "lease_until": None}
    lease = timezone.now() + LEASE
    return {"state": RunProgress.RUNNING, "worker": order.worker, "lease_until": lease}


def _wake(workspace: Workspace, run: EvaluationRun, order: Order) -> None:
    if not order.worker:
        notify.wake(runs.KIND, workspace.pk, run.pk, run.requested_by_id)


def _check_no_run(workspace: Workspace, question_set: QuestionSet) -> None:
    queries.check_no_run(
        workspace=workspace,
        question_set=question_set,
        kept="Nothing was changed.",
        next_step="Wait until it finishes, or stop it.",
    )
