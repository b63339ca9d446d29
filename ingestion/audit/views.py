"""The audit page and its download."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from ingestion.audit import presenters
from kb_project.http.downloads import csv_response
from workspaces import audit
from workspaces.models import AuditAction, Capability, Workspace
from workspaces.pages import UserRequest, workspace_page


@workspace_page(Capability.ADMINISTER)
def audit_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = presenters.audit_context(workspace=workspace, query=request.GET)
    return render(request, "ingestion/audit/audit_list.html", context)


@workspace_page(Capability.ADMINISTER)
def audit_export(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = presenters.form_of(request.GET)
    rows = presenters.export_rows(workspace=workspace, wanted=form.filter)
    audit.record(
        AuditAction.AUDIT_EXPORTED,
        workspace=workspace,
        user=request.user,
        after={"entries": len(rows) - 1, **form.in_words},
    )
    return csv_response(f"audit-{workspace.slug}.csv", rows)
