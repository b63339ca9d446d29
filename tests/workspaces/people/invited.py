"""What the tests of invitations share: making them, and opening their links."""

from __future__ import annotations

import re
from uuid import UUID

from django.core import mail
from django.db import transaction

from workspaces import access
from workspaces.models import Invitation, Membership, Role, User, Workspace
from workspaces.people import invitations, inviting
from workspaces.people.inviting import Issued, Wanted

HOST = "http://kb.example.com"
LINK = re.compile(rf"{HOST}/invitations/([0-9a-f-]+)/([\w-]+)/")


def invite(workspace: Workspace, user: User, role: Role = Role.EDITOR, **wanted) -> Issued:
    with transaction.atomic():
        passed = access.workspace_for_reading(user=user, workspace_id=workspace.pk)
    return inviting.invite(workspace=passed, user=user, wanted=Wanted(role, **wanted), host=HOST)


def token_in(text: str) -> str:
    found = LINK.search(text)
    assert found
    return found[2]


def opened(link: str) -> Invitation:
    """What the link leads to."""
    found = LINK.search(link)
    assert found
    return invitations.invitation_at(UUID(found[1]), found[2])


def mailed() -> str:
    """The text of the last e-mail."""
    return str(mail.outbox[-1].body)


def change(invitation: Invitation, **values: object) -> None:
    with access.in_workspace(invitation.workspace_id):
        Invitation.objects.in_workspace(invitation.workspace_id).filter(pk=invitation.pk).update(
            **values
        )


def role_of(workspace: Workspace, user: User) -> str | None:
    with access.in_workspace(workspace.pk):
        found = Membership.objects.in_workspace(workspace).filter(user=user).first()
    return found.role if found else None
