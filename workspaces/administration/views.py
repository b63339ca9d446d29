"""Pages of a workspace's settings, its exports and its deletion."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from kb_project.errors import KBError, NotFoundError
from kb_project.text.languages import LANGUAGES
from workspaces import access
from workspaces.administration import services
from workspaces.administration.services import FIELDS
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, workspace_page
from workspaces.people.services import NAME_LENGTH, SLUG_LENGTH

SETTINGS = "workspaces:workspace_settings"


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, label="Name")
    slug = forms.SlugField(
        max_length=SLUG_LENGTH,
        label="Address",
        help_text="Letters, numbers and hyphens. Links to the last five addresses keep working.",
    )
    document_language = forms.ChoiceField(
        choices=tuple(LANGUAGES.items()),
        label="Default language of documents",
        help_text="For documents whose language can't be detected, such as lists of names.",
    )
    editors_invite = forms.BooleanField(
        required=False, label="Editors and curators may invite people, up to their own role"
    )
    editors_delete = forms.BooleanField(
        required=False, label="Editors and curators may delete documents for good"
    )
    viewers_export = forms.BooleanField(
        required=False, label="Viewers may download evaluations, question sets and the graph"
    )


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def workspace_settings(request: UserRequest, workspace: Workspace) -> HttpResponse:
    if request.method != "POST":
        return _page(request, workspace)
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return _page(request, workspace, form=form)
    try:
        services.settings_update(workspace=workspace, user=request.user, **form.cleaned_data)
    except KBError as error:
        return _page(request, workspace, form=form, problem=error)
    messages.success(request, "Settings saved.")
    return redirect(SETTINGS, workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def export_request(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        services.export_request(workspace=workspace, user=request.user)
    except KBError as error:
        return _page(request, workspace, problem=error)
    messages.success(request, "The export is being prepared. It appears here when it is ready.")
    return redirect(SETTINGS, workspace.slug)


@workspace_page(Capability.ADMINISTER)
def export_download(
    request: UserRequest, workspace: Workspace, export_id: UUID
) -> HttpResponseBase:
    return services.export_download(workspace=workspace, user=request.user, export_id=export_id)


@workspace_page(Capability.OWN, "GET", "POST")
def workspace_delete(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context: dict[str, object] = {
        "workspace": workspace,
        "section": "settings",
        "days": settings.WORKSPACE_DELETION_DAYS,
        "typed": request.POST.get("name", ""),
    }
    if request.method == "POST":
        try:
            services.workspace_delete(
                workspace=workspace, user=request.user, name=request.POST.get("name", "")
            )
        except KBError as error:
            context["problem"] = error
        else:
            return redirect("workspaces:workspace_deleted", workspace.pk)
    return render(request, "workspaces/workspace_delete.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def workspace_deleted(request: UserRequest, workspace_id: str) -> HttpResponse:
    """Show a deleted workspace to its owner (GET); restore it (POST)."""
    try:
        workspace = access.deleted_workspace(user=request.user, workspace_id=workspace_id)
    except NotFoundError:
        # It may have been restored meanwhile.
        access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        return redirect("retrieval:home", workspace_id)
    if request.method == "POST":
        services.workspace_restore(workspace=workspace, user=request.user)
        messages.success(request, f"{workspace.name} is open again, as it was.")
        return redirect("retrieval:home", workspace.slug)
    return render(request, "workspaces/workspace_deleted.html", {"deleted": workspace})


def _page(
    request: UserRequest,
    workspace: Workspace,
    *,
    form: SettingsForm | None = None,
    problem: KBError | None = None,
) -> HttpResponse:
    context = {
        "workspace": workspace,
        "section": "settings",
        "form": form or SettingsForm(initial={name: getattr(workspace, name) for name in FIELDS}),
        "exports": services.exports_of(workspace=workspace),
        "export_days": settings.EXPORT_DAYS,
        "deletion_days": settings.WORKSPACE_DELETION_DAYS,
        "is_owner": workspace.may(Capability.OWN),
        "problem": problem,
    }
    return render(request, "workspaces/settings.html", context)
