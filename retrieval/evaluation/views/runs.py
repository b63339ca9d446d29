"""Pages of runs: progress, measurements, and what changed since the previous run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render

from kb_project.errors import KBError
from kb_project.http.downloads import csv_response, text_response
from retrieval.evaluation import control, evidence, forms, presenters, queries, results
from retrieval.evaluation.control import Order
from retrieval.evaluation.metrics import label_of, place_of
from retrieval.evaluation.results import Change, ResultChange
from retrieval.models import EvaluationRun, RunKind
from workspaces import access, audit
from workspaces.audit import Target
from workspaces.models import EXPORT, AuditAction, Capability, Workspace
from workspaces.pages import UserRequest, is_done, workspace_page

LINES_SHOWN: Final = 40
SHOW: Final = {
    "worse": lambda line: line.change == Change.WORSE,
    "better": lambda line: line.change == Change.BETTER,
    "missed": lambda line: line.value is not None and line.value < 1,
    "failed": lambda line: bool(line.result.problem),
}
SHOW_CHOICES: Final = (
    ("missed", "Not perfect"),
    ("worse", "Worse than before"),
    ("better", "Better than before"),
    ("failed", "Failed"),
)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def run_start(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    try:
        run = control.run_start(
            workspace=workspace,
            order=Order(request.user),
            question_set=found,
            plan=forms.plan_in(request.POST),
            answers="answers" in request.POST,
        )
    except KBError as error:
        messages.error(request, error.sentence)
        return redirect("retrieval:set_detail", workspace.slug, set_id)
    return redirect("retrieval:run_detail", workspace.slug, run.pk)


@workspace_page(Capability.READ)
def run_detail(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    if run.kind == RunKind.MAKE:
        return redirect("retrieval:set_detail", workspace.slug, run.question_set_id)
    comparison = results.comparison_of(workspace=workspace, run=run)
    show, mode = request.GET.get("show", ""), request.GET.get("mode", "")
    is_shown: Callable[[ResultChange], bool] = SHOW.get(show, lambda _: True)
    lines = [one for one in comparison.lines if is_shown(one) and mode in ("", one.result.mode)]
    page = Paginator(lines, LINES_SHOWN).get_page(request.GET.get("page", "1"))
    context = {
        "workspace": workspace,
        "section": "evaluation",
        "shown": presenters.shown_run(run),
        "run": run,
        "set": run.question_set,
        "comparison": comparison,
        "before": comparison.before,
        "table": presenters.table_of(run, comparison),
        "lines": [presenters.shown_line(line) for line in page],
        "page": page,
        "show": show,
        "shows": SHOW_CHOICES,
        "mode": mode,
        "modes": [(name, presenters.mode_label(name)) for name in run.modes],
        "failed": sum(bool(line.result.problem) for line in comparison.lines),
        "may_write": workspace.may(Capability.EDIT),
    }
    return render(request, "evaluation/run.html", context)


@workspace_page(Capability.READ)
def result_detail(
    request: UserRequest, workspace: Workspace, run_id: UUID, result_id: UUID
) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    result = queries.result_get(workspace=workspace, run=run, result_id=result_id)
    names = evidence.names_in(workspace)
    context = {
        "workspace": workspace,
        "section": "evaluation",
        "run": run,
        "set": run.question_set,
        "result": result,
        "mode": presenters.mode_label(result.mode),
        "question": presenters.shown_question(result.question, names),
        "metrics": [
            (label_of(name), f"{value:,.1f}" if "_ms" in name else f"{value:.3f}")
            for name, value in sorted(result.metrics.items(), key=lambda pair: place_of(pair[0]))
        ],
        "passages": presenters.passages_of(workspace=workspace, result=result),
        "claims": presenters.claims_of(result.claims),
    }
    return render(request, "evaluation/result.html", context)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def run_stop(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    is_done(request, lambda: control.run_stop(workspace=workspace, run=run))
    return _to_run(workspace, run)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def run_continue(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run, order = queries.run_get(workspace=workspace, run_id=run_id), Order(request.user)
    is_done(request, lambda: control.run_continue(workspace=workspace, run=run, order=order))
    return _to_run(workspace, run)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def run_delete(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    delete = partial(control.run_delete, workspace=workspace, run=run)
    if is_done(request, delete, "The run is deleted."):
        return redirect("retrieval:set_detail", workspace.slug, run.question_set_id)
    return redirect("retrieval:run_detail", workspace.slug, run.pk)


@workspace_page(Capability.READ)
def run_export(request: UserRequest, workspace: Workspace, run_id: UUID, form: str) -> HttpResponse:
    access.check_right(workspace, EXPORT)
    run = queries.run_get(workspace=workspace, run_id=run_id)
    found = results.records(workspace=workspace, run=run)
    audit.record(
        AuditAction.RESULTS_EXPORTED,
        workspace=workspace,
        user=request.user,
        target=Target("question set", run.question_set_id, run.question_set.name),
        after={"results": len(found)},
    )
    if form == "jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in found)
        return text_response("results.jsonl", text, content_type="application/x-ndjson")
    return csv_response("results.csv", results.as_table(found))


def _to_run(workspace: Workspace, run: EvaluationRun) -> HttpResponse:
    if run.kind == RunKind.MAKE:
        return redirect("retrieval:set_detail", workspace.slug, run.question_set_id)
    return redirect("retrieval:run_detail", workspace.slug, run.pk)
