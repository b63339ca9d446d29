"""Pages of the queue: case by case, and all cases above a certainty at once."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from ingestion.curation import forms, views
from ingestion.curation.merging import entities_differ
from ingestion.curation.presenters import refusal_of
from ingestion.history import sentences
from ingestion.models import HistoryEvent
from ingestion.suggestions import cases, presenters, services
from ingestion.suggestions.cases import Case
from kb_project.errors import ConflictError, InputError, KBError, NotFoundError
from kb_project.text.words import counted
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

TEMPLATE: Final = "ingestion/curation/queue.html"
QUEUE: Final = "ingestion:curation_queue"


@workspace_page(Capability.READ)
def curation_queue(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        context = presenters.queue_context(
            workspace=workspace, user=request.user, given=request.GET
        )
    except InputError as error:
        return _again(request, workspace, QueryDict(), error)
    return render(request, TEMPLATE, context)


@workspace_page(Capability.READ)
def case_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        context = presenters.list_context(workspace=workspace, user=request.user, given=request.GET)
    except InputError:
        return redirect("ingestion:case_list", workspace.slug)
    return render(request, "ingestion/curation/case_list.html", context)


@workspace_page(Capability.CURATE, "POST")
def case_merge(request: UserRequest, workspace: Workspace) -> HttpResponse:
    return _decided(request, workspace, is_same=True)


@workspace_page(Capability.CURATE, "POST")
def case_differ(request: UserRequest, workspace: Workspace) -> HttpResponse:
    return _decided(request, workspace, is_same=False)


@workspace_page(Capability.CURATE, "POST")
def case_skip(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        case = cases.case_get(workspace=workspace, key=_key(request), user=request.user)
    except NotFoundError:
        return _gone(request, workspace)
    services.case_skip(workspace=workspace, user=request.user, case=case.key)
    return redirect(QUEUE, workspace.slug)


def _decided(request: UserRequest, workspace: Workspace, *, is_same: bool) -> HttpResponse:
    try:
        case = cases.case_get(workspace=workspace, key=_key(request), user=request.user)
    except NotFoundError:
        return _gone(request, workspace)
    try:
        event = _decide(request, workspace, case, is_same=is_same)
    except ConflictError as error:
        if not _is_open(workspace, case.key):
            return _gone(request, workspace)
        return _again(request, workspace, request.POST, error)
    except (InputError, NotFoundError) as error:
        return _again(request, workspace, QueryDict(f"case={case.key}"), error)
    return views.done(request, workspace, event, QUEUE)


def _decide(
    request: UserRequest, workspace: Workspace, case: Case, *, is_same: bool
) -> HistoryEvent:
    chosen = presenters.chosen_of(case, request.POST)
    change = forms.change_of(workspace, request.user, request.POST)
    if not is_same:
        return entities_differ(change=change, entities=chosen.set)
    return services.case_accept(
        change=change, entities=chosen.entities, kept=chosen.kept, dropped=chosen.dropped
    )


def _key(request: UserRequest) -> UUID:
    key = forms.id_of(request.POST, "case")
    if key is None:
        raise NotFoundError("This case is no longer open.", next_step="Go on with the next one.")
    return key


def _is_open(workspace: Workspace, key: UUID) -> bool:
    try:
        cases.case_get(workspace=workspace, key=key)
    except NotFoundError:
        return False
    return True


def _gone(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Go on to the next case, saying what happened to this one."""
    since = presenters.meanwhile(workspace, forms.expected_of(request.POST))
    told = since or "It has been decided, or no longer exists."
    messages.info(request, f"That case is no longer open. {told} Nothing else was changed.")
    return redirect(QUEUE, workspace.slug)


def _again(
    request: UserRequest, workspace: Workspace, given: QueryDict, error: KBError
) -> HttpResponse:
    """Render the page in its present state, with the reason for the refusal."""
    context = presenters.queue_context(workspace=workspace, user=request.user, given=given)
    return views.again(request, TEMPLATE, context, refusal_of(workspace, error))


# --- all above a certainty ------------------------------------------------------------------------
@workspace_page(Capability.CURATE, "GET", "POST")
def cases_above(request: UserRequest, workspace: Workspace) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    above = given.get("above", "")
    is_offered = above in map(str, presenters.THRESHOLDS)
    percent = int(above) if is_offered else presenters.USUAL
    refusal = None
    if request.method == "POST":
        change = forms.change_of(workspace, request.user, given)
        digest = given.get("digest", "")[:16] or "none"
        try:
            events = services.cases_accept_above(
                change=change, threshold=percent / 100, digest=digest
            )
        except (InputError, ConflictError) as error:
            refusal = refusal_of(workspace, error)
        else:
            merged = counted(len(events), "case")
            sentences.add_toast(request, workspace, events[0], f"Merged {merged}.")
            return redirect(QUEUE, workspace.slug)
    context = {
        "workspace": workspace,
        "section": "curation",
        "percent": percent,
        "thresholds": [(one, f"{one} % and more") for one in presenters.THRESHOLDS],
        "bulk": services.accept_above_preview(workspace=workspace, threshold=percent / 100),
    }
    template = "ingestion/curation/queue_above.html"
    if refusal:
        return views.again(request, template, context, refusal)
    return render(request, template, context)
