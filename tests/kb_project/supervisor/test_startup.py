"""The supervisor's small pieces: socket, console, lock, welcome, the database's guard."""

from __future__ import annotations

import io
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kb_project.database import embedded
from kb_project.database.embedded import running
from kb_project.errors import ConflictError, UnavailableError
from kb_project.supervisor import startup, supervisor
from kb_project.supervisor.startup import (
    Console,
    call_when_answering,
    mail_warning,
    only_supervisor,
    open_listener,
    welcome_text,
)
from kb_project.supervisor.supervisor import DatabaseGuard, how_it_ended
from kb_project.supervisor.watchman import groups_left
from tests.kb_project.database.conftest import folder as folder, kill_all
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]


def test_the_next_free_port_is_taken_when_the_wanted_one_is_not_free():
    with (
        open_listener("127.0.0.1", 18400) as first,
        open_listener("127.0.0.1", first.getsockname()[1]) as second,
    ):
        assert second.getsockname()[1] > first.getsockname()[1]


def test_when_every_port_is_taken_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(startup, "PORTS_TO_TRY", 1)

    with (
        open_listener("127.0.0.1", 18430) as taken,
        pytest.raises(UnavailableError, match="are in use") as caught,
    ):
        open_listener("127.0.0.1", taken.getsockname()[1])
    assert "PORT=" in caught.value.next_step


def test_an_address_that_is_not_ours_is_refused():
    with pytest.raises(UnavailableError, match="Cannot listen"):
        open_listener("192.0.2.1", 18460)


def test_lines_carry_the_name_of_the_part():
    out = io.StringIO()

    console = Console(out)
    console.say("web", "started")
    console.say("web", "")
    console.paragraph("Ready.")

    assert out.getvalue() == "        web | started\n\nReady.\n\n"


def test_a_terminal_gets_a_colour_for_each_part():
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]  # pretends to be a terminal

    console = Console(out)
    console.say("web", "a")
    console.say("worker", "b")
    console.say("web", "c")

    first, second, third = out.getvalue().splitlines()
    assert first[:5] == third[:5] != second[:5]


def test_a_second_supervisor_is_told_where_the_first_one_is(tmp_path):
    hold = (
        "import sys\nfrom pathlib import Path\n"
        "from kb_project.supervisor.startup import only_supervisor\n"
        "with only_supervisor(Path(sys.argv[1]), 'http://127.0.0.1:8123'):\n"
        "    print('held', flush=True)\n    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with (
            pytest.raises(ConflictError, match=r"http://127\.0\.0\.1:8123"),
            only_supervisor(tmp_path, "http://127.0.0.1:8124"),
        ):
            pass
        first.kill()

    with only_supervisor(tmp_path, "http://127.0.0.1:8125"):
        assert (tmp_path / "run.lock").read_text() == "http://127.0.0.1:8125"


def test_the_welcome_names_address_and_sign_in():
    text = welcome_text("http://127.0.0.1:8000", "ada@demo.test", "open sesame")

    assert "http://127.0.0.1:8000" in text
    assert "ada@demo.test / open sesame" in text
    assert "Sign in" not in welcome_text("http://127.0.0.1:8000", "", "")


def test_the_welcome_waits_for_an_answer_of_any_kind():
    answered = threading.Event()
    with open_listener("127.0.0.1", 18490) as listening:
        call_when_answering("127.0.0.1", listening.getsockname()[1], answered.set)
        connection, _ = listening.accept()
        assert not answered.is_set()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            assert answered.wait(PATIENCE)


def test_the_watchman_forgets_groups_that_ended_in_order():
    assert groups_left(["+10\n", "+11\n", "-10\n", "+12\n"]) == {11, 12}


def test_how_a_part_ended_is_said_in_words():
    assert how_it_ended(0) == "stopped (exit code 0)"
    assert how_it_ended(-15) == "was killed (SIGTERM)"


@pytest.mark.slow
def test_the_guard_starts_the_database_again_and_says_so(folder, monkeypatch):
    monkeypatch.setattr(supervisor, "SECONDS_BETWEEN_DATABASE_CHECKS", 0)
    said: list[tuple[str, str]] = []
    guard = DatabaseGuard(folder / "data", lambda name, line: said.append((name, line)))
    guard.start()
    guard.look()
    kill_all(folder / "data")

    guard.look()

    assert running(folder / "data") is not None
    assert said == [("database", "died; restarted.")]
    guard.stop()
    assert running(folder / "data") is None


@pytest.mark.slow
def test_the_guard_says_so_too_when_somebody_else_was_quicker(folder, monkeypatch):
    monkeypatch.setattr(supervisor, "SECONDS_BETWEEN_DATABASE_CHECKS", 0)
    said: list[str] = []
    guard = DatabaseGuard(folder / "data", lambda name, line: said.append(line))
    guard.start()
    kill_all(folder / "data")
    embedded.ensure(folder / "data")

    guard.look()
    guard.look()

    assert said == ["died; restarted."]


@pytest.mark.slow
def test_the_guard_leaves_a_server_running_that_was_there_before(folder):
    embedded.ensure(folder / "data")
    guard = DatabaseGuard(folder / "data", lambda name, line: None)
    guard.start()

    guard.stop()

    assert running(folder / "data") is not None


def test_a_listening_socket_answers_nobody_until_it_is_served():
    with (
        open_listener("127.0.0.1", 18520) as listening,
        socket.create_connection(listening.getsockname(), PATIENCE) as client,
    ):
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_mail_on_the_console_is_warned_of_where_others_can_reach_the_server():
    console = "django.core.mail.backends.console.EmailBackend"

    assert "Set EMAIL_HOST" in mail_warning(console, "192.0.2.1")
    assert mail_warning(console, "::1") == ""
    assert mail_warning("django.core.mail.backends.smtp.EmailBackend", "192.0.2.1") == ""


def test_a_password_that_is_not_known_is_not_announced():
    assert "Sign in" not in welcome_text("http://192.0.2.1:8000", "demo@concordance.local", "")
