"""Pages of workspaces and their members, and the list of workspaces on every page."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from kb_project.errors import KBError
from workspaces.models import Capability, Role, Workspace
from workspaces.pages import UserRequest, workspace_page
from workspaces.people import queries as people_queries, services as people_services

ROLES: Final = [(role.label, Capability(role.capabilities[-1]).label) for role in Role]


class WorkspaceForm(forms.Form):
    name = forms.CharField(max_length=120, label="Name")
    slug = forms.SlugField(
        max_length=60,
        required=False,
        label="Address",
        help_text="Letters, numbers and hyphens. Left empty, it is made from the name.",
    )


@login_required
@require_GET
def workspace_list(request: UserRequest) -> HttpResponse:
    return render(request, "workspaces/workspace_list.html")


@login_required
@require_http_methods(["GET", "POST"])
def workspace_create(request: UserRequest) -> HttpResponse:
    form = WorkspaceForm(request.POST or None)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        try:
            workspace = people_services.workspace_create(owner=request.user, **form.cleaned_data)
        except KBError as error:
            context["problem"] = error
        else:
            return redirect("ingestion:document_list", workspace.slug)
    return render(request, "workspaces/workspace_create.html", context)


@workspace_page(Capability.READ, at_source=True)
def member_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    members = people_queries.members_of(workspace=workspace)
    context = {"workspace": workspace, "section": "members", "members": members, "roles": ROLES}
    return render(request, "workspaces/member_list.html", context)


def navigation(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {"my_workspaces": people_queries.workspaces_of(user=user)}
