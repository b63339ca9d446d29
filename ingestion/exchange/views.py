"""Pages to export the graph, and to import one."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render

from ingestion.exchange import exporting, forms, importing, presenters
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page

TRANSFER = "ingestion:graph_transfer"


@workspace_page(Capability.READ)
def graph_transfer(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.transfer_context(workspace=workspace, scope=forms.scope_of(request.GET))
    return render(request, "ingestion/exchange/transfer.html", context)


@workspace_page(Capability.READ)
def graph_export(request: UserRequest, workspace: Workspace) -> StreamingHttpResponse:
    return exporting.graph_export(
        workspace=workspace,
        user=request.user,
        format=request.GET.get("format", "graphml"),
        scope=forms.scope_of(request.GET),
    )


@workspace_page(Capability.CURATE, "POST")
def graph_imports(request: UserRequest, workspace: Workspace) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        messages.warning(request, "Choose a file to import.")
        return redirect(TRANSFER, workspace.slug)
    try:
        row = importing.import_upload(
            workspace=workspace, user=request.user, file=file, name=file.name or "", via="page"
        )
    except InputError as error:
        messages.error(request, error.sentence)
        return redirect(TRANSFER, workspace.slug)
    return redirect("ingestion:graph_import", workspace.slug, row.pk)


@workspace_page(Capability.CURATE, "GET", "POST")
def graph_import(request: UserRequest, workspace: Workspace, import_id: UUID) -> HttpResponse:
    """Preview an import and confirm it; afterwards, show how it goes."""
    if request.method == "POST":
        return _confirm(request, workspace, import_id)
    row = importing.import_get(workspace=workspace, import_id=import_id)
    choices = forms.choices_given(request.GET) if "conflicts" in request.GET else None
    context = presenters.import_context(workspace=workspace, row=row, choices=choices)
    name = "import_state" if request.htmx else "import"
    return render(request, f"ingestion/exchange/{name}.html", context)


def _confirm(request: UserRequest, workspace: Workspace, import_id: UUID) -> HttpResponse:
    try:
        importing.import_confirm(
            workspace=workspace,
            user=request.user,
            import_id=import_id,
            choices=forms.choices_given(request.POST),
            reason=request.POST.get("reason", ""),
        )
    except ConflictError as error:
        messages.warning(request, error.sentence)
    return redirect("ingestion:graph_import", workspace.slug, import_id)


@workspace_page(Capability.CURATE, "POST")
def graph_import_discard(
    request: UserRequest, workspace: Workspace, import_id: UUID
) -> HttpResponse:
    try:
        importing.import_discard(workspace=workspace, import_id=import_id)
    except ConflictError as error:
        messages.warning(request, error.sentence)
        return redirect("ingestion:graph_import", workspace.slug, import_id)
    messages.success(request, "The file was discarded. Nothing was imported.")
    return redirect(TRANSFER, workspace.slug)
