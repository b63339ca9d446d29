"""Calls to the Linux kernel that Python has no functions for. Each raises OSError if it fails."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

# Options of prctl, which the C library calls PR_SET_...
_SET_PDEATHSIG: Final = 1
_SET_DUMPABLE: Final = 4
_SET_NO_NEW_PRIVS: Final = 38

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
Argument = int | bytes | ctypes.Array[ctypes.c_char] | None


def call(function: str, *arguments: Argument) -> int:
    """Call a function of the C library, with numbers as wide as a pointer."""
    result: int = getattr(_LIBC, function)(*map(_wide, arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: Argument) -> int:
    return call("syscall", number, *arguments)


def _wide(argument: Argument) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def hide_memory() -> None:
    """Keep other processes of this account out of this one's memory and environment.

    They can neither read them under ``/proc`` nor attach a debugger, and a crash leaves no core
    file. A forked process inherits this; a program that is executed starts without it.
    """
    if sys.platform == "linux":
        call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


def gain_no_rights() -> None:
    """Give up gaining rights by executing a program, for this process and its children."""
    if sys.platform == "linux":
        call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """Have the kernel kill this process with its parent. A change of account undoes it."""
    if sys.platform == "linux":
        call("prctl", _SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
