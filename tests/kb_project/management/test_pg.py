"""`manage.py pg`: the bundled server by hand."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from kb_project.database.embedded import running
from tests.kb_project.database.conftest import folder as folder

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_server(folder, monkeypatch) -> None:
    """A server of this test's own in the place of the project's."""
    options = {"embedded_data": str(folder / "data")}
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", options)


def pg(*words: str, **options: Any) -> str:
    out = StringIO()
    call_command("pg", *words, stdout=out, **options)
    return out.getvalue().strip()


def test_start_status_and_stop_say_what_is(folder):
    assert "is not running" in pg("status")

    assert pg("start").startswith("The database is running")
    assert "is running" in pg("status")
    assert running(folder / "data") is not None

    assert pg("stop") == "The database is stopped."
    assert pg("stop") == "The database was not running, so there was nothing to do."


def test_status_can_be_read_by_programs(folder):
    assert json.loads(pg("status", "--json")) == {
        "running": False,
        "data": str(folder / "data"),
        "socket": None,
    }


def test_with_a_server_of_ones_own_there_is_nothing_to_start(monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", {})

    with pytest.raises(CommandError, match="DATABASE_URL is set"):
        pg("start")
