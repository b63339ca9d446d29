"""Each layer alone, in processes of its own: what it closes is open without it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from kb_project.confinement import landlock, layers, libc, seccomp
from kb_project.confinement.layers import Confinement, Layers, layers_here

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
DUMPABLE = 3


def in_a_fork(work: Callable[[], object]) -> str:
    answer, answer_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = repr(work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            said = type(error).__name__
        os.write(answer_in, said.encode())
        os._exit(0)
    os.close(answer_in)
    with os.fdopen(answer, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(pid, 0)
    return said


needs_landlock = pytest.mark.skipif(not landlock.version(), reason="no Landlock here")


@needs_landlock
def test_landlock_leaves_what_is_listed_readable_and_nothing_writable(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    (inside / "a.txt").write_text("text")
    outside.write_text("text")

    def under(attempt: Callable[[], object]) -> str:
        def work() -> object:
            landlock.restrict(landlock.ruleset([inside, tmp_path / "missing"]))
            return attempt()

        return in_a_fork(work)

    assert under((inside / "a.txt").read_text) == "'text'"
    assert under(outside.read_text) == "PermissionError"
    assert under(lambda: (inside / "b.txt").write_text("x")) == "PermissionError"
    assert under((inside / "a.txt").unlink) == "PermissionError"


def test_seccomp_alone_closes_sockets_programs_and_processes():
    def under(attempt: Callable[[], object]) -> str:
        def work() -> object:
            seccomp.install(seccomp.child_rules(os.getpid(), may_open=True))
            return attempt()

        return in_a_fork(work)

    assert under(lambda: 1 + 1) == "2"
    assert under(socket.socketpair) == "PermissionError"
    assert under(os.fork) == "PermissionError"
    assert under(lambda: os.kill(os.getpid(), 0)) == "PermissionError"
    assert under(lambda: os.execv("/bin/true", ["true"])) == "PermissionError"


def test_another_account_or_a_namespace_hides_what_an_ancestor_keeps_in_memory():
    ancestor = os.getpid()
    if not layers_here().account:
        pytest.skip("neither another account nor a user namespace here")

    def work() -> object:
        layers._separate()
        return Path(f"/proc/{ancestor}/environ").read_bytes()

    assert in_a_fork(Path(f"/proc/{ancestor}/environ").read_bytes) != "PermissionError"
    assert in_a_fork(work) == "PermissionError"


def test_the_network_left_behind_is_out_of_reach():
    if not layers_here().network:
        pytest.skip("no network namespace here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def work() -> object:
            layers._separate()
            socket.create_connection(address, 1).close()
            return "connected"

        assert in_a_fork(lambda: socket.create_connection(address, 1).close()) == "None"
        assert in_a_fork(work) == "OSError"


def test_what_is_missing_is_named():
    assert Layers(account=True, files=True).missing() == ["network", "calls"]
    assert Layers.from_bytes(Layers(calls=True).to_bytes()) == Layers(calls=True)


def test_a_child_that_cannot_confine_itself_does_not_go_on(monkeypatch):
    def work() -> object:
        confinement = Confinement([])
        monkeypatch.setattr(seccomp, "_SET_FILTER", 99)
        confinement.enter()
        return "went on"

    assert in_a_fork(work) == "OSError"


# --- the product's other processes ----------------------------------------------------------------
def dumpable(**environment: str) -> str:
    code = "from kb_project.confinement import libc; print(libc.call('prctl', 3, 0, 0, 0, 0))"
    ended = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=settings.BASE_DIR,
        env={"PATH": "/usr/bin:/bin", **environment},
    )
    return ended.stdout.strip()


def test_every_command_hides_its_memory_unless_debuggers_are_let_in():
    assert dumpable() == "0"
    assert dumpable(ALLOW_DEBUGGERS="true") == "1"


def test_hiding_keeps_processes_of_the_same_account_out():
    if os.geteuid() != 0:
        pytest.skip("needs root, to become an ordinary account without leaving its namespace")

    def look(*, hidden: bool) -> str:
        def work() -> object:
            os.setgroups([])
            os.setresgid(12345, 12345, 12345)
            os.setresuid(12345, 12345, 12345)
            libc.call("prctl", 4, 0 if hidden else 1, 0, 0, 0)
            ancestor = os.getpid()
            return in_a_fork(lambda: len(Path(f"/proc/{ancestor}/environ").read_bytes()) > 0)

        return in_a_fork(work)

    assert look(hidden=False) == "'True'"
    assert look(hidden=True) == "'PermissionError'"
