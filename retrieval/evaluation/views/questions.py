"""Forms for the questions of a set."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from kb_project.errors import ConflictError, InputError
from retrieval.conversations import queries
from retrieval.evaluation import evidence, forms, presenters, queries as evaluation_queries, sets
from retrieval.models import QuestionSet
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest


@workspace_page(Capability.EDIT, "POST")
def question_add(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = evaluation_queries.set_get(workspace=workspace, set_id=set_id)
    given = _given(request)
    try:
        sets.question_add(workspace=workspace, question_set=found, **given)
    except (InputError, ConflictError) as error:
        context = _form(workspace, found) | {"problem": error, "given": given}
        return render(request, "evaluation/question_form.html", context, status=422)
    messages.success(request, "1 question added.")
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "GET", "POST")
def question_edit(
    request: UserRequest, workspace: Workspace, set_id: UUID, question_id: UUID
) -> HttpResponse:
    found = evaluation_queries.set_get(workspace=workspace, set_id=set_id)
    question = evaluation_queries.question_get(
        workspace=workspace, set_id=set_id, question_id=question_id
    )
    names = evidence.names_in(workspace)
    context = _form(workspace, found) | {"question": question}
    context["given"] = {
        "text": question.text,
        "answer": question.answer,
        "evidence_given": evidence.lines_of(question.evidence, names),
    }
    if request.method == "POST":
        context["given"] = _given(request)
        try:
            sets.question_change(workspace=workspace, question=question, **_given(request))
        except (InputError, ConflictError) as error:
            context["problem"] = error
            return render(request, "evaluation/question_form.html", context, status=422)
        return redirect("retrieval:set_detail", workspace.slug, set_id)
    return render(request, "evaluation/question_form.html", context)


@workspace_page(Capability.EDIT, "POST")
def question_delete(
    request: UserRequest, workspace: Workspace, set_id: UUID, question_id: UUID
) -> HttpResponse:
    question = evaluation_queries.question_get(
        workspace=workspace, set_id=set_id, question_id=question_id
    )
    sets.question_delete(workspace=workspace, question=question)
    messages.success(request, "The question is deleted.")
    return redirect("retrieval:set_detail", workspace.slug, set_id)


@workspace_page(Capability.EDIT, "POST")
def questions_decide(request: UserRequest, workspace: Workspace, set_id: UUID) -> HttpResponse:
    found = evaluation_queries.set_get(workspace=workspace, set_id=set_id)
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


@workspace_page(Capability.EDIT, "GET", "POST")
def question_keep(request: UserRequest, workspace: Workspace, question_id: UUID) -> HttpResponse:
    """Add a question someone asked to a set, or to a new one."""
    asked = queries.asked(workspace=workspace, question_id=question_id)
    context: dict[str, Any] = {
        "workspace": workspace,
        "section": "evaluation",
        "question": asked.question,
        "answer": " ".join(str(sentence["text"]) for sentence in asked.answer.sentences),
        "citations": len(asked.citations),
        "sets": list(evaluation_queries.sets(workspace=workspace)),
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
        return evaluation_queries.set_get(workspace=workspace, set_id=set_id)
    raise InputError("No set is chosen.", next_step="Choose one, or name a new one.")


def _given(request: UserRequest) -> dict[str, Any]:
    return {
        "text": request.POST.get("text", ""),
        "answer": request.POST.get("answer", ""),
        "evidence_given": request.POST.get("evidence", ""),
    }


def _form(workspace: Workspace, found: QuestionSet) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "section": "evaluation",
        "set": found,
        "may_write": presenters.may_write(workspace),
    }
