"""What a file that takes over its reader can reach: nothing.

The product's own host and child run here, with a reader that tries to get out instead of reading.
Root drops to an ordinary account for half of it, so both ways of confining are tried.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from psycopg.conninfo import make_conninfo

from ingestion.parsers import host
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import ParsedDocument, Source
from ingestion.parsers.sandbox import ParserSandbox
from kb_project.confinement import landlock, libc
from kb_project.confinement.layers import NOBODY
from kb_project.errors import UnavailableError
from tests.databases import server_for_tests
from tests.ingestion.parsers.samples import make_pdf, text_page
from tests.ingestion.parsers.test_never_crashes import SAMPLES

DEMO = settings.BASE_DIR / "ingestion" / "demo" / "documents"
ORDINARY = 12345
IS_ROOT = os.geteuid() == 0
ACCOUNTS = [
    pytest.param(0, marks=pytest.mark.skipif(not IS_ROOT, reason="needs root"), id="root"),
    pytest.param(ORDINARY if IS_ROOT else os.geteuid(), id="ordinary"),
]
Payload = Callable[[], object]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


# --- running something inside the child -----------------------------------------------------------
class ForkedHost:
    """The host, forked instead of executed: an ordinary account may not reach root's Python."""

    def __init__(self, control: int, prepare: Callable[[], None]) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.closerange(3, control)
                os.closerange(control + 1, 4096)
                prepare()
                host.main(control)
            finally:
                os._exit(0)

    def wait(self, _timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class ForkedSandbox(ParserSandbox):
    def __init__(self, prepare: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._prepare = prepare

    def _run_host(self, control: socket.socket) -> Any:
        return ForkedHost(control.fileno(), self._prepare)


def inside(payload: Payload, file: Path) -> Any:
    """What the payload returns in the child that should read this file."""

    def read(source: Source) -> ParsedDocument:
        builder = TextBuilder(source)
        builder.verbatim(json.dumps(payload()))
        return builder.build(parser="payload", title="payload")

    def prepare() -> None:
        host.parse_open = lambda file, *, name, limits: read(
            Source(file, name, "text/plain", limits)
        )

    with ForkedSandbox(prepare) as sandbox:
        return json.loads(sandbox.parse(file, name="a.txt").text)


def in_account(account: int, work: Callable[[], Any]) -> Any:
    """What this returns in a process of that account that hides its memory, as the product's do."""
    answer, answer_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() != account:
                os.setgroups([])
                os.setresgid(account, account, account)
                os.setresuid(account, account, account)
            libc.hide_memory()
            found = work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            found = repr(error)
        os.write(answer_in, json.dumps(found).encode())
        os._exit(0)
    os.close(answer_in)
    with os.fdopen(answer, "rb") as stream:
        found = json.loads(stream.read())
    os.waitpid(pid, 0)
    return found


def attempt(payload: Payload) -> str:
    """The name of the error that came of it, or what was reached."""
    try:
        return f"reached: {payload()!r}"
    except psycopg.OperationalError:
        return "EPERM"  # libpq does not say why it has no socket
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))


@pytest.fixture(scope="module", autouse=True)
def _preloaded() -> None:
    """A host that is forked for another account may be unable to import."""
    host.preload()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def file(place) -> Path:
    (place / "a.txt").write_text("the document")
    return place / "a.txt"


def kernel_offers(account: int) -> set[str]:
    """What this test finds out about the kernel without the product's help."""
    offered = {"calls"} if Path("/proc/sys/kernel/seccomp").exists() else set()
    if landlock.version():
        offered.add("files")
    if account == 0:
        offered.add("account")
    separate = in_account(account, lambda: attempt(lambda: libc.call("unshare", 0x50000000)))
    return offered | ({"account", "network"} if separate == "reached: 0" else set())


