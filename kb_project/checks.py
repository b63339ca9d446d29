"""Checks of settings, alone and against the database, as Django system checks.

The database checks run with ``manage.py check --database default``, and before a worker starts.
Commands that never run a page's code run only those tagged ``OF_THE_INSTALLATION``: the others load
all of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, Final, LiteralString

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning as Caution, register
from django.db import DEFAULT_DB_ALIAS

from kb_project import egress
from kb_project.confinement.layers import layers_here
from kb_project.sql import run_sql

OF_THE_INSTALLATION: Final = "installation"
MODEL_FOR: Final = ("none", "listed", "all")
MODEL_WORK: Final = ("all", "answers")
PRICE: Final = re.compile(r"\s*[^=\s].*=\s*\d+(\.\d+)?(/\d+(\.\d+)?){1,2}")
SIGN_UPS: Final = ("open", "invitation", "domain")
STRATEGIES: Final = ("tokens", "sentence", "fixed")
OLDEST_PGVECTOR: Final = (0, 8)

WHO_AM_I: Final[LiteralString] = """
SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user
"""
CAN_OPEN_LOCKS: Final[LiteralString] = """
SELECT has_database_privilege(current_database(), 'CREATE')
    OR EXISTS (SELECT FROM pg_class WHERE relpersistence <> 't' AND relowner = (
               SELECT oid FROM pg_roles WHERE rolname = current_user))
