"""Pages of documents: the list, one document, its versions, the trash, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.documents import (
    archive,
    estimates,
    forms,
    lifecycle,
    metadata,
    presenters,
    queries,
    reader,
    rereading,
    services,
    trial_reading,
    version_presenters,
    versions,
)
from ingestion.history import sentences
from ingestion.knowledge import insights, summaries
from ingestion.models import Document, HistoryEvent
from kb_project.errors import (
    ConflictError,
    NotFoundError,
    ParseError,
    PauseError,
    UploadError,
)
from workspaces import access
from workspaces.language_models.queries import model_state
from workspaces.models import DELETE_FOR_GOOD, Capability, Workspace
from workspaces.pages import UserRequest, refusals_shown, workspace_page

# A version's page picture never changes, but which version is live does.
PICTURE_CACHE: Final = "private, max-age=86400, immutable"
LIVE_PICTURE_CACHE: Final = "private, no-cache"
PAGE_SIZE: Final = 50
DETAIL: Final = "ingestion:document_detail"
LIST: Final = "ingestion:document_list"
TRASH: Final = "ingestion:trash"

Act = Callable[..., HistoryEvent]


@workspace_page(Capability.READ)
def document_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.document_page(
        workspace=workspace,
        text=forms.words_of(request.GET, "q"),
        state=forms.state_of(request.GET),
        alone="alone" in request.GET,
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
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_retry(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    with refusals_shown(request):
        services.document_retry(workspace=workspace, document=document)
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_cancel(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    with refusals_shown(request):
        services.document_cancel(workspace=workspace, document=document)
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def documents_retry(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.documents_retry(workspace=workspace)
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def work_resume(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.work_resume(workspace=workspace)
    return redirect(LIST, workspace.slug)


@transaction.non_atomic_requests
@workspace_page(Capability.EDIT, "POST")
def document_estimate(request: UserRequest, workspace: Workspace) -> HttpResponse:
    files, others = request.FILES.getlist("file"), forms.files_of(request.POST)
    estimate = trial_reading.uploads_estimate(workspace=workspace, files=files, others=others)
    context = {"estimate": estimate, "sentences": estimates.sentences(estimate)}
    return render(request, "ingestion/upload_estimate.html", context)


@workspace_page(Capability.READ)
def document_detail(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    row = queries.document_row(workspace=workspace, document_id=document_id)
    number = forms.number(request.GET, "version")
    version = queries.version_get(workspace=workspace, document=row.document, number=number)
    place = forms.place_of(request.GET)
    reading = presenters.reader_page(
        workspace=workspace, version=version, place=place, is_panel=bool(request.htmx)
    )
    context = {"workspace": workspace, "section": "documents", "document": row.document}
    context |= {"row": row, "version": version, "shown": reading}
    context["earlier"] = version_presenters.earlier_of(workspace, version, place.span)
    if request.htmx:
        return render(request, "ingestion/document_panel.html", context)
    context["alone"] = insights.names_alone(workspace=workspace, document_id=row.document.pk)
    context["spent"] = presenters.document_spent(workspace=workspace, document=row.document)
    context["may_write"] = workspace.may(Capability.EDIT)
    context["entities"] = queries.entities_in(workspace=workspace, document=row.document, most=24)
    context["summary"] = summaries.tree_shown(workspace=workspace, document=row.document)
    if not context["earlier"]:
        context["short"] = summaries.in_short(workspace=workspace, version=version)
    return render(request, "ingestion/document_detail.html", context)


@workspace_page(Capability.READ)
def page_picture(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = _document(workspace, document_id)
    given = forms.number(request.GET, "version")
    version = queries.version_get(workspace=workspace, document=document, number=given)
    picture = reader.page_picture(version=version, number=number)
    cache = LIVE_PICTURE_CACHE if given is None else PICTURE_CACHE
    return HttpResponse(picture, "image/png", headers={"Cache-Control": cache})


@workspace_page(Capability.EDIT, "GET", "POST")
def read_again(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Render what reading again would cost (GET), or do it (POST)."""
    if request.method != "POST":
        return render(request, "ingestion/read_again_notice.html", {"workspace": workspace})
    try:
        number = rereading.documents_read_again(workspace=workspace)
    except PauseError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, rereading.reread_sentence(number))
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def passages_retry(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    named = request.POST.get("chunk", "")
    try:
        chunk_ids = [UUID(named)] if named else None
    except ValueError as error:
        raise NotFoundError("There is no such passage in this document.") from error
    with refusals_shown(request):
        rereading.passages_retry(workspace=workspace, document=document, chunk_ids=chunk_ids)
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def version_add(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    file = request.FILES.get("file")
    if file is None:
        messages.warning(request, "Choose the file that holds the new version.")
        return redirect(DETAIL, workspace.slug, document.pk)
    with refusals_shown(request):
        version = versions.document_replace(
            change=forms.change_of(request, workspace),
            document=document,
            file=file,
            name=file.name or "",
        )
        messages.success(request, f"Version {version.number} was added.")
    return redirect(DETAIL, workspace.slug, document.pk)


@transaction.non_atomic_requests
@workspace_page(Capability.EDIT, "POST")
def version_estimate(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    """Say what the chosen file would cost as the next version; no transaction is open while it is
    read.
    """
    file = request.FILES.get("file")
    said = ["Choose the file that holds the new version."]
    if file is not None:
        try:
            estimate = trial_reading.replacement_estimate(
                workspace=workspace, document_id=document_id, file=file, name=file.name or ""
            )
            said = estimates.sentences(estimate)
        except (ConflictError, ParseError, UploadError) as error:
            said = [error.sentence]
    if request.htmx:
        return render(request, "ingestion/version_estimate.html", {"sentences": said})
    messages.info(request, " ".join(said))
    return redirect(DETAIL, workspace.slug, document_id)


@workspace_page(Capability.EDIT, "POST")
def version_restore(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = _document(workspace, document_id)
    with refusals_shown(request):
        event = versions.document_revert(
            change=forms.change_of(request, workspace), document=document, number=number
        )
        sentences.add_toast(request, workspace, event)
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.READ)
def version_changes(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    document = _document(workspace, document_id)
    version = queries.version_get(workspace=workspace, document=document, number=number)
    context = {"workspace": workspace, "section": "documents", "document": document}
    context["version"] = version
    context["shown"] = version_presenters.shown_changes(workspace, version)
    return render(request, "ingestion/version_changes.html", context)


@workspace_page(Capability.READ)
def version_progress(
    request: UserRequest, workspace: Workspace, document_id: UUID, number: int
) -> HttpResponse:
    """Render the notice that a version is being read, which polls until it is."""
    document = _document(workspace, document_id)
    version = queries.version_get(workspace=workspace, document=document, number=number)
    context = {"workspace": workspace, "document": document, "awaited": version.number}
    context["reading"] = queries.versions_unread(workspace=workspace, document_id=document.pk)
    return render(request, "ingestion/version_progress.html", context)


@workspace_page(Capability.READ)
def trash(request: UserRequest, workspace: Workspace) -> HttpResponse:
    pages = Paginator(queries.trashed(workspace=workspace), PAGE_SIZE)
    page = pages.get_page(request.GET.get("page", ""))
    context = {"workspace": workspace, "section": "documents", "page": page}
    context["rows"] = queries.trash_rows(workspace=workspace, documents=list(page))
    context |= {"days": settings.TRASH_DAYS, "may_write": workspace.may(Capability.EDIT)}
    return render(request, "ingestion/life/trash.html", context)


@workspace_page(Capability.EDIT, "POST")
def document_edit(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    document = _document(workspace, document_id)
    with refusals_shown(request):
        values = forms.document_values(request.POST)
        event = metadata.document_edit(
            change=forms.change_of(request, workspace), document=document, **values
        )
        sentences.add_toast(request, workspace, event)
    return redirect(DETAIL, workspace.slug, document.pk)


@workspace_page(Capability.EDIT, "POST")
def document_disable(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    _do(request, workspace, lifecycle.documents_disable, [_document(workspace, document_id)])
    return redirect(DETAIL, workspace.slug, document_id)


@workspace_page(Capability.EDIT, "POST")
def document_enable(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    _do(request, workspace, lifecycle.documents_enable, [_document(workspace, document_id)])
    return redirect(DETAIL, workspace.slug, document_id)


@workspace_page(Capability.EDIT, "POST")
def document_trash(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    _do(request, workspace, lifecycle.documents_trash, [_document(workspace, document_id)])
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def documents_trash(request: UserRequest, workspace: Workspace) -> HttpResponse:
    _do_with_chosen(request, workspace, lifecycle.documents_trash)
    return redirect(LIST, workspace.slug)


@workspace_page(Capability.EDIT, "POST")
def document_restore(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    _do(request, workspace, lifecycle.documents_restore, [_document(workspace, document_id)])
    return redirect(DETAIL, workspace.slug, document_id)


@workspace_page(Capability.EDIT, "POST")
def trash_restore(request: UserRequest, workspace: Workspace) -> HttpResponse:
    _do_with_chosen(request, workspace, lifecycle.documents_restore)
    return redirect(TRASH, workspace.slug)


@workspace_page(Capability.EDIT, "GET", "POST")
def document_delete(request: UserRequest, workspace: Workspace, document_id: UUID) -> HttpResponse:
    return _for_good(request, workspace, [_document(workspace, document_id)])


@workspace_page(Capability.EDIT, "GET", "POST")
def trash_empty(request: UserRequest, workspace: Workspace) -> HttpResponse:
    documents = list(queries.trashed(workspace=workspace))
    if not documents:
        messages.info(request, "Nothing is left in the trash.")
        return redirect(TRASH, workspace.slug)
    return _for_good(request, workspace, documents)


def _for_good(
    request: UserRequest, workspace: Workspace, documents: Sequence[Document]
) -> HttpResponse:
    """Show the consequences first (GET), then delete (POST)."""
    access.check_right(workspace, DELETE_FOR_GOOD)
    if request.method == "POST":
        _do(request, workspace, lifecycle.documents_delete, documents, is_final=True)
        return redirect(TRASH, workspace.slug)
    found = archive.losses_of(workspace=workspace, documents=[one.pk for one in documents])
    context = {"workspace": workspace, "section": "documents", "documents": documents}
    context["sentence"] = archive.for_good(documents, found)
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
    with refusals_shown(request):
        event = act(change=forms.change_of(request, workspace), documents=documents)
        if is_final:
            messages.success(request, sentences.toast_text(event))
        else:
            sentences.add_toast(request, workspace, event)
        for note in archive.notes_on_return(event):
            messages.info(request, note)


def _do_with_chosen(request: UserRequest, workspace: Workspace, act: Act) -> None:
    """Apply the change to the chosen documents; ones deleted meanwhile are reported and skipped."""
    ids = forms.ids_of(request.POST, "ids")
    if not ids:
        messages.warning(request, "Choose one document or more first. Nothing was changed.")
        return
    documents = queries.documents_there(workspace=workspace, ids=ids)
    if gone := len(ids) - len(documents):
        verb = "no longer exists" if gone == 1 else "no longer exist"
        messages.info(request, f"{gone:,} of the selected documents {verb}.")
    if documents:
        _do(request, workspace, act, documents)


def _document(workspace: Workspace, document_id: UUID) -> Document:
    return queries.document_get(workspace=workspace, document_id=document_id)
