"""Pages of documents and their contents."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.documents import (
    estimate_queries,
    estimate_sentences,
    forms,
    page_images,
    presenters,
    queries as document_queries,
    rereading,
    services,
    unread_passages,
    version_presenters,
    version_queries,
)
from ingestion.knowledge import summaries, trees
from kb_project.errors import ConflictError, NotFoundError, PauseError
from workspaces.language_models.queries import model_state
from workspaces.models import Capability, Workspace
from workspaces.pages import workspace_page
from workspaces.requests import UserRequest

# A version's page picture never changes, but which version is live does.
PICTURE_CACHE: Final = "private, max-age=86400, immutable"
LIVE_PICTURE_CACHE: Final = "private, no-cache"


@workspace_page(Capability.READ)
def document_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.document_page(
        workspace=workspace,
        text=forms.words_of(request.GET, "q"),
        state=forms.state_of(request.GET),
        number=request.GET.get("page", ""),
    )
    context |= {"workspace": workspace, "section": "documents"}
    context["max_upload_bytes"] = settings.MAX_UPLOAD_BYTES
    context["asks_models"] = model_state(workspace=workspace).tier != "local"
    template = "document_rows.html" if request.htmx else "document_list.html"
    return render(request, f"ingestion/{template}", context)


@workspace_page(Capability.EDIT, "POST")
def document_upload(request: UserRequest, workspace: Workspace) -> HttpResponse:
    uploads = [
        services.document_upload(
            workspace=workspace, file=file, name=file.name or "", user=request.user
        )
        for file in request.FILES.getlist("files")
    ]
    twins = [upload.document for upload in uploads if upload.is_duplicate]
    if request.htmx:
        context = {"workspace": workspace, "twins": twins}
        return render(request, "ingestion/upload_outcome.html", context)
    for twin in twins:
        messages.info(request, f"Already here: {twin.title}. Nothing was added twice.")
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_retry(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    try:
        services.document_retry(workspace=workspace, document=document)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_cancel(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    try:
        services.document_cancel(workspace=workspace, document=document)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def documents_retry(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.documents_retry(workspace=workspace)
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def work_resume(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.work_resume(workspace=workspace)
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_estimate(request: UserRequest, workspace: Workspace) -> HttpResponse:
    files = forms.files_of(request.POST)
    estimate = estimate_queries.estimate_for_files(workspace=workspace, files=files)
    sentences = estimate_sentences.sentences(estimate)
    context = {"workspace": workspace, "estimate": estimate, "sentences": sentences}
    return render(request, "ingestion/upload_estimate.html", context)


@workspace_page(Capability.READ)
def document_detail(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    row = document_queries.document_row(workspace=workspace, document_id=document_id)
    number = forms.number(request.GET, "version")
    version = version_queries.version_asked(
        workspace=workspace, document=row.document, number=number
    )
    place = forms.place_of(request.GET)
    reading = presenters.shown_reading(
        workspace=workspace, version=version, place=place, is_panel=bool(request.htmx)
    )
    context = {"workspace": workspace, "section": "documents", "document": row.document}
    context |= {"row": row, "version": version, "shown": reading}
    context["earlier"] = version_presenters.earlier_of(workspace, version, place.span)
    if request.htmx:
        return render(request, "ingestion/document_panel.html", context)
    context["spent"] = presenters.document_spent(workspace=workspace, document=row.document)
    context["may_write"] = workspace.may(Capability.EDIT)
    context["entities"] = document_queries.entities_in(
        workspace=workspace, document=row.document, most=24
    )
    context["summary"] = trees.tree_shown(workspace=workspace, document=row.document)
    if not context["earlier"]:
        context["short"] = summaries.in_short(workspace=workspace, version=version)
    return render(request, "ingestion/document_detail.html", context)


@workspace_page(Capability.READ)
def page_picture(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    given = forms.number(request.GET, "version")
    version = version_queries.version_asked(workspace=workspace, document=document, number=given)
    picture = page_images.page_picture(version=version, number=number)
    cache = LIVE_PICTURE_CACHE if given is None else PICTURE_CACHE
    return HttpResponse(picture, "image/png", headers={"Cache-Control": cache})


@workspace_page(Capability.EDIT, "POST")
def read_again(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        number = rereading.documents_read_again(workspace=workspace)
    except PauseError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, rereading.told(number))
    return redirect("ingestion:document_list", workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def passages_retry(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = document_queries.document_get(workspace=workspace, document_id=document_id)
    named = request.POST.get("chunk", "")
    chunk_ids = [_chunk_id(named)] if named else None
    try:
        unread_passages.passages_retry(workspace=workspace, document=document, chunk_ids=chunk_ids)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_detail", workspace.slug, document.pk)


def _chunk_id(named: str) -> UUID:
    try:
        return UUID(named)
    except ValueError as error:
        raise NotFoundError("There is no such passage in this document.") from error
