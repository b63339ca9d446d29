"""Creates workspaces, members and accounts, and changes a person's profile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from contextlib import nullcontext
from functools import cache
from itertools import chain, count
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.text import slugify

from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access, audit, limits, sql
from workspaces.models import AuditAction, Membership, Role, User, Workspace

logger = logging.getLogger(__name__)

NAME_LENGTH: Final = 120
SLUG_LENGTH: Final = 60


@transaction.atomic
def workspace_create(
    *,
    name: str,
    owner: User | None,
    slug: str = "",
    is_demo: bool = False,
) -> Workspace:
    """Create a workspace; its creator becomes its owner.

    Without ``slug`` the address is made from the name, with a number if that is taken: ``demo-2``.
    Raises ConflictError for a taken slug, InputError for an invalid name, and QuotaError if the
    person has created as many as allowed.
    """
    limits.check_workspaces(owner)
    name, wanted = name_of(name), slugify(slug or name)[:SLUG_LENGTH] or "workspace"
    slug = exact_slug(wanted) if slug else free_slug(wanted)
    workspace = Workspace.objects.create(name=name, slug=slug, created_by=owner, is_demo=is_demo)
    if owner is not None:
        member_add(workspace=workspace, user=owner, role=Role.OWNER)
    audit.record(
        AuditAction.WORKSPACE_CREATED, workspace=workspace, user=owner, after={"name": name}
    )
    logger.info("workspace created workspace=%s", workspace.pk)
    return workspace


def name_of(name: str) -> str:
    """Return a workspace's name, tidied. Raises InputError."""
    name = " ".join(name.split())
    if not name or len(name) > NAME_LENGTH:
        raise InputError(
            f"A workspace needs a name of 1 to {NAME_LENGTH} characters.",
            next_step="Choose another name.",
        )
    return name


def free_slug(wanted: str, *, of: Workspace | None = None) -> str:
    """Return the address, with a number if another workspace has it or had it before.

    It stays free until the open transaction ends.
    """
    run_sql(sql.LOCK, {"name": "addresses of workspaces"})
    others = Workspace.objects.exclude(pk=of.pk) if of else Workspace.objects.all()
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    slugs = (f"{wanted[: SLUG_LENGTH - len(suffix)]}{suffix}" for suffix in suffixes)
    return next(
        slug
        for slug in slugs
        if not others.filter(Q(slug=slug) | Q(former_slugs__contains=[slug])).exists()
    )


def exact_slug(wanted: str, *, of: Workspace | None = None) -> str:
    """Return the address. Raises ConflictError if another workspace has it or had it before."""
    if free_slug(wanted, of=of) != wanted:
        raise ConflictError(
            f"The address '{wanted}' is taken by another workspace.",
            code="slug_taken",
            kept="Nothing was changed.",
            next_step="Choose another name or address.",
        )
    return wanted


def member_add(*, workspace: Workspace, user: User, role: Role) -> Membership:
    """Give a user a role; an existing member's role is replaced."""
    with access.in_workspace(workspace.pk):
        membership, _ = Membership.objects.update_or_create(
            workspace=workspace,
            user=user,
            defaults={"role": role, "capabilities": role.capabilities},
        )
    logger.info("member added workspace=%s user=%s role=%s", workspace.pk, user.pk, role)
    return membership


@transaction.atomic
def person_add(*, email: str, password: str, name: str = "") -> User:
    """Create an account with a confirmed address. Raises ConflictError if it is taken."""
    if User.objects.filter(email=email.lower()).exists():
        raise ConflictError(
            f"There is an account for {email} already.",
            code="email_taken",
            kept="Nothing was changed.",
        )
    user = User.objects.create_user(email, password, name=name)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    logger.info("person added user=%s", user.pk)
    return user


# --- profiles -------------------------------------------------------------------------------------
PERSON_NAME_LENGTH: Final = 150


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
    if len(name) > PERSON_NAME_LENGTH or not name.isprintable() or "://" in name:
        raise InputError(
            f"A name has at most {PERSON_NAME_LENGTH} characters and is not a web address.",
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
