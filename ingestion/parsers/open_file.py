"""A file to read that is open already, since parsers can open none themselves."""

from __future__ import annotations

import io
import mmap
import os
from ctypes import Array, c_char
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

_BUFFER: Final = 64 * 1024


class OpenFile:
    """Any number of readers may share its descriptor: each has its own place in the file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Reader(self.descriptor), _BUFFER)

    def read_bytes(self) -> bytes:
        return _Reader(self.descriptor).readall()

    def mapped(self) -> Array[c_char]:
        """Map the file into memory, for native code. It must not be empty."""
        # A private copy: ctypes takes none that cannot be written.
        memory = mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_COPY)
        return (c_char * len(memory)).from_buffer(memory)


class _Reader(io.RawIOBase):
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._place = 0

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        size = os.fstat(self._descriptor).st_size
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: size}[whence]
        if start + offset < 0:
            raise OSError(22, "before the start of the file")
        self._place = start + offset
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        read = os.preadv(self._descriptor, [buffer], self._place)
        self._place += read
        return read

    def readall(self) -> bytes:
        parts = []
        rest = os.fstat(self._descriptor).st_size - self._place
        while rest > 0 and (part := os.pread(self._descriptor, rest, self._place)):
            parts.append(part)
            self._place += len(part)
            rest -= len(part)
        return b"".join(parts)
