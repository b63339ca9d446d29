"""Take the model's server away in the middle of an ingest, and count what is lost.

    python benchmarks/outages.py [--outages 3] [--seconds 30] [--documents 12] [--seed 7]

Runs the product's own workers over a database of their own, and a scripted server of models in a
process of its own. That process is killed at random moments and comes back after some seconds,
while no one does anything. Prints when work continued after each outage, and how many passages are
unread at the end; exits 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, LiteralString

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from kb_project.env import child_environment
from tests.browser.product import free_port
from tests.ingestion.pipeline.test_kill import House, wait_for
from tests.model_tier.test_kill import DONE, DONE_TWICE, unhurried
from tests.model_tier.tier import paper
from tests.provider import KEY, MODEL, Provider

PATIENCE: Final = 1_200.0
CALLS_BETWEEN: Final = (8, 25)
"""Answered calls before the next outage, at least and at most."""
PASSAGES: Final[LiteralString] = "SELECT count(*) FROM ingestion_chunk"
UNREAD: Final[LiteralString] = """
SELECT count(*) FROM ingestion_chunk AS c
  LEFT JOIN ingestion_chunkextraction AS x
    ON x.workspace_id = c.workspace_id AND x.chunk_id = c.id
 WHERE x.chunk_id IS NULL OR x.problem IS NOT NULL
"""


@dataclass
class Server:
    """The server of models as a process, at one address however often it is started."""

    port: int = field(default_factory=free_port)
    model: str = MODEL
    key: str = KEY
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        command = [sys.executable, __file__, "--serve", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        if self.process.stdout:
            self.process.stdout.readline()

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


class ServedHouse(House):
    """Workers that use the server's model in every workspace."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder)
        self._server = server

    def _environment(self) -> dict[str, str]:
        return child_environment(
            CONCORDANCE_DATA_DIR=str(self.data),
            EMBEDDER="fake",
            MODEL_ENDPOINT=self._server.url,
            MODEL_NAME=self._server.model,
            MODEL_KEY=self._server.key,
            MODEL_FOR="all",
        )


def serve(port: int) -> None:
    with Provider(port=port) as provider:
        provider.script.on(".", unhurried)
        print("listening", flush=True)
        threading.Event().wait()


def answered(house: ServedHouse) -> int:
    return int(house.query(DONE)[0][0])


def take_away(house: ServedHouse, server: Server, seconds: float, calls: int) -> None:
    """Kill the server once it has answered so many more calls, bring it back, and wait for work."""
    wanted = answered(house) + calls
    wait_for(lambda: answered(house) >= wanted or house.is_done(), patience=PATIENCE)
    server.kill()
    print(f"away after {answered(house)} calls", flush=True)
    time.sleep(seconds)
    before = answered(house)
    server.start()
    back = time.monotonic()
    wait_for(lambda: answered(house) > before or house.is_done(), patience=PATIENCE)
    print(f"  work continued {time.monotonic() - back:.0f} s after it was back", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--outages", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--documents", type=int, default=12)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    folder = Path(tempfile.mkdtemp(prefix="outages "))
    folder.chmod(0o755)
    server = Server()
    server.start()
    house = ServedHouse(folder, server)
    try:
        sys.exit(1 if measured(house, server, options) else 0)
    finally:
        house.end()
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def measured(house: ServedHouse, server: Server, options: argparse.Namespace) -> int:
    """Return how many passages are unread at the end."""
    for old in house.papers.iterdir():
        old.unlink()
    for number in range(options.documents):
        (house.papers / f"{number}.txt").write_text(paper(number, paragraphs=40))
    house.manage("migrate", "--verbosity", "0")
    house.manage("createworkspace", "Papers", "--slug", "papers")
    house.ingest()
    house.start_workers()
    chosen = random.Random(options.seed)
    for _ in range(options.outages):
        take_away(house, server, options.seconds, chosen.randint(*CALLS_BETWEEN))
    wait_for(house.is_done, patience=PATIENCE)
    unread = int(house.query(UNREAD)[0][0])
    print(f"{house.query(PASSAGES)[0][0]} passages, {unread} unread")
    print(f"{answered(house)} calls answered, {len(house.query(DONE_TWICE))} of them twice")
    return unread


if __name__ == "__main__":
    main()
