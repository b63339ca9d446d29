"""Measure whether the time of an answer tells who has an account.

    python benchmarks/sign_in_times.py [--each N] [--page PAGE]

Asks the pages for sign-in (with a wrong password), for a reset link and for sign-up, for addresses
with an account and without one, each address once, in random order in one run: a slow machine is
slow for both. Mail is sent to an SMTP server on loopback. The requests go through the middleware to
a database of their own, without the network, which would only hide a difference. Prints medians,
quartiles, the ratio of the medians with its 95 % interval (bootstrap), and the share of random
labellings that differ as much (permutation test): a small one means that the times differ. The same
for the time of the processor alone, which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import secrets
import socketserver
import sys
import tempfile
import time
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final, cast

import django
import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
FIRST_ADDRESS: Final = int(IPv4Address("198.18.0.1"))
WARM_UP: Final = 10
LABELLINGS: Final = 10_000
PAGES: Final = ("login", "password/reset", "signup")


class Mailbox(socketserver.StreamRequestHandler):
    """Accepts any mail by SMTP and keeps none."""

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        for line in self.rfile:
            word = line.strip().upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while self.rfile.readline().strip() != b".":
                    pass
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")


def serve_mail(ports: Any) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        ports.send(server.server_address[1])
        server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=200, help="Addresses of each kind.")
    parser.add_argument("--page", choices=PAGES, action="append", help="Only this page.")
    given = parser.parse_args()
    there, here = multiprocessing.Pipe()
    mail = multiprocessing.Process(target=serve_mail, args=(here,), daemon=True)
    mail.start()
    with tempfile.TemporaryDirectory() as folder:
        use(Path(folder), int(there.recv()))
        try:
            for page in given.page or PAGES:
                known, unknown = times(page, given.each)
                for column, kind in enumerate(("elapsed", "processor")):
                    report(f"{page} {kind}", known[:, column], unknown[:, column])
        finally:
            clean(Path(folder))
            mail.kill()


def use(folder: Path, port: int) -> None:
    """Make an installation with mail and its database in the folder."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "kb_project.settings",
        "CONCORDANCE_DATA_DIR": str(folder),
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(port),
        "LOG_LEVEL": "ERROR",
        "RATE_ANONYMOUS": "1000000",
    }
    django.setup()
    from kb_project.commands import ensure_migrated

    ensure_migrated(lambda _: None)


def clean(folder: Path) -> None:
    from kb_project.database import embedded

    embedded.delete(folder / "postgres")


def times(page: str, each: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds and processor seconds for addresses with an account, and without one."""
    known = [f"{secrets.token_hex(6)}@known.test" for _ in range(each + WARM_UP)]
    unknown = [f"{secrets.token_hex(6)}@other.test" for _ in range(each + WARM_UP)]
    add_people(known)
    asked = [(True, email) for email in known] + [(False, email) for email in unknown]
    random.shuffle(asked)
    measured: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for (is_known, email), network in zip(asked, networks(), strict=False):
        measured[is_known].append(seconds(page, email, network))
    return np.array(measured[True][WARM_UP:]), np.array(measured[False][WARM_UP:])


def add_people(emails: list[str]) -> None:
    """Add accounts with one password: making a hash for each would take minutes."""
    from allauth.account.models import EmailAddress

    from workspaces.models import User
    from workspaces.people.services import person_add

    first = person_add(email=emails[0], password=secrets.token_urlsafe(12))
    people = [User(email=email, password=first.password) for email in emails[1:]]
    EmailAddress.objects.bulk_create(
        EmailAddress(user=user, email=user.email, verified=True, primary=True)
        for user in User.objects.bulk_create(people)
    )


_next_network = iter(range(FIRST_ADDRESS, FIRST_ADDRESS + 2**16))


def networks() -> Iterator[str]:
    """Return addresses that no limit has seen yet."""
    return (str(IPv4Address(number)) for number in _next_network)


def seconds(page: str, email: str, network: str) -> tuple[float, float]:
    from django.test import Client

    password = secrets.token_urlsafe(12)
    form = {
        "login": {"login": email, "password": password},
        "password/reset": {"email": email},
        "signup": {"email": email, "password1": password, "password2": password},
    }[page]
    client = Client(REMOTE_ADDR=network, SERVER_NAME="localhost")
    started, worked = time.perf_counter(), time.thread_time()
    response = client.post(f"/accounts/{page}/", form)
    took = time.perf_counter() - started, time.thread_time() - worked
    if response.status_code != (200 if page == "login" else 302):
        raise SystemExit(f"{page}: {response.status_code} {response.content[:200]!r}")
    return took


def report(what: str, known: NDArray[np.float64], unknown: NDArray[np.float64]) -> None:
    for name, values in (("account", known), ("none", unknown)):
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)) * 1000
        print(
            f"{what:24} {name:8} n {len(values)}   median {middle:7.1f} ms"
            f"   quartiles {low:7.1f} to {high:7.1f}"
        )
    ratio = np.median(known) / np.median(unknown)
    least, most = ratio_interval(known, unknown)
    print(
        f"{what:24} ratio of the medians {ratio:.3f} (95 % interval {least:.3f} to {most:.3f}),"
        f" as different by chance: {chance(known, unknown):.3f}"
    )


def ratio_interval(known: NDArray[np.float64], unknown: NDArray[np.float64]) -> tuple[float, float]:
    dice = np.random.default_rng(1)

    def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
        drawn = dice.choice(values, (LABELLINGS, len(values)))
        return cast("NDArray[np.float64]", np.median(drawn, axis=1))

    least, most = np.quantile(medians(known) / medians(unknown), (0.025, 0.975))
    return float(least), float(most)


def chance(known: NDArray[np.float64], unknown: NDArray[np.float64]) -> float:
    """Return the share of random labellings whose medians differ at least as much."""
    dice = np.random.default_rng(2)
    together = np.concatenate((known, unknown))

    def difference(values: NDArray[np.float64]) -> float:
        return abs(float(np.median(values[: len(known)]) - np.median(values[len(known) :])))

    seen = difference(together)
    found = sum(difference(dice.permutation(together)) >= seen for _ in range(LABELLINGS))
    return found / LABELLINGS


if __name__ == "__main__":
    main()
