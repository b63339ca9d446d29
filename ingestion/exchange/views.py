"""Pages to export the graph, and to import one."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render

from ingestion.exchange import exporting, importing, presenters
from ingestion.exchange.importing import choices_of
from ingestion.exchange.plans import Choices
from ingestion.exchange.records import Scope
from kb_project.errors import ConflictError, InputError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page

TRANSFER = "ingestion:graph_transfer"
MOST_ENTITIES: Final = 2000
LONGEST: Final = 300


@workspace_page(Capability.READ)
def graph_transfer(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.transfer_context(workspace=workspace, scope=_scope_of(request.GET))
    return render(request, "ingestion/exchange/transfer.html", context)


@workspace_page(Capability.READ)
def graph_export(request: UserRequest, workspace: Workspace) -> StreamingHttpResponse:
    return exporting.graph_export(
        workspace=workspace,
        user=request.user,
        format=request.GET.get("format", "graphml"),
        scope=_scope_of(request.GET),
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
    choices = _choices_given(request.GET) if "conflicts" in request.GET else None
    context = presenters.import_context(workspace=workspace, row=row, choices=choices)
    name = "import_state" if request.htmx else "import"
    return render(request, f"ingestion/exchange/{name}.html", context)


def _confirm(request: UserRequest, workspace: Workspace, import_id: UUID) -> HttpResponse:
    try:
        importing.import_confirm(
            workspace=workspace,
            user=request.user,
            import_id=import_id,
            choices=_choices_given(request.POST),
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


# --- what a request asks for ----------------------------------------------------------------------
def _scope_of(query: QueryDict) -> Scope:
    """Return the part to export. Raises InputError for what is no id."""
    ids = tuple(found for value in query.getlist("entity")[:MOST_ENTITIES] if (found := _id(value)))
    return Scope(
        document=_id(query.get("document", "")),
        topic=_id(query.get("topic", "")),
        entities=ids,
        type=query.get("type", "")[:LONGEST].replace("\0", "").strip(),
        text=query.get("q", "")[:LONGEST].replace("\0", "").strip(),
        certainty=query.get("certainty", ""),
        terms=query.get("terms") != "no",
    )


def _choices_given(query: QueryDict) -> Choices:
    return choices_of(
        {
            "conflicts": query.get("conflicts", ""),
            "makes_missing": query.get("makes_missing") == "yes",
        }
    )


def _id(text: str) -> UUID | None:
    if not text:
        return None
    if found := id_in(text):
        return found
    raise InputError(
        "The address names a document, topic or entity that does not exist.",
        code="invalid_id",
        kept="Nothing was exported.",
        next_step="Choose what to export on the page.",
    )
