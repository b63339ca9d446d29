from __future__ import annotations

import logging

from kb_project.logs import add_job, current_job, formatter


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
