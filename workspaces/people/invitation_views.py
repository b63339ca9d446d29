"""The pages an invitation's link opens, for people with and without an account."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from kb_project.errors import KBError, NotFoundError
from workspaces.models import Capability, Invitation, Role, User
from workspaces.pages import Page, UserRequest
from workspaces.people import invitations

OPENED = "workspaces:invitation_opened"


@never_cache
@require_GET
def invitation(request: HttpRequest, space_id: UUID, token: str) -> HttpResponse:
    """Remember the invitation in the session, and show it at an address without the token."""
    invitations.remember(request.session, invitations.invitation_at(space_id, token))
    response = redirect(OPENED)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@never_cache
@require_http_methods(["GET", "POST"])
def invitation_opened(request: HttpRequest) -> HttpResponseBase:
    """Show the invitation (GET); accept or decline it (POST)."""
    found = _remembered(request)
    if request.method == "POST":
        answer: Page = _answer
        return answer(request, found)
    return _page(request, found, _problem(found, request.user))


@login_required
def _answer(request: UserRequest, found: Invitation) -> HttpResponse:
    accepts = "decline" not in request.POST
    act = invitations.invitation_accept if accepts else invitations.invitation_decline
    try:
        workspace = act(invitation=found, user=request.user)
    except KBError as error:
        return _page(request, found, error)
    request.session.pop(invitations.SESSION_KEY, None)
    if accepts:
        messages.success(request, f"Welcome to {workspace.name}.")
        return redirect("retrieval:home", workspace.slug)
    messages.success(request, f"You declined the invitation to {workspace.name}.")
    return redirect("workspaces:workspace_list")


def _page(request: HttpRequest, found: Invitation, problem: KBError | None) -> HttpResponse:
    context = {
        "invitation": found,
        "problem": problem,
        "role_text": Capability(Role(found.role).capabilities[-1]).label,
        "is_member": problem is not None and problem.code == "already_member",
        "is_unverified": problem is not None and problem.code == "address_unverified",
    }
    status = 200 if problem is None or request.method == "GET" else 409
    return render(request, "workspaces/invitation.html", context, status=status)


def _problem(found: Invitation, user: User | AnonymousUser) -> KBError | None:
    if isinstance(user, User):
        return invitations.problem_for(found, user)
    return invitations.invitation_problem(found)


def _remembered(request: HttpRequest) -> Invitation:
    workspace_id, token_hash = request.session.get(invitations.SESSION_KEY) or ("", "")
    if not token_hash:
        raise NotFoundError(
            "No invitation is open in this browser.",
            code="no_invitation",
            next_step="Open the link of the invitation again.",
        )
    return invitations.invitation_of(UUID(workspace_id), token_hash)
