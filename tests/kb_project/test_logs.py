from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from kb_project import logs
from kb_project.logs import OURS, add_job, current_job, formatter, quieten


@pytest.fixture
def levels() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in OURS}
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def line(message: str, *arguments: object, name: str = "ingestion.pipeline.runner") -> str:
    record = logging.LogRecord(name, logging.INFO, "x", 1, message, arguments, None)
    return formatter().format(record)


def test_a_line_has_time_level_event_and_who_said_it():
    said = line("document added document=%s", "d1")

    assert said.startswith("timestamp=")
    assert "level='info'" in said
    assert "event='document added document=d1'" in said
    assert "logger='ingestion.pipeline.runner'" in said


def test_a_line_is_one_line():
    assert "\n" not in line("a\nb").replace("\\n", "")


def test_the_job_at_hand_stands_on_every_line():
    token = current_job.set("j1")
    try:
        assert "job='j1'" in line("stage failed")
    finally:
        current_job.reset(token)
    assert "job=" not in line("stage failed")


def test_without_a_job_nothing_is_added():
    assert add_job(None, "info", {"event": "x"}) == {"event": "x"}


@pytest.mark.usefixtures("levels")
def test_a_person_who_waits_for_a_command_is_not_told_of_events():
    logging.getLogger("ingestion").setLevel(logging.INFO)

    quieten(1)

    assert not logging.getLogger("ingestion.documents.services").isEnabledFor(logging.INFO)
    assert logging.getLogger("ingestion.documents.services").isEnabledFor(logging.WARNING)


@pytest.mark.usefixtures("levels")
def test_who_asks_for_events_gets_them():
    logging.getLogger("ingestion").setLevel(logging.INFO)

    quieten(2)

    assert logging.getLogger("ingestion.documents.services").isEnabledFor(logging.INFO)


def test_every_app_of_ours_is_named():
    assert set(logs.OURS) == {"kb_project", "workspaces", "ingestion", "retrieval"}
