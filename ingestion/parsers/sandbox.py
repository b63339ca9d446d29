"""Read documents in processes that may hang, crash or run out of memory without harm.

A warm host process (``ingestion.parsers.host``) forks a child per request: one document, or a group
of small ones of the same workspace. The child has limits on memory, processor time and open files,
and none of this process's environment. It gets the documents as open files and can reach nothing
else: no other file, process, program or socket (``kb_project.confinement``). This side enforces
wall-clock time and trusts nothing it receives (see ``wire``). Whatever happens to the child becomes
a ParseError about the document it was reading; another child continues with those after it.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from typing import Final, Self, TypeVar

from django.conf import settings

from ingestion.parsers import graph_rows, refusals, wire
from ingestion.parsers.document import MIB, Limits, OpenFile, ParsedDocument
from ingestion.parsers.graph_rows import GraphFile
from ingestion.parsers.wire import Request
from kb_project.confinement.layers import Layers
from kb_project.errors import ParseError, UnavailableError

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")
_ROOT: Final = Path(__file__).resolve().parents[2]
_START_SECONDS: Final = 60
_STOP_SECONDS: Final = 5
_ATTEMPTS: Final = 2
_BLOCK: Final = MIB
_REPORT_SIZE: Final = 256
# A JSON reply takes at most six bytes per character ("\\u0085"), plus headings and pages.
_BYTES_PER_CHARACTER: Final = 6
_REPLY_EXTRA: Final = 256 * MIB
_PAGE_LIMITS: Final = Limits(seconds=20)
_MEMORY_SIGNALS: Final = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)


File = tuple[Path, str]
"""The file's path, and the name a person gave it."""


def _ignore(_read: int) -> None:
    return None


class _HostLostError(Exception):
    """The host process is gone, which is not the document's fault the first time."""