# --- everything at once ---------------------------------------------------------------------------
def attempts(secret: Path, ancestor: int, database: str) -> dict[str, Payload]:
    kill, call = os.kill, libc.call
    return {
        "the secret key": lambda: (settings.DATA_DIR / "secret_key").read_text(),
        "a file of its own account": secret.read_text,
        "a file that everybody may read": lambda: Path("/etc/passwd").read_text(),
        "a folder": lambda: list(Path("/").iterdir()),
        "the processes": lambda: list(Path("/proc").iterdir()),
        "its own environment": lambda: Path("/proc/self/environ").read_bytes(),
        "the environment of its ancestor": lambda: Path(f"/proc/{ancestor}/environ").read_bytes(),
        "the memory of its ancestor": lambda: Path(f"/proc/{ancestor}/mem").open("rb").close(),
        "a new file": lambda: Path(secret.parent / "new").write_text("x"),
        "a new file in /tmp": lambda: Path("/tmp/kb-new").touch(),
        "removing a file": secret.unlink,
        "changing rights": lambda: secret.chmod(0o777),
        "TCP": lambda: socket.create_connection(("127.0.0.1", 80), 1),
        "an internet socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "a Unix socket": lambda: socket.socket(socket.AF_UNIX),
        "a pair of sockets": socket.socketpair,
        "Postgres": lambda: psycopg.connect(database),
        "another program": lambda: os.execv("/bin/true", ["true"]),
        "a program of its own": lambda: subprocess.run(["/bin/true"], check=False),
        "another process": lambda: os.fork() or os._exit(0),
        "a signal to its ancestor": lambda: kill(ancestor, 0),
        "a signal to itself": lambda: kill(os.getpid(), 0),
        "tracing its ancestor": lambda: call("ptrace", 16, ancestor, 0, 0),
        "reading its ancestor": lambda: call("process_vm_readv", ancestor, None, 0, None, 0, 0),
        "a mount": lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
        "a namespace": lambda: call("unshare", 0x10000000),
        "another namespace": lambda: call("setns", 0, 0),
        "keys of the kernel": lambda: libc.syscall(KEYCTL, 0, -3, 0),
        "programs of the kernel": lambda: libc.syscall(BPF, 0, None, 0),
        "queues of the kernel": lambda: libc.syscall(425, 8, bytes(120)),
        "a handle of a process": lambda: libc.syscall(434, ancestor, 0),
        "a file in memory": lambda: os.memfd_create("x"),
        "being looked into": lambda: call("prctl", 4, 1, 0, 0, 0),
    }


IS_INTEL = os.uname().machine == "x86_64"
KEYCTL, BPF = (250, 321) if IS_INTEL else (219, 280)


@pytest.mark.parametrize("account", ACCOUNTS)
def test_nothing_can_be_reached_from_inside(file, place, account):
    secret = place / "secret"
    secret.write_text("secret")
    os.chown(secret, account, account)
    server = server_for_tests()
    database = make_conninfo(**server.conninfo())
    psycopg.connect(database).close()

    def work() -> Any:
        tries = attempts(secret, os.getpid(), database)
        return inside(lambda: {name: attempt(one) for name, one in tries.items()}, file)

    found = in_account(account, work)

    assert isinstance(found, dict), found
    assert len(found) > 30
    reached = {name: said for name, said in found.items() if said not in ("EPERM", "EACCES")}
    assert reached == {}
    assert secret.read_text() == "secret"


def separation() -> dict[str, Any]:
    """What a process can still say about itself in the child: stat() opens nothing."""
    spaces = {name: Path(f"/proc/self/ns/{name}").stat().st_ino for name in ("net", "user")}
    return {**spaces, "ids": [*os.getresuid(), *os.getresgid()], "groups": os.getgroups()}


