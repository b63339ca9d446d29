"""Pages of workspaces, their members and groups, and the list of workspaces on every page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from kb_project import mail
from kb_project.errors import ConflictError, ForbiddenError, InputError, KBError, LimitError
from workspaces import access
from workspaces.models import INVITE, Capability, Role, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page
from workspaces.people import (
    invitations,
    inviting,
    members,
    profiles,
    queries,
    services,
)
from workspaces.people.forms import (
    EmailInvitationForm,
    LinkInvitationForm,
    ProfileForm,
    RoleForm,
    WorkspaceForm,
    profile_form,
)
from workspaces.people.inviting import Issued, Wanted

ROLES: Final = [(role.label, Capability(role.capabilities[-1]).label) for role in Role]
MEMBERS: Final = "workspaces:member_list"
LIST: Final = "workspaces:workspace_list"


# --- workspaces -----------------------------------------------------------------------------------
@login_required
@require_GET
def workspace_list(request: UserRequest) -> HttpResponse:
    context = {"invitation": invitations.invitation_in(request.session)}
    return render(request, "workspaces/workspace_list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def workspace_create(request: UserRequest) -> HttpResponse:
    form = WorkspaceForm(request.POST or None)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        try:
            workspace = services.workspace_create(owner=request.user, **form.cleaned_data)
        except KBError as error:
            context["problem"] = error
        else:
            return redirect("ingestion:document_list", workspace.slug)
    return render(request, "workspaces/workspace_create.html", context)


# --- members --------------------------------------------------------------------------------------
@workspace_page(Capability.READ, at_source=True)
def member_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    return _member_page(request, workspace)


@workspace_page(Capability.ADMINISTER, "POST")
def role_set(request: UserRequest, workspace: Workspace, member_id: UUID) -> HttpResponse:
    form = RoleForm(request.POST, rank=Role.OWNER.rank)
    if not form.is_valid():
        return _member_page(request, workspace, problem=_no_role())
    try:
        member = members.role_set(
            workspace=workspace, user=request.user, member_id=member_id, role=form.given_role
        )
    except KBError as error:
        return _member_page(request, workspace, problem=error)
    messages.success(request, f"{member.user} is {member.role_with_article} now.")
    return redirect(MEMBERS, workspace.slug)


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def member_remove(request: UserRequest, workspace: Workspace, member_id: UUID) -> HttpResponse:
    member = queries.member(workspace=workspace, member_id=member_id)
    if member.user_id == request.user.pk:
        return redirect("workspaces:member_leave", workspace.slug)

    def act() -> HttpResponse:
        members.member_remove(workspace=workspace, user=request.user, member_id=member_id)
        messages.success(request, f"{member.user} was removed. Their work stays.")
        return redirect(MEMBERS, workspace.slug)

    words = {
        "title": f"Remove {member.user}?",
        "text": f"{member.user} loses access to {workspace.name} at once, on pages and in the API."
        " What they added, asked and decided stays. Invitations they sent, and links that several"
        " people can use, stop working.",
        "button": "Remove",
    }
    return _confirmed(request, workspace, act, words)


@workspace_page(Capability.OWN, "GET", "POST")
def ownership_transfer(request: UserRequest, workspace: Workspace, member_id: UUID) -> HttpResponse:
    member = queries.member(workspace=workspace, member_id=member_id)

    def act() -> HttpResponse:
        members.ownership_transfer(workspace=workspace, user=request.user, member_id=member_id)
        messages.success(request, f"{member.user} owns {workspace.name} now. You are admin.")
        return redirect(MEMBERS, workspace.slug)

    words = {
        "title": f"Transfer {workspace.name} to {member.user}?",
        "text": f"{member.user} becomes owner and you become admin. Only an owner can give you the"
        " role back.",
        "button": "Transfer ownership",
    }
    return _confirmed(request, workspace, act, words)


@workspace_page(Capability.READ, "GET", "POST", at_source=True)
def member_leave(request: UserRequest, workspace: Workspace) -> HttpResponse:
    def act() -> HttpResponse:
        members.member_leave(workspace=workspace, user=request.user)
        messages.success(request, f"You left {workspace.name}.")
        return redirect(LIST)

    words = {
        "title": f"Leave {workspace.name}?",
        "text": "You lose access at once. What you added, asked and decided stays. To come back,"
        " you need a new invitation.",
        "button": "Leave workspace",
    }
    return _confirmed(request, workspace, act, words)


# --- inviting -------------------------------------------------------------------------------------
@transaction.non_atomic_requests
@workspace_page(Capability.READ, "POST", at_source=True)
def member_invite(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Invite by e-mail, or make a link; no transaction is open while the mail server answers."""
    kind = EmailInvitationForm if "email" in request.POST else LinkInvitationForm
    form = kind(request.POST, rank=Role.OWNER.rank)
    if not form.is_valid():
        name = "email_form" if kind is EmailInvitationForm else "link_form"
        return _page_after(request, workspace, **{name: form})
    wanted = Wanted(
        form.given_role,
        form.cleaned_data.get("email", ""),
        form.cleaned_data.get("is_reusable", False),
    )
    return _issued_page(
        request,
        workspace,
        lambda: inviting.invite(
            workspace=workspace, user=request.user, wanted=wanted, host=inviting.host_of(request)
        ),
    )


