"""The warm process behind the sandbox: it has every reader loaded and forks a child per request.

Started as ``python -m ingestion.parsers.host FD`` by ``sandbox.ParserSandbox``. FD is one end of a
socket; each message on it is a ``wire.Request`` with two descriptors: where the child writes its
reply, and a socket over which this process reports how the child ended. The other side hangs up on
that socket to have the child killed, and closes FD to shut this process down; the kernel closes
both when the other side dies, however it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import os
import resource
import selectors
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from ingestion.parsers import FORMATS, parse, parser_of, pdf, refusals, wire
from ingestion.parsers.document import Limits
from ingestion.parsers.wire import Request
from kb_project.errors import ParseError

READY: Final = b"ready"
LARGEST_REQUEST: Final = 256 * 1024
_OPEN_FILES: Final = 64
_REPLY_FD: Final = 3
# Linux prctl(2): have the kernel kill this process with its parent; never gain rights by exec.
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_LIBC: Final = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    report: socket.socket


class Host:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._wakeup_in = socket.socketpair()
        self._wakeup.settimeout(0)
        self._wakeup_in.settimeout(0)

    def serve(self) -> None:
        """Serve until the other side closes the control socket."""
        signal.set_wakeup_fd(self._wakeup_in.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        self._control.send(READY)
        is_wanted = True
        while is_wanted:
            for key, _ in self._selector.select():
                is_wanted = self._handle(key) and is_wanted
        for child in self._children.values():
            os.kill(child.pid, signal.SIGKILL)

    def _handle(self, key: selectors.SelectorKey) -> bool:
        """False if the other side is gone."""
        if key.fileobj is self._control:
            return self._accept()
        if key.fileobj is self._wakeup:
            with contextlib.suppress(BlockingIOError):
                self._wakeup.recv(4096)
            self._reap()
        else:
            self._kill(key.data)
        return True

    def _accept(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, LARGEST_REQUEST, 2)
        except ConnectionError:
            return False
        if not data:
            return False
        reply, report_fd = descriptors
        report = socket.socket(fileno=report_fd)
        pid = os.fork()
        if pid == 0:
            _be_child(Request.from_bytes(data), reply)
        os.close(reply)
        child = _Child(pid, report)
        self._children[pid] = child
        self._selector.register(report, selectors.EVENT_READ, child)
        return True

    def _kill(self, child: _Child) -> None:
        """Kill a child because the other side hung up. It stays listed until it is reaped."""
        if self._children.get(child.pid) is not child:
            # It has just been reaped, in the same batch of events.
            return
        self._selector.unregister(child.report)
        os.kill(child.pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            child = self._children.pop(pid)
            if child.report.fileno() in self._selector.get_map():
                self._selector.unregister(child.report)
            ended = [os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024]
            with contextlib.suppress(OSError):
                # No one is listening if the child was killed on request.
                child.report.send(json.dumps(ended).encode())
            child.report.close()


def _be_child(request: Request, reply: int) -> NoReturn:
    code = 1
    try:
        _confine(request, reply)
        for one in request.each():
            _allow(one.limits, is_last=not request.more)
            _write(_answer(one))
        code = 0
    finally:
        # Nothing may unwind into the host's own frames, not even an unexpected error.
        if code and (kind := sys.exc_info()[0]):
            _write(wire.CRASH + kind.__name__.encode())
        os._exit(code)


def _confine(request: Request, reply: int) -> None:
    """Keep only the reply open, die with the host, and cap processor time at that of all files."""
    host = os.getppid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(reply, _REPLY_FD)
    os.closerange(_REPLY_FD + 1, os.sysconf("SC_OPEN_MAX"))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    _tie_to(host)
    files = 1 + len(request.more)
    _limit(resource.RLIMIT_CPU, files * _processor_seconds(request.limits))
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)


def _allow(limits: Limits, *, is_last: bool) -> None:
    """Set the memory and processor time the next file may use on top of what is already used.

    The memory limit can be raised again for a following file, but not after the last one.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = math.ceil(usage.ru_utime + usage.ru_stime)
    _limit(resource.RLIMIT_AS, _address_space() + limits.memory_bytes, is_final=is_last)
    _limit(resource.RLIMIT_CPU, used + _processor_seconds(limits), is_final=False)


def _processor_seconds(limits: Limits) -> int:
    return math.ceil(limits.seconds) + 1


def _tie_to(host: int) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != host:
        os._exit(1)


def _limit(kind: int, value: int, *, is_final: bool = True) -> None:
    """Set a limit; one that is not final can be raised again."""
    _, ceiling = resource.getrlimit(kind)
    value = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
    resource.setrlimit(kind, (value, value if is_final else ceiling))


def _address_space() -> int:
    """Bytes this process has mapped already; the limit is added on top."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except FileNotFoundError:
        return 0
    return pages * resource.getpagesize()


def _answer(request: Request) -> bytes:
    try:
        return _carry_out(request)
    except ParseError as error:
        refusal = error
    except FileNotFoundError:
        refusal = refusals.file_missing(request.name)
    except MemoryError:
        refusal = refusals.out_of_memory(request.name, limit=request.limits.memory_bytes)
    return wire.REFUSAL + wire.refusal_to_bytes(refusal)


def _carry_out(request: Request) -> bytes:
    path = Path(request.path)
    match request.operation:
        case "parse":
            document = parse(path, name=request.name, limits=request.limits)
            return wire.DOCUMENT + wire.document_to_bytes(document)
        case "page_boxes":
            boxes = pdf.page_boxes(path, *request.arguments)
            return wire.BOXES + json.dumps(boxes).encode()
        case "render_page":
            return wire.PICTURE + pdf.render_page(path, *request.arguments)


def _write(reply: bytes) -> None:
    view = memoryview(wire.framed(reply))
    while view:
        view = view[os.write(_REPLY_FD, view) :]


def main() -> None:
    # Ctrl-C in a terminal reaches the whole group; the parent ends this process in an orderly way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    # Import every parser now, so that children start reading at once.
    for media_type in FORMATS:
        parser_of(media_type)
    # Permanent objects are hidden from the collector, so that no child copies their pages by
    # touching them.
    gc.collect()
    gc.freeze()
    Host(control).serve()


if __name__ == "__main__":
    main()
