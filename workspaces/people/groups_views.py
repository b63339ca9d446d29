"""Pages of groups."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from kb_project.errors import ConflictError, InputError, KBError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page
from workspaces.people import groups, queries


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def group_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context: dict[str, object] = {"workspace": workspace, "section": "members"}
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            group = groups.group_create(workspace=workspace, user=request.user, name=name)
        except (InputError, ConflictError) as error:
            context |= {"problem": error, "name": name[: groups.NAME_LENGTH]}
        else:
            return redirect("workspaces:group_detail", workspace.slug, group.pk)
    context["groups"] = groups.groups_of(workspace=workspace)
    return render(request, "workspaces/group_list.html", context)


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def group_detail(request: UserRequest, workspace: Workspace, group_id: UUID) -> HttpResponse:
    view = groups.group_view(workspace=workspace, group_id=group_id)
    problem: KBError | None = None
    if request.method == "POST":
        try:
            groups.group_change(
                workspace=workspace,
                user=request.user,
                group_id=group_id,
                name=request.POST.get("name", ""),
                members=_ids(request.POST.getlist("members")),
            )
        except (InputError, ConflictError) as error:
            problem = error
        else:
            messages.success(request, "Group saved.")
            return redirect("workspaces:group_list", workspace.slug)
    context = {
        "workspace": workspace,
        "section": "members",
        "group": view.group,
        "chosen": {one.pk for one in view.members},
        "members": queries.members_of(workspace=workspace),
        "problem": problem,
    }
    return render(request, "workspaces/group_detail.html", context)


@workspace_page(Capability.ADMINISTER, "POST")
def group_delete(request: UserRequest, workspace: Workspace, group_id: UUID) -> HttpResponse:
    groups.group_delete(workspace=workspace, user=request.user, group_id=group_id)
    messages.success(request, "Group deleted. Its members stay in the workspace.")
    return redirect("workspaces:group_list", workspace.slug)


def _ids(given: list[str]) -> list[UUID]:
    ids = [id_in(one) for one in given]
    if None in ids:
        raise InputError("Choose members from the list.", kept="Nothing was changed.")
    return [one for one in ids if one]
