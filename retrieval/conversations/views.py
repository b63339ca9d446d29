"""Pages of retrieval: a workspace's home, asking, answers, search."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from kb_project.errors import ConflictError, InputError, KBError, LimitError
from kb_project.http.addresses import public_url
from kb_project.http.downloads import text_response
from retrieval.answering import suggestions
from retrieval.conversations import asking, forms, queries
from retrieval.conversations.presenters import answers, ask_box, pages, passages, plain_text
from retrieval.models import Answer
from retrieval.search import services
from retrieval.search.modes import ANSWER_MODES
from workspaces import access
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

HITS_SHOWN: Final = 20


@workspace_page(Capability.READ)
def home(request: UserRequest, workspace: Workspace) -> HttpResponse:
    page = pages.home(workspace=workspace, user=request.user)
    context = {"workspace": workspace, "section": "home", "home": page, "ask": page.box}
    return render(request, "retrieval/home.html", context)


@workspace_page(Capability.READ, "GET", "POST")
def ask(request: UserRequest, workspace: Workspace) -> HttpResponse:
    wanted = forms.wanted_of(request.POST or request.GET, "question", ANSWER_MODES)
    context: dict[str, object] = {"workspace": workspace, "section": "ask"}
    if request.method == "POST":
        try:
            answer = asking.question_ask(
                workspace=workspace,
                user=request.user,
                question=wanted.question,
                mode=wanted.mode,
                scope=wanted.scope,
                options=wanted.options,
                conversation_id=wanted.conversation,
            )
        except (InputError, ConflictError, LimitError) as error:
            context["problem"] = error
        else:
            return redirect("retrieval:answer_detail", workspace.slug, answer.question_id)
    context |= pages.ask_page(workspace=workspace, user=request.user, wanted=wanted)
    return render(request, "retrieval/ask.html", context)


@transaction.non_atomic_requests
@workspace_page(Capability.READ)
def starters(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Render starter questions for a page that loaded before they were found."""
    with access.in_workspace(workspace.pk):
        found = suggestions.starters(workspace=workspace)
    if found is None:
        found = suggestions.make_starters(workspace)
    context = {"workspace": workspace, "starters": found}
    return render(request, "retrieval/starters.html", context)


@workspace_page(Capability.READ)
def scope_choices(request: UserRequest, workspace: Workspace, name: str) -> HttpResponse:
    """Render documents or names that match what is typed into the filter panel."""
    text = forms.text_of(request.GET, f"find_{name}")
    choices = ask_box.found_choices(workspace=workspace, name=name, text=text)
    context = {"choices": choices, "text": text}
    return render(request, "retrieval/scope_choices.html", context)


@workspace_page(Capability.READ)
def answer_detail(request: UserRequest, workspace: Workspace, question_id: UUID) -> HttpResponse:
    context = pages.question_page(
        workspace=workspace,
        user=request.user,
        question_id=question_id,
        answer_id=forms.id_of(request.GET, "answer"),
    )
    context |= {"workspace": workspace, "section": "ask"}
    context["copied"] = plain_text.answer_text(context["answer"], origin=_origin(request))
    return render(request, "retrieval/question.html", context)


@workspace_page(Capability.READ)
def answer_fragment(request: UserRequest, workspace: Workspace, question_id: UUID) -> HttpResponse:
    """Render the answer as it is now, for a page that follows it."""
    context = pages.answer_part(
        workspace=workspace,
        question_id=question_id,
        answer_id=forms.id_of(request.GET, "answer"),
    )
    context["workspace"] = workspace
    context["copied"] = plain_text.answer_text(context["answer"], origin=_origin(request))
    return render(request, "retrieval/answer.html", context)


@workspace_page(Capability.READ)
def conversation_download(
    request: UserRequest, workspace: Workspace, question_id: UUID
) -> HttpResponse:
    """Send the question's conversation, with its answers and their sources, as a text file."""
    question = queries.asked(workspace=workspace, question_id=question_id).question
    text = plain_text.conversation_text(
        workspace=workspace, question=question, origin=_origin(request)
    )
    return text_response("conversation.txt", text, content_type="text/plain")


def _origin(request: UserRequest) -> str:
    return public_url(request, "/").rstrip("/")


@workspace_page(Capability.READ, "POST")
def answer_stop(request: UserRequest, workspace: Workspace, answer_id: UUID) -> HttpResponse:
    answer = asking.answer_stop(workspace=workspace, user=request.user, answer_id=answer_id)
    if request.htmx:
        return HttpResponse(status=204)
    return _to_answer(workspace, answer)


@workspace_page(Capability.READ, "POST")
def question_again(request: UserRequest, workspace: Workspace, question_id: UUID) -> HttpResponse:
    """Answer the question again, in the same or another mode; earlier answers are kept."""
    answer = asking.answer_again(
        workspace=workspace,
        user=request.user,
        question_id=question_id,
        mode=request.POST.get("mode", ""),
        options=forms.wishes_of(request.POST),
    )
    return _to_answer(workspace, answer)


def _to_answer(workspace: Workspace, answer: Answer) -> HttpResponse:
    page = reverse("retrieval:answer_detail", args=[workspace.slug, answer.question_id])
    return redirect(f"{page}?answer={answer.pk}")


@transaction.non_atomic_requests
@workspace_page(Capability.READ)
def search(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Search, with no transaction open while a mode or a reranker calls a model."""
    wanted = forms.wanted_of(request.GET, "q")
    context: dict[str, object] = {"workspace": workspace, "section": "search", "text": wanted.text}
    found = None
    if wanted.text:
        try:
            found = services.search(
                workspace=workspace,
                question=wanted.text,
                mode=wanted.mode,
                top_k=HITS_SHOWN,
                scope=wanted.scope,
            )
        except KBError as error:
            context["problem"] = error
    with transaction.atomic():
        access.workspace_for_reading(user=request.user, workspace_id=workspace.pk)
        context["ask"] = ask_box.ask_box(
            workspace=workspace, mode=wanted.mode, filters=wanted.filters, is_search=True
        )
        if found is not None:
            context |= {
                "notes": found.notes,
                "scope_empty": any(note.code == answers.EMPTY_SCOPE for note in found.notes),
                "used": found.mode,
                "hits": passages.shown_hits(
                    workspace=workspace, question=wanted.text, hits=found.hits
                ),
                "known": services.said_most_about(workspace, found.hits),
            }
        return render(request, "retrieval/search.html", context)
