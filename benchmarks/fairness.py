"""Measure how much one person's burst delays another's file and another's answer.

    python benchmarks/fairness.py [--files N] [--questions N] [--write]

Starts the whole product in a temporary folder, as ``make run`` does, with two workspaces. First,
the idle times: one small file of Bo's until it is ready, one question of his until it is answered.
Then Ada adds so many small files, and while they are processed Bo adds one after another; then Ada
asks so many questions at once in the demo workspace, and Bo asks there meanwhile. What counts are
the ratios to the idle times of the same run: of files to their median, of a question to its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.first_passages import ADD_PEOPLE, PASSWORD, Person, at_once
from tests.browser.product import Product, product_of_its_own

RESULTS: Final = ROOT / "benchmarks" / "results"
FILES_TIMES: Final = 5.0
ANSWER_TIMES: Final = 3.0
IDLE_READINGS: Final = 5
READINGS: Final = 12
ROUNDS: Final = 3
"""How often each question is asked, idle and during the burst."""
SECONDS_OF_REFRESH: Final = 5.0
"""Between two of Bo's files: the refresh after one is over when the next one comes."""
LONGEST_WAIT: Final = 900.0
ADD_WORKSPACES: Final = """
from workspaces.people import services
from workspaces.models import User
for name in ("person0", "person1"):
    owner = User.objects.get(email=f"{name}@demo.test")
    print("mine", services.workspace_create(name=f"Of {name}", owner=owner).pk)
"""
ASKED: Final = [
    "Who keeps the Skarrow light?",
    "When did the lantern of Skarrow fail?",
    "How many apprentices does the Trust have?",
    "What did the lens cost?",
    "Who wrote the incident report?",
    "What is the budget for 2025?",
    "Which strategy does the Trust follow until 2030?",
    "Who is on the board?",
]


