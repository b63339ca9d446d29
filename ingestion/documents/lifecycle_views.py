"""Pages that edit, disable, trash, restore and permanently delete documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.documents import deletion_impact, forms, lifecycle, queries as document_queries
from ingestion.history import toasts
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, HistoryEvent
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

VIA: Final = "page"
PAGE_SIZE: Final = 50
DETAIL: Final = "ingestion:document_detail"
LIST: Final = "ingestion:document_list"
TRASH: Final = "ingestion:trash"

Act = Callable[..., HistoryEvent]


@workspace_page(Capability.READ)
def trash(request: UserRequest, workspace: Workspace) -> HttpResponse:
    pages = Paginator(document_queries.trashed(workspace=workspace), PAGE_SIZE)
    page = pages.get_page(request.GET.get("page", ""))
    context = {"workspace": workspace, "section": "documents", "page": page}
    context["rows"] = document_queries.trash_rows(workspace=workspace, documents=list(page))
    context |= {
        "days": settings.TRASH_DAYS,
        "may_write": workspace.may(Capability.EDIT),
    }
    return render(request, "ingestion/life/trash.html", context)


@workspace_page(Capability.EDIT, "POST")
def document_edit(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    try:
        values = forms.document_values(request.POST)
        event = lifecycle.document_edit(
            change=_change(request, workspace), document=document, **values
        )
        toasts.leave(request, workspace, event)
    except (ConflictError, InputError) as error:
        messages.warning(request, error.sentence)
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def document_disable(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    _do(request, workspace, lifecycle.documents_disable, [document])
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def document_enable(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    _do(request, workspace, lifecycle.documents_enable, [document])
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def document_trash(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    _do(request, workspace, lifecycle.documents_trash, [document])
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def documents_trash(request: UserRequest, workspace: Workspace) -> HttpResponse:
    _do_with_chosen(request, workspace, lifecycle.documents_trash)
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_restore(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    _do(request, workspace, lifecycle.documents_restore, [document])
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def trash_restore(request: UserRequest, workspace: Workspace) -> HttpResponse:
    _do_with_chosen(request, workspace, lifecycle.documents_restore)
    return redirect(TRASH, workspace.slug)


@workspace_page(Capability.EDIT, "GET", "POST")
def document_delete(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    return _for_good(request, workspace, [document])


@workspace_page(Capability.EDIT, "GET", "POST")
def trash_empty(request: UserRequest, workspace: Workspace) -> HttpResponse:
    documents = list(document_queries.trashed(workspace=workspace))
    if not documents:
        messages.info(request, "Nothing is left in the trash.")
        return redirect(TRASH, workspace.slug)
    return _for_good(request, workspace, documents)


def _for_good(
    request: UserRequest, workspace: Workspace, documents: Sequence[Document]
) -> HttpResponse:
    """Show the consequences first (GET), then delete (POST)."""
    if request.method == "POST":
        _do(request, workspace, lifecycle.documents_delete, documents, is_final=True)
        return redirect(TRASH, workspace.slug)
    found = deletion_impact.losses_of(workspace=workspace, documents=[one.pk for one in documents])
    context = {"workspace": workspace, "section": "documents", "documents": documents}
    context["sentence"] = deletion_impact.for_good(documents, found)
    return render(request, "ingestion/life/delete.html", context)


def _do(
    request: UserRequest,
    workspace: Workspace,
    act: Act,
    documents: Sequence[Document],
    *,
    is_final: bool = False,
) -> None:
    """Carry out the change and report it on the next page, with an undo where possible."""
    try:
        event = act(change=_change(request, workspace), documents=documents)
    except ConflictError as error:
        messages.warning(request, error.sentence)
        return
    if is_final:
        messages.success(request, toasts.said(event))
    else:
        toasts.leave(request, workspace, event)
    if twins := deletion_impact.twins(event):
        messages.info(request, twins)


def _do_with_chosen(request: UserRequest, workspace: Workspace, act: Act) -> None:
    """Apply the change to the chosen documents; ones deleted meanwhile are reported and skipped."""
    ids = forms.ids_of(request.POST, "ids")
    if not ids:
        messages.warning(request, "Choose one document or more first. Nothing was changed.")
        return
    documents = document_queries.documents_there(workspace=workspace, ids=ids)
    if gone := len(ids) - len(documents):
        messages.info(request, deletion_impact.are_gone(gone))
    if documents:
        _do(request, workspace, act, documents)


def _document(workspace: Workspace, document_id: UUID) -> Document:
    return document_queries.document_get(workspace=workspace, document_id=document_id)


def _change(request: UserRequest, workspace: Workspace) -> ChangeContext:
    return ChangeContext(workspace, request.user, via=VIA)