@pytest.mark.parametrize("account", ACCOUNTS)
def test_every_layer_that_the_kernel_offers_is_used(file, account):
    def work() -> Any:
        with ForkedSandbox() as sandbox:
            sandbox.parse(file, name="a.txt")
            missing = sandbox.layers.missing()
        return {"missing": missing, "outside": separation(), "inside": inside(separation, file)}

    found = in_account(account, work)

    offered = kernel_offers(account)
    assert {"account", "network", "files", "calls"} - set(found["missing"]) == offered
    before, after = found["outside"], found["inside"]
    if "network" in offered:
        assert after["net"] != before["net"]
    if account == 0:
        assert set(after["ids"]) == {NOBODY}
        assert after["groups"] == []
    elif "account" in offered:
        assert after["user"] != before["user"]


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_child_inherits_its_file_its_reply_and_no_more(file, place, account):
    (place / "other").touch()

    def work() -> Any:
        leaked = os.open(place / "other", os.O_RDONLY)
        os.set_inheritable(leaked, True)  # noqa: FBT003
        return inside(open_descriptors, file)

    # Besides those two, one that tells it how much memory it uses.
    assert len(in_account(account, work)) == 3


def open_descriptors() -> list[int]:
    found = []
    for descriptor in range(3, 300):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        found.append(descriptor)
    return found


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_host_is_confined_too(account):
    def show_memory() -> None:
        libc.call("prctl", 4, 1, 0, 0, 0)

    def work() -> Any:
        with ForkedSandbox(show_memory) as sandbox:
            sandbox._connected()
            process = Path(f"/proc/{sandbox._host.pid}")
            status = (process / "status").read_text().splitlines()
            # While a process cannot be looked into, its files under /proc belong to root.
            owner = (process / "environ").stat().st_uid
            return dict(line.split(":\t") for line in status), owner

    status, owner = in_account(account, work)

    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == ("2" if "calls" in kernel_offers(account) else "0")
    assert int(status["CapEff"], 16) == 0
    assert owner == 0


def test_without_seccomp_nothing_is_read_unless_that_is_allowed(file):
    def lose_seccomp() -> None:
        host.Confinement = WithoutSeccomp  # type: ignore[assignment]  # for this process

    class WithoutSeccomp(host.Confinement):
        def __init__(self, readable: list[Path]) -> None:
            super().__init__(readable)
            self.layers = self.layers.__class__(account=True, network=True, files=True)

    with ForkedSandbox(lose_seccomp) as sandbox:
        with pytest.raises(UnavailableError) as caught:
            sandbox.parse(file, name="a.txt")
        assert caught.value.code == "parser_unconfined"
        sandbox._needs_seccomp = False
        assert sandbox.parse(file, name="a.txt").text == "the document"


# --- reading goes on as before --------------------------------------------------------------------
@pytest.mark.parametrize("account", ACCOUNTS)
def test_every_format_is_read_by_a_child_that_can_open_nothing(place, account):
    """Not even the code that it runs: under /root, an ordinary account could not."""
    files = {
        **{path.name: path.read_bytes() for path in DEMO.iterdir()},
        **SAMPLES,
        "a.pdf": make_pdf([text_page((12, 72, 700, "The gallery door"))]),
        "a.html": b"<html><body><h1>Lamp</h1><p>Lit.</p></body></html>",
        "a.md": b"# Lamp\n\nLit.",
        "a.json": b'{"lamp": "lit"}',
        "a.csv": b"lamp,state\none,lit\n",
        "a.txt": "Größe und Höhe, überall".encode("cp1252"),
        "b.txt": "灯塔在海边,夜里很亮。".encode("gb18030"),
    }
    for name, data in files.items():
        (place / name).write_bytes(data)

    def close_code() -> None:
        host.readable = list

    def work() -> Any:
        with ForkedSandbox(close_code) as sandbox:
            found = sandbox.parse_many([(place / name, name) for name in files])
            picture = sandbox.render_page(place / "a.pdf", 1, 200)
        return [type(one).__name__ for one in found], picture[:4].decode("latin-1")

    assert in_account(account, work) == [["ParsedDocument"] * len(files), "\x89PNG"]
