"""Pages of runs: progress, measurements, and what changed since the previous run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render

from kb_project.errors import ConflictError, KBError
from retrieval.evaluation import control, evidence, forms, history, presenters, queries, results
from retrieval.evaluation.control import Order
from retrieval.evaluation.history import Change, Line
from retrieval.evaluation.summary import label_of, place_of
from retrieval.models import EvaluationRun, RunKind
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

LINES_SHOWN: Final = 40
SHOW: Final = {
    "worse": lambda line: line.change == Change.WORSE,
    "better": lambda line: line.change == Change.BETTER,
    "missed": lambda line: line.value is not None and line.value < 1,
    "failed": lambda line: bool(line.result.problem),
}


@workspace_page(Capability.EDIT, "POST")
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
    comparison = history.comparison_of(workspace=workspace, run=run)
    show, mode = request.GET.get("show", ""), request.GET.get("mode", "")
    lines = _lines(comparison.lines, show, mode)
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
        "mode": mode,
        "modes": [(name, presenters.mode_label(name)) for name in run.modes],
        "failed": sum(bool(line.result.problem) for line in comparison.lines),
        "may_write": presenters.may_write(workspace),
    }
    return render(request, "evaluation/run.html", context)


def _lines(lines: Any, show: str, mode: str) -> list[Line]:
    wanted: Callable[[Line], bool] = SHOW.get(show, lambda _: True)
    return [line for line in lines if wanted(line) and mode in ("", line.result.mode)]


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


@workspace_page(Capability.EDIT, "POST")
def run_stop(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    return _done(request, workspace, run, lambda: control.run_stop(workspace=workspace, run=run))


@workspace_page(Capability.EDIT, "POST")
def run_continue(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    order = Order(request.user)
    return _done(
        request,
        workspace,
        run,
        lambda: control.run_continue(workspace=workspace, run=run, order=order),
    )


@workspace_page(Capability.EDIT, "POST")
def run_delete(request: UserRequest, workspace: Workspace, run_id: UUID) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    try:
        control.run_delete(workspace=workspace, run=run)
    except ConflictError as error:
        messages.error(request, error.sentence)
        return redirect("retrieval:run_detail", workspace.slug, run.pk)
    messages.success(request, "The run is deleted.")
    return redirect("retrieval:set_detail", workspace.slug, run.question_set_id)


@workspace_page(Capability.READ)
def run_export(request: UserRequest, workspace: Workspace, run_id: UUID, form: str) -> HttpResponse:
    run = queries.run_get(workspace=workspace, run_id=run_id)
    found = results.records(workspace=workspace, run=run)
    if form == "jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in found)
        response = HttpResponse(text, content_type="application/x-ndjson; charset=utf-8")
    else:
        out = io.StringIO()
        csv.writer(out).writerows(results.as_table(found))
        response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="results.{form}"'
    return response


def _done(
    request: UserRequest, workspace: Workspace, run: EvaluationRun, do: Callable[[], object]
) -> HttpResponse:
    try:
        do()
    except ConflictError as error:
        messages.error(request, error.sentence)
    if run.kind == RunKind.MAKE:
        return redirect("retrieval:set_detail", workspace.slug, run.question_set_id)
    return redirect("retrieval:run_detail", workspace.slug, run.pk)
