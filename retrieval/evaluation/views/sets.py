"""Pages of question sets: the list, a set with its questions, and their forms."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render

from kb_project.errors import ConflictError, InputError
from kb_project.http.downloads import text_response
from retrieval.conversations import queries as conversation_queries
from retrieval.evaluation import control, evidence, forms, making, presenters, queries, sets
from retrieval.evaluation.control import Order
from retrieval.evaluation.sets import LARGEST_FILE
from retrieval.models import QuestionSet, SetQuestion
from retrieval.search.modes import MODES
from workspaces import access
from workspaces.models import EXPORT, Capability, Workspace
from workspaces.pages import UserRequest, is_done, workspace_page

QUESTIONS_SHOWN: Final = 25
RUNS_SHOWN: Final = 20
TO_MAKE: Final = 20
State = SetQuestion.State


@workspace_page(Capability.READ, "GET", "POST")
def set_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context: dict[str, Any] = {"workspace": workspace, "section": "evaluation"}
    if request.method == "POST":
        access.workspace_for_writing(user=request.user, workspace_id=workspace.pk, at_source=False)
        name = request.POST.get("name", "")
        try:
            made = sets.set_create(workspace=workspace, user=request.user, name=name)
        except (InputError, ConflictError) as error:
            context |= {"problem": error, "name": name[: sets.LONGEST_NAME]}
        else:
            return redirect("retrieval:set_detail", workspace.slug, made.pk)
    rows = list(queries.sets(workspace=workspace))
    found = queries.set_rows(workspace=workspace, rows=rows)
    context["rows"] = [(row, presenters.shown_run(row.last) if row.last else None) for row in found]
    context["may_write"] = workspace.may(Capability.EDIT)
    return render(request, "evaluation/set_list.html", context)


@workspace_page(Capability.READ)
def set_detail(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    context = set_context(workspace, found, page=request.GET.get("page", "1"))
    return render(request, "evaluation/set_detail.html", context)


def set_context(workspace: Workspace, found: QuestionSet, *, page: str = "1") -> dict[str, Any]:
    names = evidence.names_in(workspace)
    rows = queries.questions_of(workspace=workspace, question_set=found)
    questions = queries.accepted_of(workspace=workspace, question_set=found)
    accepted = Paginator(questions, QUESTIONS_SHOWN).get_page(page)
    proposed = rows.filter(state=State.PROPOSED)
    runs = list(queries.runs_of(workspace=workspace, question_set=found)[:RUNS_SHOWN])
    making_run = queries.making(workspace=workspace, question_set=found)
    shown_runs = [presenters.shown_run(run) for run in runs]
    context: dict[str, Any] = {
        "workspace": workspace,
        "section": "evaluation",
        "set": found,
        "page": accepted,
        "accepted": accepted.paginator.count,
        "questions": [presenters.shown_question(row, names) for row in accepted],
        "proposed": [presenters.shown_question(row, names) for row in proposed],
        "runs": shown_runs,
        "making": presenters.shown_run(making_run) if making_run else None,
        "is_moving": any(run.is_moving for run in shown_runs),
        "may_write": workspace.may(Capability.EDIT),
    }
    return context | _start_form(workspace, found) if context["may_write"] else context


def _start_form(workspace: Workspace, found: QuestionSet) -> dict[str, Any]:
    chosen = list(MODES)[:2]
    estimate = control.estimate_for_run(
        workspace=workspace, question_set=found, modes=chosen, answers=False
    )
    to_make = control.estimate_for_making(workspace=workspace, number=TO_MAKE)
    return {
        "modes": list(MODES.values()),
        "chosen": chosen,
        "ks": ", ".join(map(str, control.KS)),
        "estimate": estimate,
        "sentences": control.estimate_sentences(estimate),
        "to_make": TO_MAKE,
        "most_made": making.MOST,
        "making_sentences": control.estimate_sentences(to_make),
        "largest_file": LARGEST_FILE,
    }


@workspace_page(Capability.EDIT, at_source=False)
def set_estimate(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    """Show what the run being configured will cost."""
    found = queries.set_get(workspace=workspace, set_id=set_id)
    context: dict[str, Any] = {}
    try:
        plan = forms.plan_in(request.GET)
    except InputError as error:
        context["sentences"] = [error.sentence]
    else:
        estimate = control.estimate_for_run(
            workspace=workspace,
            question_set=found,
            modes=list(plan.modes),
            answers="answers" in request.GET,
        )
        context = {"estimate": estimate, "sentences": control.estimate_sentences(estimate)}
    return render(request, "evaluation/estimate.html", context)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def set_rename(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    name = request.POST.get("name", "")
    is_done(request, lambda: sets.set_rename(workspace=workspace, question_set=found, name=name))
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def set_delete(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    if is_done(
        request,
        lambda: sets.set_delete(workspace=workspace, question_set=found),
        f"The set “{found.name}” is deleted, with its runs.",
    ):
        return redirect("retrieval:set_list", workspace.slug)
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def set_import(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    file = request.FILES.get("file")
    content = file.read(LARGEST_FILE + 1) if file else request.POST.get("text", "").encode()
    try:
        number = sets.set_import(workspace=workspace, question_set=found, content=content)
    except (InputError, ConflictError) as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, added(number))
    return redirect("retrieval:set_detail", workspace.slug, set_id)


def added(number: int) -> str:
    """
    >>> added(0), added(1), added(2)
    ('Every question was there already.', '1 question added.', '2 questions added.')
    """
    if not number:
        return "Every question was there already."
    return f"{number:,} question{'' if number == 1 else 's'} added."


@workspace_page(Capability.READ)
def set_export(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    access.check_right(workspace, EXPORT)
    found = queries.set_get(workspace=workspace, set_id=set_id)
    lines = sets.set_export(workspace=workspace, question_set=found)
    return text_response("questions.jsonl", lines, content_type="application/x-ndjson")


@workspace_page(Capability.EDIT, "POST", at_source=False)
def questions_make(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    number = forms.number_in(request.POST, "number")
    is_done(
        request,
        lambda: control.questions_make(
            workspace=workspace, order=Order(request.user), question_set=found, number=number
        ),
    )
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def question_add(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    given = _given(request)
    try:
        sets.question_add(workspace=workspace, question_set=found, **given)
    except (InputError, ConflictError) as error:
        return _form(request, workspace, found, {"given": given, "problem": error}, status=422)
    messages.success(request, "1 question added.")
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "GET", "POST", at_source=False)
def question_edit(
    request: UserRequest, workspace: Workspace, set_id: UUID, question_id: UUID
) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    question = queries.question_get(workspace=workspace, set_id=set_id, question_id=question_id)
    if request.method == "POST":
        given = _given(request)
        try:
            sets.question_change(workspace=workspace, question=question, **given)
        except (InputError, ConflictError) as error:
            context = {"question": question, "given": given, "problem": error}
            return _form(request, workspace, found, context, status=422)
        return redirect("retrieval:set_detail", workspace.slug, set_id)
    given = {
        "text": question.text,
        "answer": question.answer,
        "evidence_given": evidence.lines_of(question.evidence, evidence.names_in(workspace)),
    }
    return _form(request, workspace, found, {"question": question, "given": given})


@workspace_page(Capability.EDIT, "POST", at_source=False)
def question_delete(
    request: UserRequest, workspace: Workspace, set_id: UUID, question_id: UUID
) -> HttpResponse:
    question = queries.question_get(workspace=workspace, set_id=set_id, question_id=question_id)
    sets.question_delete(workspace=workspace, question=question)
    messages.success(request, "The question is deleted.")
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "POST", at_source=False)
def questions_decide(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = queries.set_get(workspace=workspace, set_id=set_id)
    accept = request.POST.get("decision") == "accept"
    number = sets.questions_decide(
        workspace=workspace,
        question_set=found,
        ids=forms.ids_in(request.POST, "questions"),
        accept=accept,
    )
    if number:
        done = "accepted" if accept else "rejected"
        messages.success(request, f"{number:,} {done}.")
    else:
        messages.warning(request, "No question was chosen.")
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "GET", "POST", at_source=False)
def question_keep(request: UserRequest, workspace: Workspace, question_id: UUID) -> HttpResponse:
    """Add a question someone asked to a set, or to a new one."""
    asked = conversation_queries.asked(workspace=workspace, question_id=question_id)
    context: dict[str, Any] = {
        "workspace": workspace,
        "section": "evaluation",
        "question": asked.question,
        "answer": asked.answer.text,
        "citations": len(asked.citations),
        "sets": list(queries.sets(workspace=workspace)),
    }
    if request.method == "POST":
        try:
            found = _set_chosen(request, workspace)
            sets.question_keep(workspace=workspace, question_set=found, question_id=question_id)
        except (InputError, ConflictError) as error:
            context["problem"] = error
        else:
            messages.success(request, f"Added to “{found.name}”.")
            return redirect("retrieval:set_detail", workspace.slug, found.pk)
    return render(request, "evaluation/question_keep.html", context)


def _set_chosen(request: UserRequest, workspace: Workspace) -> QuestionSet:
    name = request.POST.get("name", "").strip()
    if name:
        return sets.set_create(workspace=workspace, user=request.user, name=name)
    for set_id in forms.ids_in(request.POST, "set"):
        return queries.set_get(workspace=workspace, set_id=set_id)
    raise InputError("No set is chosen.", next_step="Choose one, or name a new one.")


def _given(request: UserRequest) -> dict[str, Any]:
    return {
        "text": request.POST.get("text", ""),
        "answer": request.POST.get("answer", ""),
        "evidence_given": request.POST.get("evidence", ""),
    }


def _form(
    request: UserRequest,
    workspace: Workspace,
    found: QuestionSet,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    context |= {
        "workspace": workspace,
        "section": "evaluation",
        "set": found,
        "may_write": workspace.may(Capability.EDIT),
    }
    return render(request, "evaluation/question_form.html", context, status=status)