@transaction.non_atomic_requests
@workspace_page(Capability.READ, "POST", at_source=True)
def invitation_renew(
    request: UserRequest, workspace: Workspace, invitation_id: UUID
) -> HttpResponse:
    return _issued_page(
        request,
        workspace,
        lambda: inviting.invitation_renew(
            workspace=workspace,
            user=request.user,
            invitation_id=invitation_id,
            host=inviting.host_of(request),
        ),
    )


@workspace_page(Capability.READ, "POST", at_source=True)
def invitation_revoke(
    request: UserRequest, workspace: Workspace, invitation_id: UUID
) -> HttpResponse:
    try:
        inviting.invitation_revoke(
            workspace=workspace, user=request.user, invitation_id=invitation_id
        )
    except KBError as error:
        _raise_if_refused(error)
        return _member_page(request, workspace, problem=error)
    messages.success(request, "The invitation was revoked. Its link no longer works.")
    return redirect(MEMBERS, workspace.slug)


def _issued_page(
    request: UserRequest, workspace: Workspace, issue: Callable[[], Issued]
) -> HttpResponse:
    """Show the page with the new link: the only time it can be seen."""
    try:
        issued = issue()
    except KBError as error:
        _raise_if_refused(error)
        return _page_after(request, workspace, problem=error)
    return _page_after(request, workspace, issued=issued)


def _raise_if_refused(error: KBError) -> None:
    """Who may not invite, or not yet, gets the page of a refusal; all others learn why beside the
    form.
    """
    if error.code == ForbiddenError.default_code or isinstance(error, LimitError):
        raise error


def _page_after(request: UserRequest, workspace: Workspace, **more: Any) -> HttpResponse:
    """Render the page in a transaction, for views that have none open."""
    with transaction.atomic():
        again = access.workspace_for_reading(
            user=request.user, workspace_id=workspace.pk, at_source=True
        )
        return _member_page(request, again, **more)


def _member_page(
    request: UserRequest, workspace: Workspace, *, problem: KBError | None = None, **more: Any
) -> HttpResponse:
    rank = members.rank_of(workspace, request.user)
    context: dict[str, Any] = {
        "workspace": workspace,
        "section": "members",
        "members": queries.members_of(workspace=workspace),
        "roles": ROLES,
        "rank": rank,
        "role_choices": [role for role in Role if role.rank <= rank],
        "may_administer": workspace.may(Capability.ADMINISTER),
        "may_invite": workspace.allows(INVITE),
        "problem": problem,
    }
    if context["may_invite"]:
        context["invitations"] = inviting.open_invitations(workspace=workspace)
        context["email_form"] = EmailInvitationForm(rank=rank, auto_id="by_email_%s")
        context["link_form"] = LinkInvitationForm(rank=rank, auto_id="by_link_%s")
    response = render(request, "workspaces/member_list.html", context | more)
    response.headers["Cache-Control"] = "no-store"
    return response


def _no_role() -> KBError:
    return InputError(
        "Choose one of the roles.", kept="Nothing was changed.", next_step="Try again."
    )


def _confirmed(
    request: UserRequest,
    workspace: Workspace,
    act: Callable[[], HttpResponse],
    words: dict[str, str],
) -> HttpResponse:
    """Ask first (GET), then act (POST), and show why not if it is refused."""
    context: dict[str, object] = {"workspace": workspace, "section": "members", **words}
    if request.method == "POST":
        try:
            return act()
        except KBError as error:
            context["problem"] = error
    return render(request, "workspaces/member_confirm.html", context)


# --- profile --------------------------------------------------------------------------------------
@login_required
@require_http_methods(["GET", "POST"])
def profile(request: UserRequest) -> HttpResponse:
    form = ProfileForm(request.POST) if request.method == "POST" else profile_form(request.user)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        try:
            profiles.profile_update(user=request.user, **form.cleaned_data)
        except KBError as error:
            context["problem"] = error
        else:
            messages.success(request, "Profile saved.")
            return redirect("workspaces:profile")
    return render(request, "workspaces/profile.html", context)


def navigation(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"has_mail": mail.is_set_up()}
    found = queries.workspaces_of(user=user)
    return {
        "has_mail": mail.is_set_up(),
        "my_workspaces": [one for one in found if not one.is_deleted],
        "my_deleted_workspaces": [one for one in found if one.is_deleted],
    }


# --- groups ---------------------------------------------------------------------------------------
@workspace_page(Capability.ADMINISTER, "GET", "POST")
def group_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context: dict[str, object] = {"workspace": workspace, "section": "members"}
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            group = members.group_create(workspace=workspace, user=request.user, name=name)
        except (InputError, ConflictError) as error:
            context |= {"problem": error, "name": name[: members.GROUP_NAME_LENGTH]}
        else:
            return redirect("workspaces:group_detail", workspace.slug, group.pk)
    context["groups"] = members.groups_of(workspace=workspace)
    return render(request, "workspaces/group_list.html", context)


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def group_detail(request: UserRequest, workspace: Workspace, group_id: UUID) -> HttpResponse:
    view = members.group_view(workspace=workspace, group_id=group_id)
    problem: KBError | None = None
    if request.method == "POST":
        try:
            members.group_change(
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
    members.group_delete(workspace=workspace, user=request.user, group_id=group_id)
    messages.success(request, "Group deleted. Its members stay in the workspace.")
    return redirect("workspaces:group_list", workspace.slug)


def _ids(given: list[str]) -> list[UUID]:
    ids = [id_in(one) for one in given]
    if None in ids:
        raise InputError("Choose members from the list.", kept="Nothing was changed.")
    return [one for one in ids if one]
