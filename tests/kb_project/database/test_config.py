"""Which database the settings lead to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kb_project.database.config import EMBEDDED_ENGINE, STOCK_ENGINE, database_settings
from kb_project.env import EnvError

BASE = Path("/srv/checkout")


@pytest.fixture(autouse=True)
def no_database_settings(monkeypatch):
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_POOL", "DATABASE_POOL_SIZE"):
        monkeypatch.delenv(name, raising=False)


def settings() -> dict[str, Any]:
    return database_settings(BASE / "var")


def test_without_an_address_the_bundled_server_is_used():
    default, owner = settings()["default"], settings()["owner"]

    assert default["ENGINE"] == owner["ENGINE"] == EMBEDDED_ENGINE
    assert default["OPTIONS"]["embedded_data"] == "/srv/checkout/var/postgres"
    assert (default["NAME"], default["USER"]) == ("concordance", "kb_app")
    assert (owner["NAME"], owner["USER"]) == ("concordance", "kb_owner")


def test_an_address_leads_to_that_server_with_djangos_own_engine(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://app:p%40ss@db.test:5433/kb?sslmode=require")
    monkeypatch.setenv("DATABASE_OWNER_URL", "postgres://owner:x@db.test:5433/kb")

    default, owner = settings()["default"], settings()["owner"]

    assert default["ENGINE"] == STOCK_ENGINE
    assert (default["USER"], default["PASSWORD"], default["PORT"]) == ("app", "p@ss", "5433")
    assert default["OPTIONS"]["sslmode"] == "require"
    assert owner["USER"] == "owner"


def test_the_owner_is_the_application_where_only_one_address_is_given(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://only@db.test/kb")

    assert settings()["owner"]["USER"] == "only"


def test_an_address_that_is_none_names_its_variable(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "mysql://db.test/kb")

    with pytest.raises(EnvError, match=r"^DATABASE_URL: "):
        settings()


def test_requests_are_transactions_and_values_bound_by_the_server():
    default = settings()["default"]

    assert default["ATOMIC_REQUESTS"] is True
    assert default["OPTIONS"]["server_side_binding"] is True


def test_connections_are_kept_and_checked():
    default = settings()["default"]

    assert default["CONN_MAX_AGE"] > 0
    assert default["CONN_HEALTH_CHECKS"] is True
    assert "pool" not in default["OPTIONS"]


def test_the_web_server_may_ask_for_a_pool(monkeypatch):
    monkeypatch.setenv("DATABASE_POOL", "true")
    monkeypatch.setenv("DATABASE_POOL_SIZE", "4")

    databases = settings()

    assert databases["default"]["CONN_MAX_AGE"] == 0
    assert databases["default"]["OPTIONS"]["pool"]["max_size"] == 4
    assert "pool" not in databases["owner"]["OPTIONS"]


def test_only_the_bundled_server_keeps_the_plans_of_a_pool(monkeypatch):
    assert "prepare_threshold" not in settings()["default"]["OPTIONS"]
    monkeypatch.setenv("DATABASE_POOL", "true")
    assert settings()["default"]["OPTIONS"]["prepare_threshold"] > 0
    monkeypatch.setenv("DATABASE_URL", "postgres://app@db/kb")
    assert "prepare_threshold" not in settings()["default"]["OPTIONS"]
