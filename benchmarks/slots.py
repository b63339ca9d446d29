"""Measure what sharing an endpoint's slots costs, between real processes on one database.

    python benchmarks/slots.py [--workers 3] [--slots 4] [--call 0.1] [--rounds 15]

Workers keep every slot busy with calls that only sleep. Prints how long it takes to acquire and
release a free slot; how long a question, a summary and another extraction wait for a slot
meanwhile; and how soon a killed worker's slots are free again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Final

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
django.setup()

from kb_project.llm.slots import close_sessions, shared_slots

LINE: Final = 2_000_000_011  # unlikely to be any endpoint's number
ASKERS: Final = {"question": 0, "summary": 1, "extraction": 2}


def extract(slots: int, seconds: float) -> None:
    """Run a worker that always wants more calls than there are slots; each call ends after a
    while."""
    with shared_slots(LINE, slots).enter(ASKERS["extraction"]) as gate:
        ends: list[float] = []
        while True:
            ends = [end for end in ends if end > time.monotonic()]
            held = gate.adjust(running=len(ends), wanted=slots)
            ends += [time.monotonic() + seconds for _ in range(held - len(ends))]
            time.sleep(max(0.0, min(ends, default=0.0) - time.monotonic()))


def waited(slots: int, priority: int) -> float:
    """Return the seconds until a slot is free."""
    started = time.perf_counter()
    with shared_slots(LINE, slots).enter(priority) as gate:
        gate.adjust(running=0, wanted=1)
        return time.perf_counter() - started


def taken_and_given_back(slots: int, count: int) -> list[float]:
    took = []
    for _ in range(count):
        started = time.perf_counter()
        with shared_slots(LINE, slots).enter(2) as gate:
            gate.adjust(running=0, wanted=slots)
        took.append(time.perf_counter() - started)
    return took


def show(what: str, seconds: list[float]) -> None:
    median, most = statistics.median(seconds) * 1000, max(seconds) * 1000
    print(f"{what:32} median {median:8.1f} ms   worst {most:8.1f} ms")


def beside(workers: list[BaseProcess], measure: Callable[[], None]) -> None:
    for worker in workers:
        worker.start()
    time.sleep(3.0)  # until every worker has started
    try:
        measure()
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def measure(slots: int, rounds: int) -> None:
    for name in ("question", "summary"):
        found = []
        for _ in range(rounds):
            found.append(waited(slots, ASKERS[name]))
            time.sleep(0.5)  # until the workers have taken the slot again
        show(f"a {name} waits", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--call", type=float, default=0.1, help="Seconds a call takes.")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    show("a free slot, there and back", taken_and_given_back(given.slots, 200))
    spawn = multiprocessing.get_context("spawn")
    workers: list[BaseProcess] = [
        spawn.Process(target=extract, args=(given.slots, given.call), daemon=True)
        for _ in range(given.workers)
    ]
    beside(workers, lambda: measure(given.slots, given.rounds))
    show("free after a kill, extraction", [waited(given.slots, ASKERS["extraction"])])
    close_sessions()


if __name__ == "__main__":
    main()
