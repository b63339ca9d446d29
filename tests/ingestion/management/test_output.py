from __future__ import annotations

import signal
import threading
from io import StringIO
from typing import Any

import pytest

from ingestion.management import output
from ingestion.management.output import Progress, interruptible


def test_what_is_soon_done_says_nothing():
    said = StringIO()

    report = Progress(said)
    for done in range(100):
        report("rows", done, 100)

    assert said.getvalue() == ""


def test_what_takes_long_says_now_and_then_how_far_it_is(monkeypatch: Any):
    said, now = StringIO(), 0.0
    monkeypatch.setattr(output.time, "monotonic", lambda: now)
    report = Progress(said)

    for now in (4.0, 6.0, 7.0, 12.0):
        report("rows", int(now) * 1000, 20_000)

    assert said.getvalue() == "6,000 of 20,000 rows written12,000 of 20,000 rows written"


def test_a_request_to_end_is_as_a_person_stopping_it():
    before = signal.getsignal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGTERM)

    assert signal.getsignal(signal.SIGTERM) is before


def test_in_another_thread_nothing_is_changed():
    ran = []

    def work() -> None:
        with interruptible():
            ran.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ran == [signal.getsignal(signal.SIGTERM)]
