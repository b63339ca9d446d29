"""What keeps a process that reads untrusted files from everything else on the machine.

Several layers, each used where the kernel and this process's rights allow it, so that a gap in one
is covered by another:

- *account*: another account (as root), or a user namespace: not the memory, environment and
  signals of the other processes, nor files of the account;
- *network*: a network of its own, without any interface;
- *files*: Landlock, which lets it open a few listed folders for reading and nothing else;
- *calls*: seccomp, which leaves it no system call for sockets, programs or other processes.

Run as a program, this prints which of them work here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final, Self

from kb_project.confinement import landlock, libc, seccomp

NOBODY: Final = 65534
_NEW_IPC: Final = 0x08000000
_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
# Version 3 of the interface: two 32-bit words for each of the three sets, all of them empty.
_CAPABILITIES: Final = (0x20080522).to_bytes(4, sys.byteorder) + bytes(4)
_NO_CAPABILITY: Final = bytes(24)
_ROOT: Final = Path(__file__).resolve().parents[2]
_SECONDS_TO_TRY: Final = 20


@dataclass(frozen=True, slots=True)
class Layers:
    """Which layers are in force."""

    account: bool = False
    network: bool = False
    files: bool = False
    calls: bool = False

    def missing(self) -> list[str]:
        return [field.name for field in fields(self) if not getattr(self, field.name)]

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(**json.loads(data))


class Confinement:
    """The layers around a process that forks others to read files, and around those."""

    def __init__(self, readable: Sequence[Path]) -> None:
        """Confine this process. ``readable`` is all that its children can open.

        What else they need must be imported, loaded or open already. Layers that the kernel does
        not offer are left out, and missing in ``layers``.
        """
        self._rules: int | None = None
        self.layers = Layers()
        if sys.platform != "linux":
            return
        libc.gain_no_rights()
        account, network = _separate()
        self._rules = _restrict_files(readable)
        calls = _filter(seccomp.host_rules())
        self.layers = Layers(account, network, files=self._rules is not None, calls=calls)

    @property
    def descriptors(self) -> list[int]:
        """What must be open until ``enter``."""
        return [] if self._rules is None else [self._rules]

    def enter(self) -> None:
        """Confine a forked child, for good. Raises OSError if a layer that worked no longer does.

        Less than the host may: no look into ``/proc``, no child, no signal, no socket.
        """
        if self._rules is not None:
            landlock.restrict(self._rules)
            os.close(self._rules)
        if self.layers.calls:
            rules = seccomp.child_rules(os.getpid(), may_open=self.layers.files)
            seccomp.install(rules)


def _separate() -> tuple[bool, bool]:
    """Leave the account and the network; return which of the two worked.

    A user namespace takes the place of another account: from inside it, this account's other
    processes are out of reach. An ordinary account, and root in a container, can only leave the
    network together with it.
    """
    network = _unshare(_NEW_NETWORK | _NEW_IPC)
    account = _become_nobody()
    if not (network and account) and _unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC):
        # Its first process has every capability inside it.
        libc.call("capset", _CAPABILITIES, _NO_CAPABILITY)
        return True, True
    return account, network


def _unshare(namespaces: int) -> bool:
    try:
        libc.call("unshare", namespaces)
    except OSError:
        return False
    return True


def _become_nobody() -> bool:
    """Change from root to an account that owns nothing, which takes all capabilities away."""
    if os.geteuid() != 0:
        return False
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return False
    # The kernel has switched it on again, or off, depending on a setting.
    libc.hide_memory()
    return True


def _restrict_files(readable: Sequence[Path]) -> int | None:
    """Return the ruleset for children; None without Landlock."""
    if not landlock.version():
        return None
    rules = landlock.ruleset(readable)
    # Its children look up their size before they give up the look.
    landlock.restrict(landlock.ruleset([*readable, Path("/proc")]))
    return rules


def _filter(rules: dict[str, seccomp.Rule]) -> bool:
    try:
        seccomp.install(rules)
    except OSError:
        return False
    return True


def layers_here() -> Layers:
    """Return which layers work on this machine, by confining a process that does nothing else."""
    tried = subprocess.run(
        [sys.executable, "-m", __name__],
        check=False,
        capture_output=True,
        cwd=_ROOT,
        env={},
        timeout=_SECONDS_TO_TRY,
    )
    return Layers.from_bytes(tried.stdout) if tried.returncode == 0 else Layers()


if __name__ == "__main__":
    sys.stdout.buffer.write(Confinement([]).layers.to_bytes())
