"""What commands share: a database that is behind the code, and quiet output."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)
from django.core.management.base import SystemCheckError
from django.db.migrations.recorder import MigrationRecorder

from kb_project.commands import PRODUCT, DataCommand
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


@pytest.mark.parametrize("command", [("createworkspace", "Merrow Sound"), ("worker",)])
def test_settings_that_contradict_each_other_are_refused_before_anything_is_done(settings, command):
    settings.CHUNK_OVERLAP = settings.CHUNK_TOKENS

    with pytest.raises(SystemCheckError, match="CHUNK_OVERLAP must be smaller"):
        call_command(*command, skip_checks=False)


class Quick(DataCommand):
    """A command that does nothing, at once."""

    requires_migrations_checks = False
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        pass


@pytest.fixture
def levels() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in PRODUCT}
    for name in PRODUCT:
        logging.getLogger(name).setLevel(logging.INFO)
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("levels")
@pytest.mark.parametrize(("verbosity", "is_shown"), [(1, False), (2, True)])
def test_a_command_shows_events_only_to_who_asks_for_them(verbosity: int, *, is_shown: bool):
    call_command(Quick(), verbosity=verbosity)

    assert logging.getLogger("ingestion.documents.services").isEnabledFor(logging.INFO) is is_shown
    assert logging.getLogger("ingestion.documents.services").isEnabledFor(logging.WARNING)


def test_choices_are_listed_as_they_are_typed():
    for name, app in get_commands().items():
        if app.partition(".")[0] in PRODUCT:
            parser = load_command_class(app, name).create_parser("manage.py", name)
            for option in parser._actions:
                shown = [repr(choice) for choice in option.choices or () if choice]
                assert not [one for one in shown if one.startswith("<")], (name, option.dest)


def test_every_app_of_the_product_is_named(settings):
    apps = {name for name in settings.INSTALLED_APPS if (settings.BASE_DIR / name).is_dir()}

    assert set(PRODUCT) == apps


# What takes long to load, and only some processes ever use: the vendor's client, models of
# languages, libraries for clustering and drawing.
LOADED_LATER = ("openai", "spacy", "jieba", "sklearn", "networkx", "onnxruntime")


def test_a_process_starts_without_what_few_of_them_use():
    code = (
        "import sys, django; django.setup();"
        "import kb_project.urls, ingestion.tasks, retrieval.worker;"
        f"print([name for name in {LOADED_LATER} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
