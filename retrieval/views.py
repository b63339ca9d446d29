"""Pages of retrieval: a workspace's front door, asking, answers, search."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from kb_project.errors import InputError
from retrieval import asking, forms, questions, services, shown
from workspaces import access
from workspaces.requests import UserRequest

HITS_SHOWN: Final = 20


@login_required
@require_GET
def home(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    page = shown.home(workspace=workspace, user=request.user)
    context = {"workspace": workspace, "section": "home", "home": page, "ask": page.box}
    return render(request, "retrieval/home.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def ask(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    wanted = forms.wanted_of(request.POST or request.GET, "question")
    context: dict[str, object] = {"workspace": workspace, "section": "ask"}
    if request.method == "POST":
        try:
            answer = asking.ask(
                workspace=workspace,
                user=request.user,
                question=wanted.text,
                mode=wanted.mode,
                scope=wanted.scope,
            )
        except InputError as error:
            context["problem"] = error
        else:
            return redirect("retrieval:answer_detail", workspace.slug, answer.question_id)
    context |= shown.ask_page(workspace=workspace, user=request.user, wanted=wanted)
    return render(request, "retrieval/ask.html", context)


@login_required
@require_GET
def answer_detail(request: UserRequest, workspace_id: str, question_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    asked = questions.asked(workspace=workspace, question_id=question_id)
    context = {"workspace": workspace, "section": "ask", "question": asked.question}
    context["answer"] = shown.shown_answer(workspace=workspace, asked=asked)
    context["ask"] = shown.ask_again(workspace=workspace, question=asked.question)
    return render(request, "retrieval/answer.html", context)


@login_required
@require_GET
def search(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    wanted = forms.wanted_of(request.GET, "q")
    box = shown.ask_box(workspace=workspace, mode=wanted.mode, chosen=wanted.collections)
    context = {"workspace": workspace, "section": "search", "ask": box, "text": wanted.text}
    if wanted.text:
        try:
            found = services.search(
                workspace=workspace,
                question=wanted.text,
                mode=wanted.mode,
                top_k=HITS_SHOWN,
                scope=wanted.scope,
            )
        except InputError as error:
            context["problem"] = error
        else:
            context["notes"] = found.notes
            context["hits"] = shown.shown_hits(
                workspace=workspace, question=wanted.text, hits=found.hits
            )
    return render(request, "retrieval/search.html", context)
