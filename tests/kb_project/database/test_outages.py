from __future__ import annotations

import threading
from collections.abc import Callable
from typing import LiteralString

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable, SerializationFailure

from kb_project.database import outages
from kb_project.database.outages import ATTEMPTS, retried, through_outages
from kb_project.sql import run_sql
from tests import rows
from tests.patience import PATIENCE
from workspaces.models import Workspace

NO_PAUSE = (0.0, 0.0, 0.0)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """How often the connections were closed, in tests without a database."""
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


@pytest.mark.usefixtures("closed")
def test_what_stays_away_is_an_error_in_the_end():
    with pytest.raises(OperationalError):
        through_outages(failing(4, OperationalError("gone")), pauses=NO_PAUSE)


@pytest.mark.usefixtures("closed")
def test_the_last_attempt_comes_after_the_last_pause():
    assert through_outages(failing(3, OperationalError("gone")), pauses=NO_PAUSE) == "done"


@pytest.mark.usefixtures("closed")
def test_other_errors_are_not_repeated():
    with pytest.raises(ValueError, match="ours"):
        through_outages(failing(1, ValueError("ours")), pauses=NO_PAUSE)


def test_the_pauses_outlast_a_server_that_replays_its_log():
    assert sum(outages.PAUSES) >= 60
    assert list(outages.PAUSES) == sorted(outages.PAUSES)


def broken_off(cause: type[Exception]) -> OperationalError:
    error = OperationalError("broken off")
    error.__cause__ = cause()
    return error


class Work:
    """Fails so many times before it succeeds, and writes a row every time."""

    def __init__(self, failures: int, cause: type[Exception] = DeadlockDetected) -> None:
        self.left = failures
        self.cause = cause
        self.done = 0

    def __call__(self) -> str:
        self.done += 1
        Workspace.objects.create(name=f"Attempt {self.done}", slug=f"attempt-{self.done}")
        if self.left:
            self.left -= 1
            raise broken_off(self.cause)
        return "done"


@pytest.mark.django_db
@pytest.mark.parametrize("cause", [DeadlockDetected, SerializationFailure])
@pytest.mark.parametrize("failures", range(ATTEMPTS))
def test_work_is_done_again_and_only_the_last_time_counts(failures: int, cause: type[Exception]):
    work = Work(failures, cause)

    assert retried(work) == "done"

    assert work.done == failures + 1
    assert [one.name for one in Workspace.objects.all()] == [f"Attempt {work.done}"]


@pytest.mark.django_db
def test_it_is_not_done_for_ever():
    work = Work(ATTEMPTS)

    with pytest.raises(OperationalError):
        retried(work)

    assert work.done == ATTEMPTS
    assert not Workspace.objects.exists()


@pytest.mark.django_db
def test_other_failures_are_not_tried_again():
    work = Work(1, LockNotAvailable)

    with pytest.raises(OperationalError):
        retried(work)

    assert work.done == 1


RENAME: LiteralString = "UPDATE workspaces_workspace SET name = %(name)s WHERE id = %(pk)s"


class Renaming(threading.Thread):
    """Renames workspaces one after the other, once everybody holds their first one."""

    def __init__(self, order: tuple[Workspace, ...], all_hold_one: threading.Barrier) -> None:
        super().__init__()
        self.order = order
        self.all_hold_one = all_hold_one
        self.failed = False
        self.has_begun = False

    def run(self) -> None:
        try:
            retried(self._rename)
        except OperationalError:
            self.failed = True
        finally:
            connections.close_all()

    def _rename(self) -> None:
        first, *others = self.order
        run_sql(RENAME, {"pk": first.pk, "name": first.name})
        if not self.has_begun:
            self.has_begun = True
            self.all_hold_one.wait(PATIENCE)
        for other in others:
            run_sql(RENAME, {"pk": other.pk, "name": first.name})


@pytest.mark.django_db(transaction=True)
def test_two_that_wait_for_each_other_both_come_to_an_end():
    both = rows.make_workspace("First"), rows.make_workspace("Second")
    all_hold_one = threading.Barrier(2)

    threads = [Renaming(order, all_hold_one) for order in (both, both[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [thread.failed for thread in threads] == [False, False]
    assert len(set(Workspace.objects.values_list("name", flat=True))) == 1
