"""Django's DATABASES: the bundled server, or the one in DATABASE_URL.

Two aliases connect to the same database: ``default`` as the restricted application role, ``owner``
as the role that owns the tables. Only migrations use ``owner``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kb_project.database.prepare import Plan
from kb_project.env import DatabaseUrl, env_bool, env_int, env_url

EMBEDDED_ENGINE: Final = "kb_project.database.engine"
STOCK_ENGINE: Final = "django.db.backends.postgresql"
DATABASE: Final = "concordance"
OWNER_ALIAS: Final = "owner"
TEST_FOLDER: Final = "test-postgres"
"""The folder of the tests' own server, in the data folder."""
SECONDS_TO_KEEP_A_CONNECTION: Final = 600
POOL_SIZE: Final = 10
USES_BEFORE_PREPARED: Final = 5
"""Executions of a statement on a pooled connection before its plan is kept: planning is a third of
the database's time for a question. Only for the bundled server: a pooler in front of another one
may not support prepared statements."""


def database_settings(data_dir: Path) -> dict[str, Any]:
    """Build Django's DATABASES; a bundled server is in ``data_dir``. Connects to nothing."""
    app_url = env_url("DATABASE_URL")
    if app_url is None:
        folder = data_dir / "postgres"
        app, owner = _embedded(folder, Plan.app), _embedded(folder, Plan.owner)
    else:
        app, owner = _remote(app_url), _remote(env_url("DATABASE_OWNER_URL") or app_url)
    app["ATOMIC_REQUESTS"] = True
    if env_bool("DATABASE_POOL", default=False):
        _use_pool(app)
    return {"default": app, OWNER_ALIAS: owner}


def _embedded(folder: Path, role: str) -> dict[str, Any]:
    options = {"embedded_data": str(folder), "embedded_owner": Plan.owner}
    return _alias(EMBEDDED_ENGINE, options) | {"NAME": DATABASE, "USER": role}


def _remote(url: DatabaseUrl) -> dict[str, Any]:
    return _alias(STOCK_ENGINE, dict(url.options)) | {
        "NAME": url.name,
        "USER": url.user,
        "PASSWORD": url.password,
        "HOST": url.host,
        "PORT": url.port,
    }


def _alias(engine: str, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "ENGINE": engine,
        "CONN_MAX_AGE": SECONDS_TO_KEEP_A_CONNECTION,
        "CONN_HEALTH_CHECKS": True,
        # cypher() of AGE refuses values that the client interpolates into the statement.
        "OPTIONS": {**options, "server_side_binding": True},
    }


def _use_pool(alias: dict[str, Any]) -> None:
    """Configure a pool. Only for processes that never fork, the web server and the answering
    worker: a pool's threads do not survive a fork.
    """
    size = env_int("DATABASE_POOL_SIZE", POOL_SIZE, minimum=1)
    alias["CONN_MAX_AGE"] = 0
    if alias["ENGINE"] == EMBEDDED_ENGINE:
        alias["OPTIONS"]["prepare_threshold"] = USES_BEFORE_PREPARED
    alias["OPTIONS"]["pool"] = {"min_size": min(2, size), "max_size": size, "timeout": 10}