def text_of(number: int) -> str:
    people = ("Ada Lind", "Bo Strand", "Ines Varga", "Tom Reed")
    places = ("Skarrow", "Orran", "Vell", "Hollin")
    one, place = people[number % 4], places[number // 4 % 4]
    return (
        f"{one} keeps light number {number} at {place}. The lamp burns {number % 9 + 2} litres of"
        f" oil a night, and {one} writes it into the log of {place} every morning.\n"
    )


def add(person: Person, workspace: str, numbers: Sequence[int]) -> list[str]:
    """Upload files in one request; return the documents' ids."""
    border = secrets.token_hex(12)
    parts = [
        f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="{number}.txt"\r\n'
        f"Content-Type: text/plain\r\n\r\n{text_of(number)}\r\n"
        for number in numbers
    ]
    body = "".join(parts) + f"--{border}--\r\n"
    headers = {"Content-Type": f"multipart/form-data; boundary={border}", **person.csrf}
    path = f"/api/v1/workspaces/{workspace}/documents/"
    response = person.send("POST", path, body, headers)
    said = json.loads(response.read())
    if response.status not in (200, 201, 202):
        raise SystemExit(f"Not added: {response.status} {said}")
    return [one["document"] for one in said["documents"]]


def seconds_until_ready(person: Person, workspace: str, number: int) -> float:
    started = time.perf_counter()
    [document] = add(person, workspace, [number])
    path = f"/api/v1/workspaces/{workspace}/documents/{document}/"
    while time.perf_counter() - started < LONGEST_WAIT:
        if json.loads(person.send("GET", path).read())["state"] == "ready":
            return time.perf_counter() - started
        time.sleep(0.1)
    raise SystemExit("A file never became ready.")


def unfinished(person: Person, workspace: str) -> int:
    path = f"/api/v1/workspaces/{workspace}/documents/?state=queued&page_size=1"
    queued = json.loads(person.send("GET", path).read())["total"]
    path = f"/api/v1/workspaces/{workspace}/documents/?state=working&page_size=1"
    return int(queued + json.loads(person.send("GET", path).read())["total"])


def of_files(ada: Person, bo: Person, hers: str, his: str, files: int) -> dict[str, Any]:
    numbers = iter(range(1_000_000, 2_000_000))
    for _ in range(2):  # models load on first use
        seconds_until_ready(bo, his, next(numbers))
    idle = []
    for _ in range(IDLE_READINGS):
        time.sleep(SECONDS_OF_REFRESH)
        idle.append(seconds_until_ready(bo, his, next(numbers)))
    time.sleep(SECONDS_OF_REFRESH)
    started = time.perf_counter()
    for first in range(0, files, 50):  # as a browser sends them
        add(ada, hers, range(first, min(first + 50, files)))
    during: list[float] = []
    while unfinished(ada, hers):
        if len(during) < READINGS:
            during.append(seconds_until_ready(bo, his, next(numbers)))
        time.sleep(SECONDS_OF_REFRESH)
    return {
        "files": files,
        "burst_seconds": round(time.perf_counter() - started, 1),
        **ratios(idle, during, [median(idle)] * len(during), FILES_TIMES),
    }


def of_answers(
    ada: Person, bo: Person, workspace: str, questions: int, *, is_posted: bool
) -> dict[str, Any]:
    def wait(number: int) -> float:
        waited = bo.ask(workspace, f"{ASKED[number % len(ASKED)]} Number {secrets.token_hex(3)}.")
        if waited.last != "done" or waited.ended is None:
            raise SystemExit(f"Not answered: {waited}")
        return waited.ended

    for number in range(3):
        wait(number)
    rounds = [[wait(number) for number in range(len(ASKED))] for _ in range(ROUNDS)]
    idle = [median(same) for same in zip(*rounds, strict=True)]
    posts = [
        lambda number=number: ada.post(workspace, f"{ASKED[number % 8]} Case {number}.").read()
        for number in range(questions)
    ]

    def post() -> None:
        for first in range(0, questions, 8):
            at_once(posts[first : first + 8])

    posting = threading.Thread(target=post)
    started = time.perf_counter()
    posting.start()
    posting.join() if is_posted else time.sleep(0.5)
    during = [wait(number) for number in range(ROUNDS * len(ASKED))]
    posting.join()
    return {
        "questions": questions,
        "asked": "once all are sent" if is_posted else "while they are sent",
        "posted_seconds": round(time.perf_counter() - started, 1),
        **ratios(idle, during, idle * ROUNDS, ANSWER_TIMES),
    }


def ratios(
    idle: Sequence[float], during: Sequence[float], usual: Sequence[float], most: float
) -> dict[str, Any]:
    """Readings beside the idle times; ``usual`` is the idle time of the same work for each."""
    found = sorted(one / alone for one, alone in zip(during, usual, strict=True))
    return {
        "idle": [round(one, 2) for one in idle],
        "during": [round(one, 2) for one in during],
        "ratio_median": round(median(found), 2) if found else None,
        "ratio_worst": round(found[-1], 2) if found else None,
        "within": round(sum(one <= most for one in found) / len(found), 2) if found else None,
        "most": most,
        "load": round(os.getloadavg()[0], 1),
    }


def run(product: Product, files: int, questions: int) -> list[dict[str, Any]]:
    add_people = ADD_PEOPLE.format(people=2, password=PASSWORD) + ADD_WORKSPACES
    said = product.manage("shell", "-c", add_people)
    demo = re.findall(r"workspace (\S+)", said)[-1]
    hers, his = re.findall(r"mine (\S+)", said)
    ada, bo = (Person(product.url, f"person{number}@demo.test") for number in range(2))
    found = []
    if questions:
        for is_posted in (False, True):
            found.append(of_answers(ada, bo, demo, questions, is_posted=is_posted))
            print(json.dumps(found[-1]), flush=True)
            time.sleep(10)
    if files:
        found.append(of_files(ada, bo, hers, his, files))
        print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300, help="that Ada adds")
    parser.add_argument("--questions", type=int, default=80, help="that Ada asks")
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    options = parser.parse_args()
    with product_of_its_own() as product:
        found = run(product, options.files, options.questions)
    if options.write:
        (RESULTS / "fairness.json").write_text(json.dumps(found, indent=2) + "\n")
    if any(one["ratio_median"] is None or one["ratio_median"] > one["most"] for one in found):
        raise SystemExit("Unfair: one person's burst delays another for too long.")


if __name__ == "__main__":
    main()
