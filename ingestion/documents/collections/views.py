"""Pages of collections: the list, a collection with its documents, and their forms."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from ingestion.documents import forms, presenters
from ingestion.documents.collections import queries, services
from ingestion.history import sentences
from ingestion.models import Collection
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

LIST = "ingestion:collection_list"
DETAIL = "ingestion:collection_detail"
NO_COLLECTION = "none"
"""What the form sends to take documents out of their collections."""


@workspace_page(Capability.READ)
def collection_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    return _list_page(request, workspace)


@workspace_page(Capability.EDIT, "POST")
def collection_create(request: UserRequest, workspace: Workspace) -> HttpResponse:
    name = request.POST.get("name", "")
    try:
        made = services.collection_create(change=forms.change_of(request, workspace), name=name)
    except (InputError, ConflictError) as error:
        return _list_page(request, workspace, problem=error, name=name[: services.NAME_LENGTH])
    messages.success(request, f"Created the collection '{made.name}'.")
    return redirect(DETAIL, workspace.slug, made.pk)


def _list_page(request: UserRequest, workspace: Workspace, **given: object) -> HttpResponse:
    found = list(queries.collections(workspace=workspace))
    context = {
        "workspace": workspace,
        "section": "documents",
        "rows": queries.collection_rows(workspace=workspace, collections=found),
        "may_write": workspace.may(Capability.EDIT),
    }
    status = 422 if "problem" in given else 200
    return render(request, "ingestion/collections/list.html", context | given, status=status)


@workspace_page(Capability.READ)
def collection_detail(
    request: UserRequest, workspace: Workspace, collection_id: UUID
) -> HttpResponse:
    return _page(request, workspace, _collection(workspace, collection_id))


def _page(
    request: UserRequest, workspace: Workspace, collection: Collection, **given: object
) -> HttpResponse:
    context = presenters.collection_page(
        workspace=workspace, collection=collection, number=request.GET.get("page", "")
    )
    context |= {"workspace": workspace, "section": "documents"}
    status = 422 if "problem" in given else 200
    return render(request, "ingestion/collections/detail.html", context | given, status=status)


@workspace_page(Capability.EDIT, "POST")
def collection_rename(
    request: UserRequest, workspace: Workspace, collection_id: UUID
) -> HttpResponse:
    collection, name = _collection(workspace, collection_id), request.POST.get("name", "")
    change = forms.change_of(request, workspace)
    try:
        event = services.collection_rename(change=change, collection=collection, name=name)
    except (InputError, ConflictError) as error:
        given = name[: services.NAME_LENGTH]
        return _page(request, workspace, collection, problem=error, name=given)
    messages.success(request, sentences.toast_text(event))
    return redirect(DETAIL, workspace.slug, collection_id)


@workspace_page(Capability.EDIT, "GET", "POST")
def collection_delete(
    request: UserRequest, workspace: Workspace, collection_id: UUID
) -> HttpResponse:
    """Show what is kept first (GET), then delete (POST)."""
    row = queries.collection_row(workspace=workspace, collection_id=collection_id)
    if request.method != "POST":
        context = {"workspace": workspace, "section": "documents", "row": row}
        return render(request, "ingestion/collections/delete.html", context)
    change = forms.change_of(request, workspace)
    event = services.collection_delete(change=change, collection=row.collection)
    messages.success(request, f"{sentences.toast_text(event)} Its documents were kept.")
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def documents_move(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Move the chosen documents to the chosen collection, or out of theirs."""
    wanted, ids = request.POST.get("collection", ""), forms.ids_of(request.POST, "ids")
    if not ids or not wanted:
        what = "a collection" if ids else "one document or more"
        messages.warning(request, f"Choose {what} first. Nothing was changed.")
        return _back(request, workspace)
    chosen = forms.ids_of(request.POST, "collection")
    to = _collection(workspace, chosen[0]) if chosen else None
    if to is None and wanted != NO_COLLECTION:
        raise InputError("The request doesn't name a collection.", kept="Nothing was changed.")
    change = forms.change_of(request, workspace)
    moves = services.documents_move(change=change, document_ids=ids, to=to)
    if moves.event is not None:
        sentences.add_toast(request, workspace, moves.event)
    if moves.left_out:
        messages.info(request, moves.left_out)
    return _back(request, workspace)


def _back(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Go to the page of this workspace that the form was on."""
    there = request.POST.get("next", "")
    default = reverse("ingestion:document_list", args=[workspace.slug])
    is_ours = url_has_allowed_host_and_scheme(there, allowed_hosts=None)
    return HttpResponseRedirect(there if is_ours and there.startswith(default) else default)


def _collection(workspace: Workspace, collection_id: UUID) -> Collection:
    return queries.collection_get(workspace=workspace, collection_id=collection_id)
