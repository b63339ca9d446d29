"""Landlock: Linux lets a process give up access to files, whoever owns them.

What is not listed as readable cannot be opened, and nothing can be written, created, deleted or
executed. Where the kernel knows how, TCP, abstract sockets and signals to processes outside go too.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kb_project.confinement.libc import syscall

# The same numbers on every architecture.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1

_READ_FILE: Final = 1 << 2
_READ_DIRECTORY: Final = 1 << 3
# (version of the interface, the last bit of the rights that it added)
_FILE_RIGHTS: Final = ((1, 12), (2, 13), (3, 14), (5, 15))
_TCP_SINCE: Final = 4
_TCP_RIGHTS: Final = 0b11
_SCOPES_SINCE: Final = 6
_SCOPES: Final = 0b11


def version() -> int:
    """Return the version of the kernel's interface; 0 if it has none or it is switched off."""
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def ruleset(readable: Iterable[Path]) -> int:
    """Return the descriptor of a ruleset under which only these paths can be read.

    A path that does not exist, or that this process cannot reach, is left out.
    """
    known = version()
    last = max(bit for since, bit in _FILE_RIGHTS if since <= known)
    rights = (1 << (last + 1)) - 1
    attributes = struct.pack("=Q", rights)
    if known >= _TCP_SINCE:
        attributes += struct.pack("=Q", _TCP_RIGHTS)
    if known >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", _SCOPES)
    rules = syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for path in readable:
        with contextlib.suppress(FileNotFoundError, PermissionError, NotADirectoryError):
            _add(rules, path)
    return rules


def _add(rules: int, path: Path) -> None:
    rights = _READ_FILE | _READ_DIRECTORY if path.is_dir() else _READ_FILE
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, beneath), 0)
    finally:
        os.close(beneath)


def restrict(rules: int) -> None:
    """Put this process, and what it forks, under the ruleset. It cannot be undone."""
    syscall(_RESTRICT_SELF, rules, 0)