class ParserSandbox:
    """May be shared by threads; a forked process gets a host of its own on its first call."""

    def __init__(self, *, needs_seccomp: bool = True) -> None:
        """On Linux, read only where the kernel has seccomp, unless that is waived."""
        self._needs_seccomp = needs_seccomp and sys.platform == "linux"
        self.layers = Layers()
        """Those of the host that runs, or ran last."""
        self._lock = threading.Lock()
        self._host: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        _SANDBOXES.add(self)

    def parse(self, path: Path, *, name: str, limits: Limits | None = None) -> ParsedDocument:
        """Read a file as text.

        Raises ParseError, with ``parse_timeout``, ``parse_memory`` or ``parse_crashed`` if the
        reader had to be stopped or crashed.
        """
        request = Request("parse", name, limits or Limits())
        return self._ask(request, path, wire.DOCUMENT, wire.document_from_bytes)

    def parse_many(
        self,
        files: Sequence[File],
        *,
        limits: Limits | None = None,
        on_read: Callable[[int], None] = _ignore,
    ) -> list[ParsedDocument | ParseError]:
        """What ``parse`` would return or raise for each file, using as few children as possible.

        The limits apply to each file. ``on_read`` gets the number of files read so far, and may
        raise.
        """
        found: list[ParsedDocument | ParseError] = []
        while len(found) < len(files):
            rest = files[len(found) :][: wire.MOST_FILES]
            name, *more = (name for _, name in rest)
            request = Request("parse", name, limits or Limits(), more=tuple(more))
            paths = [path for path, _ in rest]
            replies, error = self._replies(request, paths, partial(_add_read, on_read, len(found)))
            for reply, (_, name) in zip(replies, rest, strict=False):
                try:
                    document = _understood(reply, name, wire.DOCUMENT, wire.document_from_bytes)
                except ParseError as refusal:
                    found.append(refusal)
                else:
                    found.append(document)
            if error is not None:
                found.append(error)
                on_read(len(found))
        return found

    def page_boxes(
        self, path: Path, page_number: int, page_length: int, start_in_page: int, end_in_page: int
    ) -> list[tuple[float, float, float, float]]:
        """``pdf.page_boxes`` in the sandbox. Raises ParseError."""
        arguments = (page_number, page_length, start_in_page, end_in_page)
        request = Request("page_boxes", path.name, _PAGE_LIMITS, arguments)
        return self._ask(request, path, wire.BOXES, wire.boxes_from_bytes)

    def render_page(self, path: Path, page_number: int, width_px: int) -> bytes:
        """``pdf.render_page`` in the sandbox: a PNG. Raises ParseError."""
        arguments = (page_number, width_px)
        request = Request("render_page", path.name, _PAGE_LIMITS, arguments)
        return self._ask(request, path, wire.PICTURE, bytes)

    def read_graph(self, path: Path, *, name: str) -> GraphFile:
        """``graph_files.read_graph`` in the sandbox. Raises ParseError."""
        request = Request("graph", name, graph_rows.LIMITS)
        return self._ask(request, path, wire.GRAPH, wire.graph_from_bytes)

    def close(self) -> None:
        """End the host and whatever it is reading; the next call would start a new one."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self, request: Request, path: Path, kind: bytes, read: Callable[[bytes], _Answer]
    ) -> _Answer:
        replies, error = self._replies(request, [path], _ignore)
        if error is not None:
            raise error
        return _understood(replies[0], request.name, kind, read)

    def _replies(
        self, request: Request, paths: Sequence[Path], on_read: Callable[[int], None]
    ) -> tuple[list[bytes], ParseError | None]:
        """The replies until the end, or until the error about the next file.

        They end before a file that cannot be opened, and there is one error if that is the first.
        """
        with ExitStack() as stack:
            files = list(_opened(paths, stack))
            if not files:
                return [], refusals.file_missing(request.name)
            for _ in range(_ATTEMPTS):
                control = self._connected()
                try:
                    return _Call(request.first(len(files)), files, on_read).run(control)
                except _HostLostError:
                    self._abandon(control)
        return [], refusals.crashed(request.name)

    def _connected(self) -> socket.socket:
        with self._lock:
            if self._control is None:
                self._start()
            if self._control is None:
                raise UnavailableError(
                    "The program that reads documents did not start.",
                    code="parser_unavailable",
                    kept="All files are stored.",
                    next_step="Reading continues automatically once it starts.",
                )
            return self._control

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._host = self._run_host(theirs)
        self._control = ours
        ours.settimeout(_START_SECONDS)
        try:
            report = ours.recv(_REPORT_SIZE)
        except OSError:
            report = b""
        ours.settimeout(None)
        if not report:
            self._stop()
            return
        self.layers = Layers.from_bytes(report)
        self._require_layers()

    def _run_host(self, control: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "ingestion.parsers.host", str(control.fileno())],
            pass_fds=[control.fileno()],
            cwd="/",
            env={"PYTHONPATH": str(_ROOT), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def _require_layers(self) -> None:
        if missing := self.layers.missing():
            logger.warning("documents are read without these layers: %s", ", ".join(missing))
        if self._needs_seccomp and not self.layers.calls:
            self._stop()
            raise UnavailableError(
                "Documents cannot be read safely: this system has no seccomp.",
                code="parser_unconfined",
                kept="All files are stored.",
                next_step="Your administrator can run Concordance on a system with seccomp, or set"
                " ALLOW_UNCONFINED_PARSING.",
            )

    def _abandon(self, control: socket.socket) -> None:
        """Stop using this host, unless another thread has already replaced it."""
        with self._lock:
            if self._control is control:
                logger.warning("parser host was lost and is restarted")
                self._stop()

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._host is not None:
            try:
                self._host.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._host.kill()
                self._host.wait()
        self._control = self._host = None

    def forget_host(self) -> None:
        """In a forked process, drop the host and the lock, which belong to the parent."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
        if self._host is not None:
            # It is not our child, so Popen must not wait for it or warn about it.
            self._host.returncode = 0
        self._control = self._host = None


