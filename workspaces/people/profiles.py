"""A person's profile: the name that others see, language and time zone of pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from contextlib import nullcontext
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from kb_project.errors import InputError
from workspaces.models import User

logger = logging.getLogger(__name__)

NAME_LENGTH: Final = 150


def profile_update(
    *,
    user: User,
    name: str | None = None,
    language: str | None = None,
    time_zone: str | None = None,
) -> User:
    """Change what is given. Raises InputError.

    A name must not look like an address of the web: it stands in invitations to strangers.
    """
    if name is not None:
        user.name = _name(name)
    if language is not None:
        user.language = _known(language, dict(settings.LANGUAGES), "language")
    if time_zone is not None:
        user.time_zone = _known(time_zone, ["", *time_zones()], "time zone")
    user.save(update_fields=["name", "language", "time_zone"])
    logger.info("profile changed user=%s", user.pk)
    return user


@cache
def time_zones() -> list[str]:
    """Return the names of the world's time zones, without those that only stand for others."""
    continents = "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific"
    regions = tuple(f"{name}/" for name in continents.split())
    return ["UTC", *sorted(name for name in available_timezones() if name.startswith(regions))]


class ProfileMiddleware:
    """Shows pages in the time zone and language of the person; the API always writes UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = getattr(request, "user", None)
        if request.path.startswith("/api/") or user is None or not user.is_authenticated:
            return self.get_response(request)
        zone = timezone.override(_zone(user.time_zone)) if user.time_zone else nullcontext()
        with zone, translation.override(user.language):
            return self.get_response(request)


def _zone(name: str) -> ZoneInfo | None:
    """Return the zone, or None, the server's own, if its name has been dropped since."""
    return ZoneInfo(name) if name in time_zones() else None


def _name(given: str) -> str:
    name = " ".join(given.split())
    if len(name) > NAME_LENGTH or not name.isprintable() or "://" in name:
        raise InputError(
            f"A name has at most {NAME_LENGTH} characters and is not a web address.",
            code="invalid_name",
            kept="Nothing was changed.",
            next_step="Enter the name by which others know you.",
        )
    return name


def _known(given: str, known: Container[str], what: str) -> str:
    if given not in known:
        raise InputError(
            f"“{given[:40]}” is not a known {what}.",
            code="invalid_choice",
            kept="Nothing was changed.",
            next_step=f"Choose a {what} from the list.",
        )
    return given
