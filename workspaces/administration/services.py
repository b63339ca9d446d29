"""Change a workspace's settings: name, address, language, and what its members may do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.db import transaction
from django.utils.text import slugify

from kb_project.errors import InputError
from kb_project.text.languages import LANGUAGES
from workspaces.audit import services as audit
from workspaces.audit.services import Target
from workspaces.models import AuditAction, User, Workspace
from workspaces.people import services as people_services

logger = logging.getLogger(__name__)

MOST_FORMER: Final = 5
"""Addresses a workspace had before that still lead to it."""


@transaction.atomic
def settings_update(*, workspace: Workspace, user: User | None, **given: Any) -> Workspace:
    """Change the settings that are given; see ``FIELDS``.

    Links to the former address keep working, as to the four before it. Raises InputError, and
    ConflictError for a taken address.
    """
    values = {name: FIELDS[name](workspace, value) for name, value in given.items()}
    changed = {name: one for name, one in values.items() if one != getattr(workspace, name)}
    if not changed:
        return workspace
    before = {name: getattr(workspace, name) for name in changed}
    if "slug" in changed:
        former = [*workspace.former_slugs, workspace.slug]
        kept = [one for one in former if one != changed["slug"]]
        workspace.former_slugs = kept[-MOST_FORMER:]
    for name, value in changed.items():
        setattr(workspace, name, value)
    workspace.save(update_fields=[*changed, "former_slugs"])
    audit.record(
        AuditAction.WORKSPACE_CHANGED,
        workspace=workspace,
        user=user,
        target=Target("workspace", workspace.pk, workspace.name),
        before=before,
        after=changed,
    )
    logger.info("workspace changed workspace=%s fields=%s", workspace.pk, ",".join(changed))
    return workspace


def _name(_workspace: Workspace, given: str) -> str:
    return people_services.name_of(given)


def _slug(workspace: Workspace, given: str) -> str:
    slug = slugify(given)[: people_services.SLUG_LENGTH]
    if not slug:
        raise InputError(
            "An address needs at least one letter or number.",
            code="invalid_slug",
            kept="Nothing was changed.",
            next_step="Choose another address.",
        )
    return slug if slug == workspace.slug else people_services.exact_slug(slug, of=workspace)


def _language(_workspace: Workspace, given: str) -> str:
    if given not in LANGUAGES:
        raise InputError(
            f"“{given[:20]}” is not a language that can be the default.",
            code="invalid_choice",
            kept="Nothing was changed.",
            next_step="Choose one of the list.",
        )
    return given


def _switch(_workspace: Workspace, given: object) -> bool:
    return bool(given)


FIELDS: Final[Mapping[str, Callable[[Workspace, Any], object]]] = {
    "name": _name,
    "slug": _slug,
    "document_language": _language,
    "editors_invite": _switch,
    "editors_delete": _switch,
    "viewers_export": _switch,
}
"""The settings, with what checks each."""
