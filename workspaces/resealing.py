"""Seals stored keys and passwords again, with the present ``SECRET_KEY``."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from django.apps import apps
from django.db import models

from kb_project import passwords
from kb_project.errors import RefusedError
from workspaces import access, secrets
from workspaces.models import User, Workspace
from workspaces.models.people import TenantModel

logger = logging.getLogger(__name__)

SUFFIX: Final = "sealed_key"
RENEWED, PRESENT, UNREADABLE = "sealed_again", "present", "unreadable"


def sealed_columns() -> Iterator[tuple[type[TenantModel], str]]:
    """Yield every column that holds a sealed key of a workspace."""
    for model in apps.get_models():
        if issubclass(model, TenantModel):
            for field in model._meta.local_concrete_fields:  # noqa: SLF001 - Django documents it
                if isinstance(field, models.BinaryField) and field.name.endswith(SUFFIX):
                    yield model, field.name


def reseal_workspace(workspace: Workspace) -> Counter[str]:
    """Seal a workspace's keys again, in one transaction; return how many had which outcome.

    Repeating it changes nothing. A key that no known secret opens stays as it is.
    """
    found: Counter[str] = Counter()
    with access.in_workspace(workspace.pk):
        for model, column in sealed_columns():
            rows = model.objects.in_workspace(workspace).exclude(**{column: b""})
            for row in rows.select_for_update().order_by("pk"):
                found[_reseal(row, column)] += 1
    logger.info("keys resealed workspace=%s outcome=%s", workspace.pk, dict(found))
    return found


def reseal_passwords() -> Counter[str]:
    """Seal the hashes of passwords again. Sessions end: they are bound to the stored value."""
    found: Counter[str] = Counter()
    people = User.objects.order_by("pk").values_list("pk", "password")
    for pk, held in people.iterator():
        if not held.startswith((passwords.PLAIN, passwords.SEALED)):
            continue
        renewed = passwords.sealed(held)
        if renewed != held:
            # A password changed meanwhile is under the present key.
            User.objects.filter(pk=pk, password=held).update(password=renewed)
        found[_outcome(held, renewed)] += 1
    return found


def _reseal(row: Any, column: str) -> str:
    try:
        renewed = secrets.resealed(getattr(row, column), row.workspace_id)
    except RefusedError:
        return UNREADABLE
    if renewed is None:
        return PRESENT
    setattr(row, column, renewed)
    row.save(update_fields=[column])
    return RENEWED


def _outcome(held: str, renewed: str) -> str:
    if renewed != held:
        return RENEWED
    return UNREADABLE if passwords.opened(held) == held else PRESENT
