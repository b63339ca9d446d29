"""Invite people to a workspace, by e-mail or by a link; send again, revoke, list."""

from __future__ import annotations

import logging
import secrets
import smtplib
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from kb_project import mail
from kb_project.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    LimitError,
    NotFoundError,
)
from workspaces import access, limits
from workspaces.limits import Rate
from workspaces.models import (
    INVITE,
    AuditAction,
    Invitation,
    InvitationState,
    Membership,
    Role,
    User,
    Workspace,
)
from workspaces.people import members
from workspaces.people.invitations import end, hash_of, record, sender_may
from workspaces.people.members import UNCHANGED

logger = logging.getLogger(__name__)

MOST_OPEN: Final = 200
# Each of them may be an e-mail to a stranger.
INVITATIONS: Final = Rate(50, 3600)
RENEWALS: Final = Rate(5, 3600)


@dataclass(frozen=True, slots=True)
class Issued:
    """An invitation, and its link, which is shown once and cannot be read again.

    With an e-mail address there is no link to show: only who reads the e-mail has it. Where no mail
    is set up, there is, to be passed on. ``is_sent`` says whether an e-mail left.
    """

    invitation: Invitation
    link: str = ""
    is_sent: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whom to invite: an e-mail address, or without one a link, for one person or several."""

    role: Role
    email: str = ""
    is_reusable: bool = False


def invite(*, workspace: Workspace, user: User, wanted: Wanted, host: str) -> Issued:
    """Create an invitation with a link, and send the link to the e-mail address, if it can be.

    ``host`` begins the link: "https://kb.example.org". Call outside a transaction: it waits for the
    mail server; if that fails, the invitation stays, to be sent again. Raises InputError,
    ForbiddenError for a role above the user's own, ConflictError if the address is a member's or
    was invited already, LimitError for too many in an hour.
    """
    email, token = wanted.email.strip().lower(), secrets.token_urlsafe(32)
    with members.changing(workspace):
        _check_may_give(workspace, user, wanted.role)
        _check_link(wanted)
        _check_room(workspace)
        if email:
            _check_address(workspace, user, email)
        _take(f"invitations of {workspace.pk}", INVITATIONS)
        invitation = Invitation.objects.create(
            workspace=workspace,
            email=email,
            role=wanted.role,
            token_hash=hash_of(token),
            is_reusable=wanted.is_reusable,
            created_by=user,
            expires_at=_expiry(),
        )
        record(AuditAction.MEMBER_INVITED, workspace, user, invitation)
    logger.info("member invited workspace=%s invitation=%s", workspace.pk, invitation.pk)
    return _sent(invitation, token, host)


def invitation_renew(
    *, workspace: Workspace, user: User, invitation_id: uuid.UUID, host: str
) -> Issued:
    """Give an open or expired invitation a new link and seven more days, and send it again.

    The former link stops working. Call outside a transaction, as ``invite``. Raises NotFoundError,
    ForbiddenError, ConflictError, LimitError.
    """
    token = secrets.token_urlsafe(32)
    with members.changing(workspace):
        invitation = _open(workspace, invitation_id)
        _check_may_give(workspace, user, Role(invitation.role))
        if invitation.email:
            _check_address(workspace, user, invitation.email, but=invitation.pk)
        _take(f"invitation {invitation.pk}", RENEWALS)
        # Who renews it answers for it from now on.
        invitation.token_hash, invitation.expires_at = hash_of(token), _expiry()
        invitation.created_by = user
        invitation.save(update_fields=["token_hash", "expires_at", "created_by"])
        record(AuditAction.INVITATION_RESENT, workspace, user, invitation)
    return _sent(invitation, token, host)


def invitation_revoke(*, workspace: Workspace, user: User, invitation_id: uuid.UUID) -> None:
    """Revoke an open invitation: its link stops working. Raises NotFoundError, ForbiddenError."""
    with members.changing(workspace):
        invitation = _open(workspace, invitation_id)
        _check_may_give(workspace, user, Role(invitation.role))
        end(invitation, InvitationState.REVOKED)
        record(AuditAction.INVITATION_REVOKED, workspace, user, invitation)


def open_invitations(*, workspace: Workspace) -> list[Invitation]:
    """Return the invitations that can be accepted or renewed, newest first."""
    rows = Invitation.objects.in_workspace(workspace).filter(state=InvitationState.OPEN)
    return list(rows.select_related("created_by").order_by("-created_at"))


def _sent(invitation: Invitation, token: str, host: str) -> Issued:
    path = reverse("workspaces:invitation", args=[invitation.workspace_id, token])
    link = f"{settings.PUBLIC_ADDRESS or host}{path}"
    if not (invitation.email and mail.is_set_up()):
        return Issued(invitation, link)
    context = {"invitation": invitation, "link": link, "days": settings.INVITATION_DAYS}
    subject = render_to_string("workspaces/mail/invitation_subject.txt", context)
    text = render_to_string("workspaces/mail/invitation.txt", context)
    try:
        send_mail(" ".join(subject.split()), text, None, [invitation.email])
    except (OSError, smtplib.SMTPException) as error:
        logger.warning("invitation not sent error=%s", type(error).__name__)
        return Issued(invitation)
    return Issued(invitation, is_sent=True)


# --- checks ---------------------------------------------------------------------------------------
def _check_may_give(workspace: Workspace, user: User, role: Role) -> None:
    access.check_right(workspace, INVITE)
    if role.rank > members.rank_of(workspace, user):
        raise ForbiddenError(
            f"You can't invite people as {role.with_article}, which is above your own role.",
            code="above_own_role",
            kept=UNCHANGED,
            next_step="Choose a role up to your own.",
        )


def _check_link(wanted: Wanted) -> None:
    if wanted.is_reusable and (wanted.email or wanted.role.rank >= Role.ADMIN.rank):
        raise InputError(
            "A link for several people has no e-mail address, and gives at most the role Curator.",
            code="link_too_open",
            kept=UNCHANGED,
            next_step="Invite admins and owners one by one.",
        )


def _check_room(workspace: Workspace) -> None:
    rows = Invitation.objects.in_workspace(workspace).filter(state=InvitationState.OPEN)
    if rows.count() >= MOST_OPEN:
        raise ConflictError(
            f"This workspace has {MOST_OPEN} open invitations, the most it can have.",
            code="too_many_invitations",
            kept=UNCHANGED,
            next_step="Revoke some that are no longer needed.",
        )


def _check_address(
    workspace: Workspace, user: User, email: str, but: uuid.UUID | None = None
) -> None:
    """Refuse an address that is the user's own, a member's, or invited already."""
    verified = EmailAddress.objects.filter(email__iexact=email, verified=True)
    theirs = Q(user__email__iexact=email) | Q(user__in=verified.values("user"))
    rows = Membership.objects.in_workspace(workspace).filter(theirs).select_related("user")
    if member := rows.first():
        who = "You are" if member.user_id == user.pk else f"{member.user} is"
        raise ConflictError(
            f"{who} already a member of this workspace.",
            code="already_member",
            kept=UNCHANGED,
            next_step="To change a role, use the list of members.",
        )
    earlier = Invitation.objects.in_workspace(workspace).filter(
        email=email, state=InvitationState.OPEN
    )
    for invitation in earlier.select_related("workspace"):
        if invitation.pk == but:
            continue
        if not invitation.is_expired and sender_may(invitation):
            raise ConflictError(
                f"{email} is invited already.",
                code="already_invited",
                kept=UNCHANGED,
                next_step="Send that invitation again, or revoke it first.",
            )
        end(invitation, InvitationState.REVOKED)


def _open(workspace: Workspace, invitation_id: uuid.UUID) -> Invitation:
    rows = Invitation.objects.in_workspace(workspace).filter(state=InvitationState.OPEN)
    invitation = rows.select_related("workspace").filter(pk=invitation_id).first()
    if invitation is None:
        raise NotFoundError(
            "There is no such open invitation.",
            kept=UNCHANGED,
            next_step="It may have been accepted or revoked meanwhile.",
        )
    return invitation


def _take(name: str, rate: Rate) -> None:
    allowed = limits.take(name, rate)
    if not allowed.is_allowed:
        raise LimitError(
            "Too many invitations were sent in the last hour.",
            kept=UNCHANGED,
            next_step=f"Try again in {-(-allowed.retry_after // 60)} min.",
            retry_after=allowed.retry_after,
        )


def host_of(request: HttpRequest) -> str:
    """Return what a link begins with, by the address that the request was sent to."""
    return request.build_absolute_uri("/").rstrip("/")


def _expiry() -> datetime:
    return timezone.now() + timedelta(days=settings.INVITATION_DAYS)