class _Call:
    """One request and its replies."""

    def __init__(
        self, request: Request, files: Sequence[int], on_read: Callable[[int], None]
    ) -> None:
        self._request = request
        self._files = files
        self._limits = request.limits
        self._names = [one.name for one in request.each()]
        self._on_read = on_read
        self._deadline = time.monotonic() + request.limits.seconds
        self._room = _REPLY_EXTRA + _BYTES_PER_CHARACTER * request.limits.max_characters
        self._buffer = bytearray()
        self._replies: list[bytes] = []
        self._crash = ""

    def run(self, control: socket.socket) -> tuple[list[bytes], ParseError | None]:
        reply, reply_in = os.pipe()
        report, report_in = socket.socketpair()
        try:
            self._send(control, reply_in, report_in)
            os.set_blocking(reply, False)
            error = self._judge(*self._wait(reply, report))
        except ParseError as refusal:
            error = refusal
        finally:
            os.close(reply)
            # Closing is not enough: a process forked meanwhile may hold a copy, and the host takes
            # the hang-up as the order to kill the child.
            _hang_up(report)
        replies = self._replies[: len(self._names)]
        return replies, error if len(replies) < len(self._names) else None

    @property
    def _name(self) -> str:
        """The file being read."""
        return self._names[min(len(self._replies), len(self._names) - 1)]

    def _send(self, control: socket.socket, reply_in: int, report_in: socket.socket) -> None:
        try:
            message = self._request.to_bytes()
            socket.send_fds(control, [message], [reply_in, report_in.fileno(), *self._files])
        except OSError as error:
            raise _HostLostError from error
        finally:
            os.close(reply_in)
            report_in.close()

    def _wait(self, reply: int, report: socket.socket) -> tuple[int, int]:
        """Collect replies until the host reports how the child ended: (exit code, peak bytes)."""
        poll = select.poll()
        poll.register(reply, select.POLLIN)
        poll.register(report, select.POLLIN)
        while True:
            left = self._deadline - time.monotonic()
            ready = dict(poll.poll(max(0.0, left) * 1000))
            if reply in ready and not self._drain(reply):
                poll.unregister(reply)
            if report.fileno() in ready:
                self._drain(reply)
                return _ended(report)
            if left <= 0:
                raise refusals.timed_out(self._name, seconds=self._limits.seconds)

    def _drain(self, reply: int) -> bool:
        """Read what is available; False at the end of the stream."""
        try:
            while block := os.read(reply, _BLOCK):
                self._buffer += block
                self._take_replies()
                if len(self._buffer) > self._room:
                    raise refusals.crashed(self._name)
        except BlockingIOError:
            return True
        return False

    def _take_replies(self) -> None:
        """Take whole replies out of the buffer; after each, the next file's time begins."""
        while len(self._buffer) >= wire.HEADER_BYTES:
            end = wire.HEADER_BYTES + int.from_bytes(self._buffer[: wire.HEADER_BYTES], "big")
            if len(self._buffer) < end:
                return
            reply = bytes(self._buffer[wire.HEADER_BYTES : end])
            del self._buffer[:end]
            if reply[:1] == wire.CRASH:
                self._crash = reply[1:100].decode("ascii", "replace")
                continue
            self._replies.append(reply)
            self._deadline = time.monotonic() + self._limits.seconds
            self._on_read(len(self._replies))

    def _judge(self, code: int, peak: int) -> ParseError:
        if code == -signal.SIGXCPU:
            return refusals.timed_out(self._name, seconds=self._limits.seconds)
        # Native code that is refused memory aborts; the kernel's OOM killer sends SIGKILL.
        limit = self._limits.memory_bytes
        if code:
            logger.warning("parser child ended with %d %s", code, self._crash)
        if code == -signal.SIGKILL or (-code in _MEMORY_SIGNALS and peak > limit / 2):
            return refusals.out_of_memory(self._name, limit=limit)
        return refusals.crashed(self._name)


def _opened(paths: Sequence[Path], stack: ExitStack) -> Iterator[int]:
    """Open the files for the length of the stack, up to the first that cannot be opened."""
    for path in paths:
        try:
            yield stack.enter_context(OpenFile.at(path)).descriptor
        except OSError as error:
            logger.warning("file cannot be opened: %s", error.strerror)
            return


def _add_read(on_read: Callable[[int], None], before: int, read: int) -> None:
    on_read(before + read)


def _understood(reply: bytes, name: str, kind: bytes, read: Callable[[bytes], _Answer]) -> _Answer:
    """The content of a reply. Raises ParseError."""
    if reply[:1] == wire.REFUSAL:
        raise wire.refusal_from_bytes(reply[1:])
    if reply[:1] != kind:
        raise refusals.crashed(name)
    try:
        return read(reply[1:])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("parser reply was not understood: %s", type(error).__name__)
        raise refusals.crashed(name) from error


def _ended(report: socket.socket) -> tuple[int, int]:
    try:
        message = report.recv(_REPORT_SIZE)
    except OSError as error:
        raise _HostLostError from error
    if not message:
        raise _HostLostError
    code, peak = json.loads(message)
    return int(code), int(peak)


def _hang_up(report: socket.socket) -> None:
    # OSError: the host has closed its end, as it does after its report.
    with report, suppress(OSError):
        report.shutdown(socket.SHUT_RDWR)


_SANDBOXES: Final[weakref.WeakSet[ParserSandbox]] = weakref.WeakSet()


def _forget_hosts() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.forget_host()


os.register_at_fork(after_in_child=_forget_hosts)


@cache
def default_sandbox() -> ParserSandbox:
    """The sandbox shared by everything in this process."""
    sandbox = ParserSandbox(needs_seccomp=not settings.ALLOW_UNCONFINED_PARSING)
    atexit.register(sandbox.close)
    return sandbox
