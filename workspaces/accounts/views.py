"""A person's own security: what protects the account, where it is signed in, what happened."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.internal import flows
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from workspaces.accounts import events
from workspaces.pages import UserRequest


@login_required
@require_GET
def security(request: UserRequest) -> HttpResponse:
    factors = Authenticator.objects.filter(user=request.user).values_list("type", flat=True)
    context = {
        "section": "security",
        "addresses": EmailAddress.objects.filter(user=request.user).order_by("-primary", "email"),
        "factors": set(factors),
        "passkeys": sum(kind == Authenticator.Type.WEBAUTHN for kind in factors),
        "session_count": len(UserSession.objects.purge_and_list(request.user)),
        "events": events.latest(request.user),
    }
    return render(request, "account/security.html", context)


@login_required
@require_POST
def session_end(request: UserRequest, session_id: int) -> HttpResponse:
    """Sign one browser out."""
    session = get_object_or_404(UserSession, pk=session_id, user=request.user)
    flows.sessions.end_sessions(request, [session])
    messages.success(request, "That browser is signed out.")
    return redirect("usersessions_list")
