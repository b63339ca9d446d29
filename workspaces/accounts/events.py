"""Records what happens to accounts, and reads it for their owners."""

from __future__ import annotations

import logging
from typing import Final

from django.http import HttpRequest

from kb_project.http.addresses import client_address
from workspaces.models import AccountEvent, AccountEventKind, User

logger = logging.getLogger(__name__)

# The first that a user agent names: most call themselves Safari, too.
BROWSERS: Final = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox")),
    *(("Chrome", "Chrome"), ("CriOS", "Chrome"), ("Safari", "Safari"), ("curl", "curl")),
)
SYSTEMS: Final = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Macintosh", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
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


def browser_in(user_agent: str) -> str:
    """Return a browser's name for people.

    >>> browser_in("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0 Safari/537.36")
    'Chrome on Linux'
    >>> browser_in("python-requests/2.32"), browser_in("")
    ('python-requests/2.32', 'Unknown browser')
    """
    browser = next((name for sign, name in BROWSERS if sign in user_agent), "")
    system = next((name for sign, name in SYSTEMS if sign in user_agent), "")
    named = f"{browser} on {system}" if browser and system else browser or system
    return named or user_agent[:40] or "Unknown browser"


def latest(user: User) -> list[AccountEvent]:
    return list(AccountEvent.objects.filter(user=user)[:SHOWN])
