"""Measure how long people wait for the first passages when many ask at once.

    python benchmarks/first_passages.py [--rounds N] [--write]

Starts the whole product in a temporary folder, with the demo workspace, as ``make run`` does. Ten
signed-in people each ask five questions at the same moment (POST) and follow each answer's events
(SSE). Measures the time from sending the question to the ``passages`` event and, for comparison,
the time to embed the same fifty questions at once, in one process, with the same model. No two
questions are the same, so no answer comes from the cache.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from django.conf import settings

from kb_project.llm.embedders import LocalEmbedder
from tests.browser.product import Product, product_of_its_own

RESULTS: Final = ROOT / "benchmarks" / "results"
PEOPLE: Final = 10
EACH: Final = 5
WARM_UP: Final = 8
LONGEST_WAIT: Final = 120.0
PASSWORD: Final = secrets.token_urlsafe(12)
ADD_PEOPLE: Final = """
from workspaces.people import services
from workspaces.models import Role, Workspace
workspace = Workspace.objects.get(is_demo=True)
for number in range({people}):
    person = services.person_add(email=f"person{{number}}@demo.test", password="{password}")
    services.member_add(workspace=workspace, user=person, role=Role.VIEWER)
print("workspace", workspace.pk)
"""


@dataclass(frozen=True, slots=True)
class Waited:
    """Seconds from sending the question; None if the event never came."""

    posted: float | None = None
    passages: float | None = None
    ended: float | None = None
    last: str = ""


class Person:
    """A signed-in person, who opens a new connection for each request."""

    def __init__(self, url: str, email: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port or 80
        self._cookies: dict[str, str] = {}
        self._sign_in(email)

    def _sign_in(self, email: str) -> None:
        path = "/accounts/login/"
        page = self.send("GET", path).read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = {
            "csrfmiddlewaretoken": token.group(1) if token else "",
            "login": email,
            "password": PASSWORD,
        }
        answer = self.send(
            "POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"}
        )
        if answer.status != 302:
            raise SystemExit(f"{email} could not sign in: {answer.status}")

    def ask(self, workspace: str, question: str) -> Waited:
        started = time.perf_counter()
        response = self.post(workspace, question)
        if response.status != 202:
            return Waited(last=f"{response.status} {response.read()[:200]!r}")
        events = json.loads(response.read())["events"]
        posted = passages = time.perf_counter() - started
        found, kind = False, ""
        for kind in self._kinds(events):
            if kind == "passages" and not found:
                found, passages = True, time.perf_counter() - started
        ended = time.perf_counter() - started
        return Waited(posted, passages if found else None, ended, kind)

    @property
    def csrf(self) -> dict[str, str]:
        return {"X-CSRFToken": self._cookies["csrftoken"]}

    def post(self, workspace: str, question: str) -> http.client.HTTPResponse:
        body = json.dumps({"question": question})
        headers = {"Content-Type": "application/json", **self.csrf}
        return self.send("POST", f"/api/v1/workspaces/{workspace}/questions/", body, headers)

    def _kinds(self, path: str) -> Iterator[str]:
        response = self.send("GET", path, headers={"Accept": "text/event-stream"})
        for line in response:
            if line.startswith(b"event: "):
                yield line.decode().removeprefix("event: ").strip()

    def send(
        self, method: str, path: str, body: str | None = None, headers: Any = None
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=LONGEST_WAIT)
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        origin = f"http://{self._host}:{self._port}"
        said = {"Cookie": cookies, "Referer": origin, "Connection": "close"} | (headers or {})
        connection.request(method, path, body, said)
        response = connection.getresponse()
        for line in response.headers.get_all("Set-Cookie") or ():
            for name, cookie in SimpleCookie(line).items():
                self._cookies[name] = cookie.value
        return response


def questions_for(rounds: int) -> list[list[str]]:
    """Return warm-up questions, then fifty different ones a round, varied from the demo's own."""
    lines = (settings.BASE_DIR / "ingestion/demo/questions.jsonl").read_text().splitlines()
    own = [json.loads(line)["question"] for line in lines if line]
    places = [
        "on Orran",
        "at Skarrow",
        "for the Trust",
        "in the records",
        "by the sea",
        "in winter",
        "on the island",
        "for visitors",
    ]
    varied = [f"{one.rstrip('?')} {place}?" for place in places for one in own]
    size = PEOPLE * EACH
    starts = range(0, rounds * size, size)
    return [own[:WARM_UP], *(varied[start : start + size] for start in starts)]


def at_once(work: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all callables at the same moment, each in its own thread, and return their results."""
    gate = threading.Barrier(len(work))
    found: list[Any] = [None] * len(work)

    def run(place: int) -> None:
        gate.wait()
        found[place] = work[place]()

    threads = [threading.Thread(target=run, args=[place]) for place in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def embedding_seconds(embedder: LocalEmbedder, questions: Sequence[str]) -> list[float]:
    started: list[float] = []

    def embed(question: str) -> float:
        began = time.perf_counter()
        started.append(began)
        embedder.embed_question(question)
        return time.perf_counter() - began

    return at_once([lambda one=one: embed(one) for one in questions])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that ``share`` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def measured(people: Sequence[Person], workspace: str, questions: Sequence[str]) -> dict[str, Any]:
    embedder = LocalEmbedder(threads=settings.EMBEDDER_THREADS)
    embedder.embed_question("ready")
    work = [
        lambda person=people[place % PEOPLE], one=one: person.ask(workspace, one)
        for place, one in enumerate(questions)
    ]
    before = embedding_seconds(embedder, questions)
    waited: list[Waited] = at_once(work)
    after = embedding_seconds(embedder, questions)
    embedding = percentile(before + after, 0.95)
    passages = [one.passages for one in waited if one.passages is not None]
    p95 = percentile(passages, 0.95) if passages else float("inf")
    return {
        "questions": len(questions),
        "lost": sum(one.passages is None or one.last != "done" for one in waited),
        "passages_p50": round(percentile(passages, 0.5), 3),
        "passages_p95": round(p95, 3),
        "posted_p95": round(percentile([one.posted or 0 for one in waited], 0.95), 3),
        "ended_p95": round(percentile([one.ended or 0 for one in waited], 0.95), 3),
        "embedding_p95": round(embedding, 3),
        "ratio": round(p95 / embedding, 2),
        "load": round(os.getloadavg()[0], 1),
    }


def run(product: Product, rounds: int) -> list[dict[str, Any]]:
    said = product.manage("shell", "-c", ADD_PEOPLE.format(people=PEOPLE, password=PASSWORD))
    workspace = re.findall(r"workspace (\S+)", said)[-1]
    people = [Person(product.url, f"person{number}@demo.test") for number in range(PEOPLE)]
    first, *wanted = questions_for(rounds)
    for question in first:
        people[0].ask(workspace, question)
    return [measured(people, workspace, questions) for questions in wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, choices=range(1, 6), default=3)
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    options = parser.parse_args()
    with product_of_its_own() as product:
        found = run(product, options.rounds)
    for line in found:
        print(json.dumps(line))
    best = sorted(found, key=lambda one: one["ratio"])[len(found) // 2]
    if options.write:
        path = RESULTS / "first-passages-demo.json"
        path.write_text(json.dumps({"median_round": best, "rounds": found}, indent=2) + "\n")
    if any(one["lost"] for one in found) or best["ratio"] >= 5:
        raise SystemExit("Too slow, or something was lost.")


if __name__ == "__main__":
    main()
