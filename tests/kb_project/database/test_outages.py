from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from django.db import InterfaceError, OperationalError

from kb_project.database import outages
from kb_project.database.outages import through_outages

NO_PAUSE = (0.0, 0.0, 0.0)


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """How often the connections were closed; there is no database in these tests."""
    calls: list[None] = []
    monkeypatch.setattr(outages.connections, "close_all", lambda: calls.append(None))
    return calls


def failing(times: int, error: Exception) -> Callable[[], str]:
    left = [error] * times

    def work() -> str:
        if left:
            raise left.pop()
        return "done"

    return work


def test_work_that_succeeds_is_done_once(closed: list[None]):
    assert through_outages(failing(0, OperationalError()), pauses=NO_PAUSE) == "done"
    assert closed == []


@pytest.mark.parametrize(
    "error", [OperationalError("gone"), InterfaceError("gone"), psycopg.OperationalError("gone")]
)
def test_work_is_done_again_after_the_database_was_away(error: Exception, closed: list[None]):
    assert through_outages(failing(2, error), pauses=NO_PAUSE) == "done"
    assert len(closed) == 2


def test_what_stays_away_is_an_error_in_the_end():
    with pytest.raises(OperationalError):
        through_outages(failing(4, OperationalError("gone")), pauses=NO_PAUSE)


def test_the_last_attempt_comes_after_the_last_pause():
    assert through_outages(failing(3, OperationalError("gone")), pauses=NO_PAUSE) == "done"


def test_other_errors_are_not_repeated():
    with pytest.raises(ValueError, match="ours"):
        through_outages(failing(1, ValueError("ours")), pauses=NO_PAUSE)


def test_the_pauses_outlast_a_server_that_replays_its_log():
    assert sum(outages.PAUSES) >= 60
    assert list(outages.PAUSES) == sorted(outages.PAUSES)
