"""The whole product as ``make run`` starts it, in a folder of its own."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from kb_project.database import embedded
from tests.data_folders import make_migrated, new_root
from tests.patience import PATIENCE

READY = re.compile(r"Sign in to the demo:\s+(\S+) / (\S+)")


@dataclass(frozen=True)
class Product:
    """Where it is, and who may sign in."""

    url: str
    email: str
    password: str
    data: Path
    log: Path

    def manage(self, *words: str) -> str:
        """What a command of the installation says on its standard output."""
        done = subprocess.run(command(self.data, *words), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def command(data: Path, *words: str) -> list[str]:
    program = (sys.executable, str(settings.BASE_DIR / "manage.py"))
    # Scripted models run on loopback.
    own = (f"CONCORDANCE_DATA_DIR={data}", "MODEL_HOSTS_ALLOWED=127.0.0.1")
    return ["env", *own, *program, *words]


@contextmanager
def running_product(folder: Path) -> Iterator[Product]:
    """Start everything, wait until the demo can be asked, and stop it at the end."""
    port = free_port()
    log = folder / "run.log"
    data = folder / "data"
    make_migrated(data)
    with log.open("w") as output:
        running = command(data, "run", "--port", str(port))
        process = subprocess.Popen(running, stdout=output, stderr=subprocess.STDOUT)
        try:
            email, password = wait_until_ready(process, log)
            yield Product(f"http://127.0.0.1:{port}", email, password, data, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
            embedded.delete(data / "postgres")


@contextmanager
def product_of_its_own() -> Iterator[Product]:
    """The same in a new folder, which is deleted at the end."""
    folder = new_root("kb product ")
    try:
        with running_product(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> tuple[str, str]:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if found := READY.search(log.read_text()):
            return found.group(1), found.group(2)
        time.sleep(0.3)
    raise AssertionError(f"The product did not start:\n{log.read_text()[-4000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
