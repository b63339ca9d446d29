from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ

from kb_project.jobs.cluster import Queue
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conf, "POLL", 0)


def take(lane: str = "main") -> list[str]:
    return [payload for _, payload in Queue(list_key=lane).dequeue() or ()]


def take_elsewhere() -> list[str]:
    """Take an entry over a connection of its own."""
    try:
        return take()
    finally:
        connections.close_all()


def test_the_configured_broker_gives_entries_of_its_lane_in_order():
    broker = get_broker("main")
    get_broker("embedding").enqueue("for others")
    for entry in ("first", "second"):
        broker.enqueue(entry)

    assert isinstance(broker, Queue)
    assert [take(), take(), take()] == [["first"], ["second"], []]


def test_an_entry_that_another_worker_is_taking_is_passed_over():
    for entry in ("first", "second"):
        get_broker("main").enqueue(entry)

    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        assert take() == ["first"]
        assert pool.submit(take_elsewhere).result(timeout=PATIENCE) == ["second"]


def test_an_entry_is_taken_again_when_its_time_is_over():
    get_broker("main").enqueue("first")
    assert take() == ["first"]
    assert take() == []

    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=1))

    assert take() == ["first"]
