"""The health page, for admins of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from ingestion.documents.presenters import reader_url
from ingestion.health import services
from ingestion.health.queries import health
from ingestion.models import Chunk, Community, Document, Entity
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page


@workspace_page(Capability.ADMINISTER)
def health_page(request: UserRequest, workspace: Workspace) -> HttpResponse:
    found = health(workspace=workspace)
    context = {
        "workspace": workspace,
        "section": "health",
        "health": found,
        "drifts": with_links(workspace, found.check.drifts if found.check else ()),
    }
    return render(request, "ingestion/health.html", context)


@workspace_page(Capability.ADMINISTER, "POST")
def health_check(request: UserRequest, workspace: Workspace) -> HttpResponse:
    repairs = request.POST.get("repair") == "yes"
    services.check_request(workspace=workspace, user=request.user, repairs=repairs, is_deep=True)
    messages.success(request, "The workspace is being checked. You can leave this page.")
    return redirect("ingestion:health", workspace.slug)


def with_links(workspace: Workspace, drifts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add ``examples`` to stored drifts: ``[(sample, address), …]``, '' where it has no page."""
    found = list(drifts)
    samples = {sample for drift in found for sample in drift["samples"]}
    addresses = dict(_addresses(workspace, [one for one in samples if id_in(one)]))
    return [
        {**drift, "examples": [(one, addresses.get(one, "")) for one in drift["samples"]]}
        for drift in found
    ]


def _addresses(workspace: Workspace, ids: list[str]) -> Iterator[tuple[str, str]]:
    pages = ((Document, "document"), (Entity, "entity"), (Community, "community"))
    for model, name in pages:
        rows = model.objects.in_workspace(workspace).filter(pk__in=ids)
        for pk in rows.values_list("pk", flat=True):
            yield str(pk), reverse(f"ingestion:{name}_detail", args=[workspace.slug, pk])
    chunks = Chunk.objects.in_workspace(workspace).filter(pk__in=ids)
    for pk, document_id, start, end in chunks.values_list("pk", "document_id", "start", "end"):
        yield str(pk), reader_url(workspace, document_id, start=start, end=end)
