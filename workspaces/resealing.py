"""Seals stored keys and passwords again, with the present ``SECRET_KEY``."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import models

from kb_project import keys
from kb_project.errors import RefusedError, UnavailableError
from workspaces import access, secrets
from workspaces.models import User, Workspace
from workspaces.models.people import TenantModel

logger = logging.getLogger(__name__)

SUFFIX: Final = "sealed_key"
# The fields of allauth's data that its adapter seals.
FACTOR_SECRETS: Final = frozenset({"secret", "seed"})
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
        if not held.startswith((keys.PLAIN, keys.SEALED)):
            continue
        renewed = keys.sealed(held)
        if renewed != held:
            # A password changed meanwhile is under the present key.
            User.objects.filter(pk=pk, password=held).update(password=renewed)
        found[_outcome(held, renewed)] += 1
    return found


def reseal_factors() -> Counter[str]:
    """Seal the secrets of authenticator apps and of recovery codes again."""
    found: Counter[str] = Counter()
    for factor in Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).order_by("pk"):
        for name in FACTOR_SECRETS & factor.data.keys():
            found[_reseal_factor(factor, name)] += 1
    return found


def _reseal_factor(factor: Authenticator, name: str) -> str:
    try:
        renewed = secrets.resealed_factor(factor.data[name])
    except UnavailableError:
        return UNREADABLE
    if renewed is None:
        return PRESENT
    factor.data[name] = renewed
    factor.save(update_fields=["data"])
    return RENEWED


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
    return UNREADABLE if keys.opened(held) == held else PRESENT
