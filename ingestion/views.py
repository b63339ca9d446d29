"""Pages about documents, and what was found in them."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from ingestion import (
    estimate_words,
    forms,
    pictures,
    selectors,
    services,
    shown,
    shown_versions,
)
from kb_project.errors import ConflictError
from workspaces import access
from workspaces.models import Capability
from workspaces.requests import UserRequest
from workspaces.selectors import model_state

# The picture of a version's page never changes; which version is the live one does.
PICTURE_CACHE: Final = "private, max-age=86400, immutable"
LIVE_PICTURE_CACHE: Final = "private, no-cache"


@login_required
@require_GET
def document_list(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    context = shown.document_page(
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


@login_required
@require_POST
def document_upload(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
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


@login_required
@require_POST
def document_retry(request: UserRequest, workspace_id: str, document_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    document = selectors.document_get(workspace=workspace, document_id=document_id)
    try:
        services.document_retry(workspace=workspace, document=document)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_list", workspace.slug)


@login_required
@require_POST
def document_cancel(request: UserRequest, workspace_id: str, document_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    document = selectors.document_get(workspace=workspace, document_id=document_id)
    try:
        services.document_cancel(workspace=workspace, document=document)
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:document_list", workspace.slug)


@login_required
@require_POST
def documents_retry(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    services.documents_retry(workspace=workspace)
    return redirect("ingestion:document_list", workspace.slug)


@login_required
@require_POST
def work_resume(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    services.work_resume(workspace=workspace)
    return redirect("ingestion:document_list", workspace.slug)


@login_required
@require_POST
def document_estimate(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_writing(user=request.user, workspace_id=workspace_id)
    files = forms.files_of(request.POST)
    estimate = selectors.estimate_for_files(workspace=workspace, files=files)
    sentences = estimate_words.sentences(estimate)
    context = {"workspace": workspace, "estimate": estimate, "sentences": sentences}
    return render(request, "ingestion/upload_estimate.html", context)


@login_required
@require_GET
def document_detail(request: UserRequest, workspace_id: str, document_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    row = selectors.document_row(workspace=workspace, document_id=document_id)
    number = forms.number(request.GET, "version")
    version = selectors.version_asked(workspace=workspace, document=row.document, number=number)
    place = forms.place_of(request.GET)
    reading = shown.shown_reading(
        workspace=workspace, version=version, place=place, is_panel=bool(request.htmx)
    )
    context = {"workspace": workspace, "section": "documents", "document": row.document}
    context |= {"row": row, "version": version, "shown": reading}
    context["earlier"] = shown_versions.earlier_of(workspace, version, place.span)
    if request.htmx:
        return render(request, "ingestion/document_panel.html", context)
    context["spent"] = shown.document_spent(workspace=workspace, document=row.document)
    context["may_write"] = shown.may(workspace, Capability.EDIT)
    context["entities"] = selectors.entities_in(workspace=workspace, document=row.document, most=24)
    context["summary"] = selectors.tree_shown(workspace=workspace, document=row.document)
    if not context["earlier"]:
        context["short"] = selectors.in_short(workspace=workspace, version=version)
    return render(request, "ingestion/document_detail.html", context)


@login_required
@require_GET
def page_picture(
    request: UserRequest, workspace_id: str, document_id: UUID, number: int
) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    document = selectors.document_get(workspace=workspace, document_id=document_id)
    given = forms.number(request.GET, "version")
    version = selectors.version_asked(workspace=workspace, document=document, number=given)
    picture = pictures.page_picture(version=version, number=number)
    cache = LIVE_PICTURE_CACHE if given is None else PICTURE_CACHE
    return HttpResponse(picture, "image/png", headers={"Cache-Control": cache})


@login_required
@require_GET
def entity_list(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    text = forms.words_of(request.GET, "q")
    type_name = forms.words_of(request.GET, "type")
    page = shown.entity_page(
        workspace=workspace, text=text, type_name=type_name, number=request.GET.get("page", "")
    )
    context = {"workspace": workspace, "section": "entities", "page": page}
    context |= {"text": text, "type": type_name}
    context["types"] = selectors.entity_types(workspace=workspace)
    if not type_name and not text:
        context["terms"] = selectors.terms_count(workspace=workspace)
    return render(request, "ingestion/entity_list.html", context)


@login_required
@require_GET
def community_list(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    context = {"workspace": workspace, "section": "topics"}
    context |= {"tree": selectors.topic_tree(workspace=workspace)}
    context |= shown.unwritten(workspace)
    return render(request, "ingestion/community_list.html", context)


@login_required
@require_GET
def community_detail(request: UserRequest, workspace_id: str, community_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    view = selectors.topic_view(workspace=workspace, community_id=community_id)
    tree = selectors.topic_tree(workspace=workspace)
    context = {"workspace": workspace, "section": "topics", "view": view, "tree": tree}
    context["trail"] = shown.topic_trail(tree, community_id)[:-1]
    context |= shown.unwritten(workspace, view) | {"summary": shown.numbered(view.summary)}
    return render(request, "ingestion/community_list.html", context)


@login_required
@require_POST
def report_retry(request: UserRequest, workspace_id: str, community_id: UUID) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    community = selectors.community_get(workspace=workspace, community_id=community_id)
    try:
        services.report_retry(workspace=workspace, community=community)
        messages.success(request, "The report is being written again.")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:community_detail", workspace.slug, community.pk)


@login_required
@require_POST
def reports_retry(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
    try:
        services.reports_retry(workspace=workspace)
        messages.success(request, "The reports are being written again.")
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:community_list", workspace.slug)
