"""The warm process behind the sandbox: it has every reader loaded and forks a child per request.

Started as ``python -m ingestion.parsers.host FD`` by ``sandbox.ParserSandbox``. FD is one end of a
socket; each message on it is a ``wire.Request`` with descriptors: where the child writes its
reply, a socket over which this process reports how the child ended, and the files to read. The
other side hangs up on that socket to have the child killed, and closes FD to shut this process
down; the kernel closes both when the other side dies, however it dies.

Once everything is loaded, this process gives up whatever it does not need to fork children, and
each child whatever it does not need to read (``kb_project.confinement``).
"""

from __future__ import annotations

import contextlib
import encodings
import gc
import importlib
import json
import math
import os
import pkgutil
import resource
import selectors
import signal
import socket
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from PIL import Image

from ingestion.parsers import (
    FORMATS,
    OpenFile,
    graph_files,
    parse_open,
    parser_of,
    pdf,
    refusals,
    wire,
)
from ingestion.parsers.document import Limits
from ingestion.parsers.wire import Request
from kb_project.confinement import libc
from kb_project.confinement.layers import Confinement
from kb_project.errors import ParseError

LARGEST_REQUEST: Final = 256 * 1024
_OPEN_FILES: Final = 64
_ROOT: Final = Path(__file__).resolve().parents[2]
# What the standard library and the readers' libraries import within functions.
_IMPORTED_LATE: Final = (
    "_strptime",
    "colorsys",
    "heapq",
    "importlib.readers",
    "tracemalloc",
    "unicodedata",
    "xml.dom.expatbuilder",
    "xml.sax.expatreader",
)
# pdfium looks for letters in these when a PDF has none of its own.
_FONTS: Final = ("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts")


@dataclass(frozen=True, slots=True)
class _Running:
    """A child as its host knows it."""

    pid: int
    report: socket.socket


class Host:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._silence = os.open(os.devnull, os.O_RDWR)
        self._confinement: Confinement
        self._children: dict[int, _Running] = {}
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._wakeup_in = socket.socketpair()
        self._wakeup.settimeout(0)
        self._wakeup_in.settimeout(0)

    def serve(self) -> None:
        """Confine this process, then serve until the other side closes the control socket."""
        signal.set_wakeup_fd(self._wakeup_in.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        confinement = self._confinement = Confinement(readable())
        self._control.send(confinement.layers.to_bytes())
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
            data, descriptors, _, _ = socket.recv_fds(
                self._control, LARGEST_REQUEST, 2 + wire.MOST_FILES
            )
        except ConnectionError:
            return False
        if not data:
            return False
        reply, report_fd, *files = descriptors
        report = socket.socket(fileno=report_fd)
        pid = os.fork()
        if pid == 0:
            _Child(Request.from_bytes(data), reply, files, self._silence).run(self._confinement)
        for descriptor in (reply, *files):
            os.close(descriptor)
        child = _Running(pid, report)
        self._children[pid] = child
        self._selector.register(report, selectors.EVENT_READ, child)
        return True

    def _kill(self, child: _Running) -> None:
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


@dataclass(frozen=True, slots=True)
class _Child:
    """A child as it knows itself: ``reply`` and ``files`` are descriptors."""

    request: Request
    reply: int
    files: list[int]
    silence: int

    def run(self, confinement: Confinement) -> NoReturn:
        code = 1
        try:
            size = _confine(self, confinement)
            for one, descriptor in zip(self.request.each(), self.files, strict=True):
                _allow(one.limits, size, is_last=not self.request.more)
                self._write(_answer(one, OpenFile(descriptor)))
            code = 0
        finally:
            # Nothing may unwind into the host's own frames, not even an unexpected error.
            if code and (kind := sys.exc_info()[0]):
                self._write(wire.CRASH + kind.__name__.encode())
            os._exit(code)

    def _write(self, reply: bytes) -> None:
        view = memoryview(wire.framed(reply))
        while view:
            view = view[os.write(self.reply, view) :]


def _confine(child: _Child, confinement: Confinement) -> int | None:
    """Keep only what the child needs, die with the host, and cap processor time at that of all
    files; return the descriptor that tells the child's own size.
    """
    host = os.getppid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in (0, 1, 2):
        os.dup2(child.silence, stream)
    size = _open_size()
    own = [] if size is None else [size]
    _close_all_but([child.reply, *child.files, *own, *confinement.descriptors])
    libc.die_with(host)
    count = len(child.files)
    _limit(resource.RLIMIT_CPU, count * _processor_seconds(child.request.limits))
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES + count)
    confinement.enter()
    return size


