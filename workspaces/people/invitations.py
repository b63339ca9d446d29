"""What opens with an invitation's link: the invitation, and how people accept it.

A link holds the workspace's id and a random token: the row is read in the workspace's scope, by
the token's SHA-256, and the token itself is stored nowhere. An invitation by e-mail is accepted
only by an account that has verified its address; a link by anyone who opens it. The link in an
e-mail is shown to no one else, its sender included.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from typing import Final

from allauth.account.models import EmailAddress
from django.contrib.sessions.backends.base import SessionBase

from kb_project import mail
from kb_project.errors import ConflictError, ForbiddenError, KBError, NotFoundError
from workspaces import access, audit, editions
from workspaces.audit import Target
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
from workspaces.people import members, services as people_services
from workspaces.people.members import UNCHANGED

SESSION_KEY: Final = "invitation"
"""Where a visitor's session keeps the opened invitation: its workspace's id and its hash."""


def open_invitation(workspace_id: uuid.UUID | str, token: str) -> Invitation | None:
    """Return the invitation that a link belongs to if it can still be accepted by someone.

    The token of one with an e-mail address has been sent to that address and nowhere else.
    """
    return _acceptable(workspace_id, hash_of(token))


def invitation_in(session: SessionBase) -> Invitation | None:
    """Return the invitation that the visitor opened if it can still be accepted by someone."""
    workspace_id, token_hash = session.get(SESSION_KEY) or ("", "")
    return _acceptable(workspace_id, token_hash)


def remember(session: SessionBase, invitation: Invitation) -> None:
    """Keep the invitation for a visitor who has to sign in or sign up first."""
    session[SESSION_KEY] = [str(invitation.workspace_id), invitation.token_hash]


def _acceptable(workspace_id: uuid.UUID | str, token_hash: str) -> Invitation | None:
    try:
        invitation = invitation_of(uuid.UUID(str(workspace_id)), token_hash)
    except (NotFoundError, ValueError):
        return None
    return None if invitation_problem(invitation) else invitation


def invitation_at(workspace_id: uuid.UUID, token: str) -> Invitation:
    """Return the invitation that a link belongs to, whatever became of it. Raises NotFoundError."""
    return invitation_of(workspace_id, hash_of(token))


def invitation_of(workspace_id: uuid.UUID, token_hash: str) -> Invitation:
    """Return the invitation with this hash, as a session remembers it. Raises NotFoundError."""
    with access.in_workspace(workspace_id):
        rows = Invitation.objects.in_workspace(workspace_id).select_related(
            "workspace", "created_by"
        )
        found = rows.filter(token_hash=token_hash).first()
    is_same = found is not None and hmac.compare_digest(found.token_hash, token_hash)
    if found is None or not is_same or found.workspace.is_deleted:
        raise NotFoundError(
            "This link is not an invitation, or it was replaced by a newer one.",
            code="no_invitation",
            next_step="Ask the person who invited you to send the invitation again.",
        )
    return found


def invitation_problem(invitation: Invitation) -> KBError | None:
    """Return why no one can accept the invitation any more, if so."""
    ended = {
        InvitationState.ACCEPTED: ("was used already", "invitation_used"),
        InvitationState.DECLINED: ("was declined", "invitation_declined"),
        InvitationState.REVOKED: ("was withdrawn", "invitation_revoked"),
    }
    state = InvitationState(invitation.state)
    if state in ended:
        what, code = ended[state]
    elif invitation.is_expired:
        what, code = "has expired", "invitation_expired"
    elif not sender_may(invitation):
        what, code = "is no longer valid: its sender may not invite people now", "sender_gone"
    else:
        return None
    return ConflictError(
        f"This invitation to {invitation.workspace.name} {what}.",
        code=code,
        kept=UNCHANGED,
        next_step="Ask a member of the workspace for a new one.",
    )


def problem_for(invitation: Invitation, user: User) -> KBError | None:
    """Return why this person cannot accept the invitation, if so."""
    if _is_member(invitation.workspace, user):
        return ConflictError(
            f"You are already a member of {invitation.workspace.name}.",
            code="already_member",
            kept="Your role is unchanged.",
        )
    return invitation_problem(invitation) or _address_problem(invitation, user)


def invitation_accept(*, invitation: Invitation, user: User) -> Workspace:
    """Make the user a member. Raises NotFoundError, ConflictError, ForbiddenError."""
    workspace = invitation.workspace
    with members.changing(workspace):
        now = _checked(invitation, user)
        role = Role(now.role)
        people_services.member_add(workspace=workspace, user=user, role=role)
        now.uses += 1
        if not now.is_reusable:
            now.state = InvitationState.ACCEPTED
        now.save(update_fields=["uses", "state"])
        audit.record(
            AuditAction.MEMBER_JOINED,
            workspace=workspace,
            user=user,
            target=target_of(now),
            after={"role": role.value},
        )
        editions.request_sync(workspace.pk, audiences_changed=True)
    return workspace


def invitation_decline(*, invitation: Invitation, user: User) -> Workspace:
    """Decline an invitation; a link for several people stays open for the others.

    Raises what ``invitation_accept`` raises.
    """
    workspace = invitation.workspace
    with members.changing(workspace):
        now = _checked(invitation, user)
        if not now.is_reusable:
            end(now, InvitationState.DECLINED)
            record(AuditAction.INVITATION_DECLINED, workspace, user, now)
    return workspace


def _checked(invitation: Invitation, user: User) -> Invitation:
    """Return the invitation as it is now that others wait, if this person may accept it."""
    now = invitation_of(invitation.workspace_id, invitation.token_hash)
    if problem := problem_for(now, user):
        raise problem
    return now


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _address_problem(invitation: Invitation, user: User) -> KBError | None:
    if not invitation.email:
        return None
    own = EmailAddress.objects.filter(user=user, email__iexact=invitation.email).first()
    if own is None:
        return ForbiddenError(
            "This invitation was sent to another e-mail address than yours.",
            code="other_address",
            kept=UNCHANGED,
            next_step="Sign in with the account of that address, or add the address to yours.",
        )
    # Where no mail is set up, no address can be confirmed: the link came by hand.
    if mail.is_set_up() and not own.verified:
        return ForbiddenError(
            f"Confirm that {own.email} is your address first.",
            code="address_unverified",
            kept="The invitation stays open.",
            next_step="Open the link in the confirmation e-mail, then this invitation again.",
        )
    return None


def sender_may(invitation: Invitation) -> bool:
    """Whether the sender could still give this role: a former member's invitations are void."""
    workspace = invitation.workspace
    with access.in_workspace(workspace.pk):
        rows = Membership.objects.in_workspace(workspace)
        sender = rows.filter(user=invitation.created_by_id, user__is_active=True).first()
    if sender is None:
        return False
    return sender.may(workspace.needed_for(INVITE)) and sender.rank >= Role(invitation.role).rank


def _is_member(workspace: Workspace, user: User) -> bool:
    with access.in_workspace(workspace.pk):
        return Membership.objects.in_workspace(workspace).filter(user=user).exists()


def end(invitation: Invitation, state: InvitationState) -> None:
    invitation.state = state
    invitation.save(update_fields=["state"])


def target_of(invitation: Invitation) -> Target:
    return Target("invitation", invitation.pk, invitation.email or "link")


def record(action: AuditAction, workspace: Workspace, user: User, invitation: Invitation) -> None:
    audit.record(
        action,
        workspace=workspace,
        user=user,
        target=target_of(invitation),
        after={"role": invitation.role, "is_reusable": invitation.is_reusable},
    )
