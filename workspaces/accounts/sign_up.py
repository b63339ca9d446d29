"""Who may create an account: everyone, people with an invitation, or people of some domains."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from kb_project import mail
from workspaces.models import Invitation
from workspaces.people import invitations

OPEN: Final = "open"
INVITATION: Final = "invitation"
DOMAIN: Final = "domain"


def is_open(request: HttpRequest) -> bool:
    """Whether this visitor may see the form. A domain is checked once the address is typed."""
    return settings.SIGN_UP in (OPEN, DOMAIN) or invitation_of(request) is not None


def is_allowed(request: HttpRequest, email: str) -> bool:
    """Whether an account may be made for this address."""
    if settings.SIGN_UP != DOMAIN:
        return is_open(request)
    domain = email.rpartition("@")[2].lower()
    return domain in settings.SIGN_UP_DOMAINS or invitation_of(request) is not None


def is_invited(request: HttpRequest, email: str) -> bool:
    """Whether the visitor has an invitation that was mailed to this address: it is theirs then."""
    if not mail.is_set_up():
        return False
    invited = str(getattr(invitation_of(request), "email", "") or "")
    return bool(invited) and invited.lower() == email.lower()


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the visitor's open invitation, from the session or from where they go next."""
    if opened := invitations.invitation_in(request.session):
        return opened
    workspace_id, token = _in_next(request)
    return invitations.open_invitation(workspace_id, token) if token else None


def _in_next(request: HttpRequest) -> tuple[str, str]:
    """Return the workspace and the token of an invitation's address in the parameter ``next``."""
    address = request.POST.get("next") or request.GET.get("next") or ""
    try:
        found = resolve(address.partition("?")[0]).kwargs
    except Resolver404:
        return "", ""
    return str(found.get("space_id", "")), str(found.get("token", ""))
