"""Records what happens to accounts, and reads it for their owners."""

from __future__ import annotations

import logging
from typing import Final

from django.http import HttpRequest

from kb_project.http.addresses import client_address
from workspaces.models import AccountEvent, AccountEventKind, User

logger = logging.getLogger(__name__)

SHOWN: Final = 50
"""Events on a person's security page."""


def record(
    kind: AccountEventKind, *, user: User, request: HttpRequest | None, detail: str = ""
) -> None:
    """Add an event. Never pass a secret, such as a password or a code."""
    AccountEvent.objects.create(
        user=user,
        email=user.email,
        kind=kind,
        detail=detail[:200],
        address=client_address(request)[:45] if request else "",
        user_agent=request.headers.get("User-Agent", "")[:200] if request else "",
    )
    logger.info("account event kind=%s user=%s", kind, user.pk)


def latest(user: User, *, most: int = SHOWN) -> list[AccountEvent]:
    return list(AccountEvent.objects.filter(user=user)[:most])
