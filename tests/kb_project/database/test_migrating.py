"""Commands on a database that is behind the code."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder

from kb_project.database.engine.base import DATA

pytestmark = pytest.mark.django_db


def test_somebody_elses_database_is_left_for_them_to_migrate(settings, monkeypatch):
    options = {k: v for k, v in settings.DATABASES["default"]["OPTIONS"].items() if k != DATA}
    theirs = {**settings.DATABASES["default"], "OPTIONS": options}
    monkeypatch.setitem(settings.DATABASES, "default", theirs)
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda self: {})

    with pytest.raises(CommandError, match=r"migrations behind.*Run 'manage.py migrate'"):
        call_command("createworkspace", "Merrow Sound")


def test_a_database_that_is_up_to_date_is_used_as_it_is(capsys):
    call_command("createworkspace", "Merrow Sound")

    assert capsys.readouterr().err == ""