"""
PGVECTOR_VERSION: Final[LiteralString] = """
SELECT extversion FROM pg_extension WHERE extname = 'vector'
"""


@register(OF_THE_INSTALLATION)
def settings_agree(app_configs: Sequence[AppConfig] | None, **_kwargs: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.CHUNK_OVERLAP >= settings.CHUNK_TOKENS:
        found.append(
            Error(
                "CHUNK_OVERLAP must be smaller than CHUNK_TOKENS, or chunks would never advance.",
                hint="Set CHUNK_OVERLAP to about an eighth of CHUNK_TOKENS.",
                id="kb.E001",
            )
        )
    queue: dict[str, Any] = settings.Q_CLUSTER
    if queue["retry"] <= queue["timeout"]:
        found.append(
            Error(
                "Q_CLUSTER: 'retry' must be longer than 'timeout', or a task still running would be"
                " handed out again.",
                id="kb.E002",
            )
        )
    if settings.CHUNK_STRATEGY not in STRATEGIES:
        found.append(
            Error(
                f"CHUNK_STRATEGY is '{settings.CHUNK_STRATEGY}'.",
                hint=f"It must be one of {', '.join(STRATEGIES)}.",
                id="kb.E005",
            )
        )
    return found + _listed_hosts_are_hosts() + _operators_model_agrees()


def _operators_model_agrees() -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.MODEL_FOR not in MODEL_FOR:
        hint = f"It must be one of {', '.join(MODEL_FOR)}."
        found.append(Error(f"MODEL_FOR is '{settings.MODEL_FOR}'.", hint=hint, id="kb.E007"))
    if settings.MODEL_WORK not in MODEL_WORK:
        hint = f"It must be one of {', '.join(MODEL_WORK)}."
        found.append(Error(f"MODEL_WORK is '{settings.MODEL_WORK}'.", hint=hint, id="kb.E010"))
    # MODEL=IN/OUT, which ``workspaces.usage.queries`` reads.
    broken = [entry for entry in settings.MODEL_PRICES if not PRICE.fullmatch(entry)]
    if broken:
        hint = "An entry is MODEL=IN/OUT or MODEL=IN/OUT/CACHED, per million tokens."
        found.append(Error(f"MODEL_PRICES has '{broken[0]}'.", hint=hint, id="kb.E008"))
    priced = {entry.rpartition("=")[0].strip() for entry in settings.MODEL_PRICES}
    if any(_caps()) and settings.MODEL_NAME and settings.MODEL_NAME not in priced:
        found.append(
            Error(
                "MODEL_CAP_… limits spending, and MODEL_PRICES has no price for MODEL_NAME.",
                hint=f"Add {settings.MODEL_NAME}=IN/OUT to MODEL_PRICES.",
                id="kb.E009",
            )
        )
    return found


def _caps() -> list[bool]:
    caps = (settings.MODEL_CAP_WORKSPACE, settings.MODEL_CAP_PERSON, settings.MODEL_CAP_TOTAL)
    return [cap is not None for cap in caps]


def _listed_hosts_are_hosts() -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for entry in settings.MODEL_HOSTS_ALLOWED:
        try:
            egress.listed_in(entry)
        except ValueError:
            found.append(
                Error(
                    f"MODEL_HOSTS_ALLOWED has '{entry}'.",
                    hint="An entry is a host, a host with a port, or a network.",
                    id="kb.E006",
                )
            )
    return found


@register(Tags.security, OF_THE_INSTALLATION)
def readers_are_confined(
    app_configs: Sequence[AppConfig] | None, **_kwargs: Any
) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    layers = layers_here()
    if missing := layers.missing():
        may_read = layers.calls or settings.ALLOW_UNCONFINED_PARSING or sys.platform != "linux"
        found.append(
            Caution(
                f"Layers that confine the readers of documents are missing: {', '.join(missing)}."
                + ("" if may_read else " Documents are not read without 'calls' (seccomp)."),
                hint="docs/confinement.md says what each needs.",
                id="kb.W020",
            )
        )
    if settings.ALLOW_DEBUGGERS:
        found.append(
            Caution(
                "ALLOW_DEBUGGERS is on: processes of the same account can read SECRET_KEY from"
                " memory.",
                hint="Turn it off when you are done.",
                id="kb.W021",
            )
        )
    return found


@register(OF_THE_INSTALLATION)
def sign_up_is_safe(app_configs: Sequence[AppConfig] | None, **_kwargs: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.SIGN_UP not in SIGN_UPS:
        found.append(
            Error(
                f"SIGN_UP is '{settings.SIGN_UP}'.",
                hint=f"It must be one of {', '.join(SIGN_UPS)}.",
                id="kb.E020",
            )
        )
    if settings.SIGN_UP == "domain" and not settings.SIGN_UP_DOMAINS:
        found.append(
            Error(
                "SIGN_UP is 'domain', but SIGN_UP_DOMAINS is empty: no one could sign up.",
                id="kb.E021",
            )
        )
    if settings.SIGN_UP == "domain" and settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        found.append(
            Error(
                "SIGN_UP is 'domain', but addresses are not confirmed: anyone could claim one.",
                hint="Configure mail with EMAIL_HOST or EMAIL_BACKEND.",
                id="kb.E022",
            )
        )
    return found


@register(Tags.database)
def role_is_bound_by_row_security(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    [(name, is_superuser, bypasses)] = run_sql(WHO_AM_I)
    if not (is_superuser or bypasses):
        return []
    return [
        Error(
            f"The role '{name}' in DATABASE_URL can see the rows of every workspace: it bypasses"
            " row-level security.",
            hint="Use a role without SUPERUSER and BYPASSRLS; `preparedatabase` creates one.",
            id="kb.E003",
        )
    ]


@register(Tags.database)
def role_owns_nothing(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    if DEFAULT_DB_ALIAS not in (databases or ()) or run_sql(CAN_OPEN_LOCKS) == [(False,)]:
        return []
    return [
        Caution(
            "The role in DATABASE_URL owns tables or may create schemas, so it could switch"
            " row-level security off.",
            hint="Give migrations a role of their own in DATABASE_OWNER_URL, then run"
            " `preparedatabase`.",
            id="kb.W001",
        )
    ]


@register(Tags.database)
def vectors_are_there(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    rows = run_sql(PGVECTOR_VERSION)
    version = rows[0][0] if rows else ""
    if tuple(int(part) for part in version.split(".") if part.isdigit()) >= OLDEST_PGVECTOR:
        return []
    found = f"version {version}" if version else "missing"
    return [
        Error(
            f"The extension pgvector is {found}, but 0.8 or newer is required.",
            hint="Install it on the server, then run `preparedatabase`.",
            id="kb.E004",
        )
    ]
