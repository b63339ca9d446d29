"""seccomp: the system calls that the parsers' processes may make; the kernel refuses all others.

A list of what is allowed, since new calls appear with every kernel. It has no sockets to open, no
program to execute, no process to trace, signal or look into, and nothing to write except to what is
open already.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kb_project.confinement.libc import syscall

# Names with their numbers on x86-64 and on 64-bit ARM.
_COMMON: Final = """
read 0 63  readv 19 65  pread64 17 67  preadv 295 69  preadv2 327 286  write 1 64  writev 20 66
lseek 8 62  close 3 57  close_range 436 436  dup 32 23  dup2 33 -  dup3 292 24  poll 7 -
ppoll 271 73  select 23 -  pselect6 270 72  mmap 9 222  munmap 11 215  mremap 25 216
mprotect 10 226  madvise 28 233  brk 12 214  msync 26 227  futex 202 98  set_robust_list 273 99
rseq 334 293  membarrier 324 283  sched_yield 24 124  sched_getaffinity 204 123  getcpu 309 168
rt_sigaction 13 134  rt_sigprocmask 14 135  rt_sigreturn 15 139  sigaltstack 131 132
restart_syscall 219 128  exit 60 93  exit_group 231 94  clock_gettime 228 113
clock_getres 229 114  clock_nanosleep 230 115  nanosleep 35 101  gettimeofday 96 169  time 201 -
times 100 153  getrusage 98 165  getrlimit 97 163  setrlimit 160 164  sysinfo 99 179  uname 63 160
getrandom 318 278  getpid 39 172  getppid 110 173  gettid 186 178  getuid 102 174  geteuid 107 175
getgid 104 176  getegid 108 177  getresuid 118 148  getresgid 120 150  getgroups 115 158
fstat 5 80  fadvise64 221 223
"""
_FILES: Final = """
open 2 -  openat 257 56  stat 4 -  lstat 6 -  newfstatat 262 79  statx 332 291  access 21 -
faccessat 269 48  faccessat2 439 439  readlink 89 -  readlinkat 267 78  getdents64 217 61
getcwd 79 17
"""
_CONDITIONAL: Final = """
clone 56 220  clone3 435 435  fcntl 72 25  ioctl 16 29  prlimit64 302 261  tgkill 234 131
"""
_HOST: Final = """
recvmsg 47 212  recvfrom 45 207  sendmsg 46 211  sendto 44 206  shutdown 48 210
getsockname 51 204  getpeername 52 205  getsockopt 55 209  setsockopt 54 208  epoll_ctl 233 21
epoll_wait 232 -  epoll_pwait 281 22  wait4 61 260  kill 62 129  prctl 157 167  seccomp 317 277
landlock_restrict_self 446 446
"""
# Later calls get the answer of an older kernel, so that the C library uses what it used before.
_LAST_KNOWN: Final = 450

_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
_KILL: Final = 0x80000000
# Instructions of classic BPF, and where struct seccomp_data has what they load.
_LOAD: Final = 0x20
_AND: Final = 0x54
_IF_EQUAL: Final = 0x15
_IF_ABOVE: Final = 0x25
_RETURN: Final = 0x06
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
_ARGUMENTS_AT: Final = 16

_SET_FILTER: Final = 1
_ALL_THREADS: Final = 1

_ANY_BIT: Final = 0xFFFFFFFF
_TO_WRITE: Final = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND | 0o20000000  # O_TMPFILE
_THREAD: Final = 0x00010000
# CLONE_NEWTIME is not one that clone() takes.
_NAMESPACES: Final = 0x7E020000
_DUPLICATE_AND_FLAGS: Final = (0, 1, 2, 3, 4, 1030)
_IS_TERMINAL: Final = 0x5401
_CLOSE_ON_EXEC: Final = 0x5451


@dataclass(frozen=True, slots=True)
class Architecture:
    """``column`` is where the tables above have its numbers."""

    name: str
    audit: int
    column: int
    number_of_seccomp: int


ARCHITECTURES: Final = {
    one.name: one
    for one in (
        Architecture("x86_64", 0xC000003E, 1, 317),
        Architecture("aarch64", 0xC00000B7, 2, 277),
    )
}


@dataclass(frozen=True, slots=True)
class Only:
    """Allow a call if the bits of one argument have one of these values."""

    argument: int
    values: tuple[int, ...]
    bits: int = _ANY_BIT


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse a call with this error."""

    number: int