def _close_all_but(kept: Sequence[int]) -> None:
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


def _allow(limits: Limits, size: int | None, *, is_last: bool) -> None:
    """Set the memory and processor time the next file may use on top of what is already used.

    The memory limit can be raised again for a following file, but not after the last one.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = math.ceil(usage.ru_utime + usage.ru_stime)
    _limit(resource.RLIMIT_AS, _address_space(size) + limits.memory_bytes, is_final=is_last)
    _limit(resource.RLIMIT_CPU, used + _processor_seconds(limits), is_final=False)


def _processor_seconds(limits: Limits) -> int:
    return math.ceil(limits.seconds) + 1


def _limit(kind: int, value: int, *, is_final: bool = True) -> None:
    """Set a limit; one that is not final can be raised again."""
    _, ceiling = resource.getrlimit(kind)
    value = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
    resource.setrlimit(kind, (value, value if is_final else ceiling))


def _open_size() -> int | None:
    try:
        return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _address_space(size: int | None) -> int:
    """Bytes this process has mapped already; the limit is added on top."""
    if size is None:
        return 0
    pages = int(os.pread(size, 100, 0).split()[0])
    return pages * resource.getpagesize()


def _answer(request: Request, file: OpenFile) -> bytes:
    try:
        return _carry_out(request, file)
    except ParseError as error:
        refusal = error
    except MemoryError:
        refusal = refusals.out_of_memory(request.name, limit=request.limits.memory_bytes)
    return wire.REFUSAL + wire.refusal_to_bytes(refusal)


def _carry_out(request: Request, file: OpenFile) -> bytes:
    match request.operation:
        case "parse":
            document = parse_open(file, name=request.name, limits=request.limits)
            return wire.DOCUMENT + wire.document_to_bytes(document)
        case "page_boxes":
            boxes = pdf.page_boxes(file, request.name, *request.arguments)
            return wire.BOXES + json.dumps(boxes).encode()
        case "render_page":
            return wire.PICTURE + pdf.render_page(file, request.name, *request.arguments)
        case "graph":
            graph = graph_files.read_graph(file, request.name, request.limits)
            return wire.GRAPH + wire.graph_to_bytes(graph)


def readable() -> list[Path]:
    """All that a child can open: code that is imported on first use, and fonts."""
    installed = sysconfig.get_paths()
    code = {installed[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    own = (_ROOT / "ingestion", _ROOT / "kb_project")
    return [*map(Path, sorted(code)), *own, *map(Path, _FONTS)]


def preload() -> None:
    """Import what children use: they start reading at once, and may be unable to import later."""
    for media_type in FORMATS:
        parser_of(media_type)
    Image.preinit()
    codecs = [f"encodings.{module.name}" for module in pkgutil.iter_modules(encodings.__path__)]
    for name in (*_IMPORTED_LATE, *codecs):
        # Two of the codecs are for Windows alone.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    time.tzset()


def main(descriptor: int) -> None:
    """Serve requests that arrive over this socket."""
    libc.hide_memory()
    # Ctrl-C in a terminal reaches the whole group; the parent ends this process in an orderly way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=descriptor)
    preload()
    # Permanent objects are hidden from the collector, so that no child copies their pages by
    # touching them.
    gc.collect()
    gc.freeze()
    Host(control).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