Rule = Only | Refuse | None
"""None allows a call whatever its arguments."""


def host_rules() -> dict[str, Rule]:
    """What the process needs that forks the parsers' children: processes, its open sockets."""
    rules = _conditional(os.getpid()) | dict.fromkeys(_names(_COMMON, _FILES, _HOST))
    # Its children end with abort() too, under another number.
    return rules | {"clone": Only(0, (0,), _NAMESPACES), "tgkill": None}


def child_rules(pid: int, *, may_open: bool) -> dict[str, Rule]:
    """What the process needs that reads files; it opens some more, for reading, if it may."""
    rules = _conditional(pid) | dict.fromkeys(_names(_COMMON, _FILES))
    if may_open:
        return rules | {"open": Only(1, (0,), _TO_WRITE), "openat": Only(2, (0,), _TO_WRITE)}
    return rules | {"open": Refuse(errno.EACCES), "openat": Refuse(errno.EACCES)}


def _conditional(pid: int) -> dict[str, Rule]:
    return {
        "clone": Only(0, (_THREAD,), _THREAD | _NAMESPACES),
        # Its arguments are in memory, where a filter cannot look: the C library falls back.
        "clone3": Refuse(errno.ENOSYS),
        "fcntl": Only(1, _DUPLICATE_AND_FLAGS),
        "ioctl": Only(1, (_IS_TERMINAL, _CLOSE_ON_EXEC)),
        "prlimit64": Only(0, (0,)),
        "tgkill": Only(0, (pid,)),
    }


def _names(*tables: str) -> Iterator[str]:
    for table in tables:
        yield from table.split()[::3]


def architecture() -> Architecture | None:
    """Return that of this process; None if there is no table for it."""
    is_64_bit = sys.maxsize > 2**32
    return ARCHITECTURES.get(platform.machine()) if is_64_bit else None


def program(rules: dict[str, Rule], arch: Architecture) -> bytes:
    """Return the filter as the kernel takes it."""
    numbers = dict(_numbers(arch.column))
    code = [
        _load(_ARCHITECTURE_AT),
        _if(arch.audit, skip=1),
        _return(_KILL),
        _load(_NUMBER_AT),
    ]
    for name, rule in rules.items():
        if name in numbers:
            block = list(_block(rule))
            code += [_if(numbers[name], skip=0, otherwise=len(block)), *block]
    code += [
        _instruction(_IF_ABOVE, _LAST_KNOWN, 0, 1),
        _return(_ERROR | errno.ENOSYS),
        _return(_ERROR | errno.EPERM),
    ]
    return b"".join(code)


def _numbers(column: int) -> Iterator[tuple[str, int]]:
    for table in (_COMMON, _FILES, _CONDITIONAL, _HOST):
        words = table.split()
        for name, number in zip(words[::3], words[column::3], strict=True):
            if number != "-":
                yield name, int(number)


def _block(rule: Rule) -> Iterable[bytes]:
    """Return what decides about one call; it never goes on to what follows."""
    match rule:
        case None:
            return [_return(_ALLOW)]
        case Refuse(number):
            return [_return(_ERROR | number)]
    code = [_load(_ARGUMENTS_AT + 8 * rule.argument), _instruction(_AND, rule.bits)]
    for value in rule.values:
        code += [_if(value, skip=0, otherwise=1), _return(_ALLOW)]
    return [*code, _return(_ERROR | errno.EPERM)]


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _return(value: int) -> bytes:
    return _instruction(_RETURN, value)


def _if(value: int, *, skip: int, otherwise: int = 0) -> bytes:
    """Compare with what was loaded: skip this many instructions if equal, or otherwise."""
    return _instruction(_IF_EQUAL, value, skip, otherwise)


def _instruction(code: int, value: int, skip: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skip, otherwise, value)


def install(rules: dict[str, Rule]) -> None:
    """Put this process under the filter, with all its threads and what it forks. Raises OSError."""
    arch = architecture()
    if arch is None:
        raise OSError(errno.ENOSYS, "no table of system calls for this machine")
    code = program(rules, arch)
    instructions = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(instructions))
    if thread := syscall(arch.number_of_seccomp, _SET_FILTER, _ALL_THREADS, head):
        raise OSError(errno.EBUSY, f"thread {thread} has another filter")
