"""The filter of system calls, run by a small interpreter of classic BPF, for both machines."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from kb_project.confinement import seccomp
from kb_project.confinement.seccomp import ARCHITECTURES, Architecture, child_rules, host_rules

PID = 4711
KILL, ALLOW = 0x80000000, 0x7FFF0000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def run(program: bytes, data: bytes) -> int:
    """What the kernel would answer: loads, masks, jumps forward, and returns."""
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = held = 0
    while True:
        operation, when_true, when_false, value = code[at]
        at += 1
        match operation:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, value)
            case 0x54:
                held &= value
            case 0x15:
                at += when_true if held == value else when_false
            case 0x25:
                at += when_true if held > value else when_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such operation: {operation}")


class Kernel:
    """The filter on one machine, asked about calls by name."""

    def __init__(self, arch: Architecture, rules: dict[str, seccomp.Rule]) -> None:
        self._arch = arch
        self._program = seccomp.program(rules, arch)
        self.numbers = dict(seccomp._numbers(arch.column))

    def says(self, number: int, *arguments: int, audit: int | None = None) -> str:
        padded = [*arguments, *[0] * (6 - len(arguments))]
        place = self._arch.audit if audit is None else audit
        answer = run(self._program, struct.pack("=IIQ6Q", number, place, 0, *padded))
        if answer in (ALLOW, KILL):
            return "allow" if answer == ALLOW else "kill"
        return errno.errorcode[answer & 0xFFFF]

    def says_of(self, name: str, *arguments: int) -> str:
        return self.says(self.numbers[name], *arguments)


@pytest.fixture(params=ARCHITECTURES.values(), ids=lambda arch: arch.name)
def arch(request) -> Architecture:
    return request.param


@pytest.fixture
def child(arch) -> Kernel:
    return Kernel(arch, child_rules(PID, may_open=True))


def test_the_numbers_are_those_of_the_kernels_headers(arch):
    header = HEADERS[arch.name]
    if not header.exists():
        pytest.skip(f"no {header} here")
    defined = dict(
        re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", header.read_text(encoding="ascii"))
    )
    # The general header calls it by its older name.
    defined.setdefault("newfstatat", defined.get("fstatat", ""))

    ours = dict(seccomp._numbers(arch.column))

    assert {name: str(number) for name, number in ours.items()} == {
        name: defined[name] for name in ours
    }


def test_a_call_of_another_machine_kills(child):
    assert child.says(child.numbers["read"], audit=0x40000003) == "kill"


def test_reading_and_memory_are_allowed(child):
    calls = ("read", "pread64", "mmap", "munmap", "brk", "futex", "exit_group", "getrandom")

    assert {child.says_of(name) for name in calls} == {"allow"}


@pytest.mark.parametrize(
    ("intel", "arm"),
    [
        pytest.param(41, 198, id="socket"),
        pytest.param(42, 203, id="connect"),
        pytest.param(53, 199, id="socketpair"),
        pytest.param(59, 221, id="execve"),
        pytest.param(322, 281, id="execveat"),
        pytest.param(101, 117, id="ptrace"),
        pytest.param(310, 270, id="process_vm_readv"),
        pytest.param(165, 40, id="mount"),
        pytest.param(250, 219, id="keyctl"),
        pytest.param(321, 280, id="bpf"),
        pytest.param(425, 425, id="io_uring_setup"),
        pytest.param(272, 97, id="unshare"),
        pytest.param(308, 268, id="setns"),
        pytest.param(62, 129, id="kill"),
        pytest.param(157, 167, id="prctl"),
        pytest.param(317, 277, id="seccomp"),
        pytest.param(437, 437, id="openat2"),
        pytest.param(87, 35, id="unlink"),
        pytest.param(47, 212, id="recvmsg"),
    ],
)
def test_ways_out_are_refused(arch, child, intel, arm):
    assert child.says(intel if arch.name == "x86_64" else arm) == "EPERM"


def test_the_other_numbers_of_the_same_processor_are_refused(child):
    """x32: the kernel may answer these like the plain ones."""
    assert child.says(0x40000000 | child.numbers["read"]) == "ENOSYS"


def test_calls_of_later_kernels_are_unknown_and_so_the_library_falls_back(child):
    assert child.says(462) == "ENOSYS"
    assert child.says_of("clone3") == "ENOSYS"


@pytest.mark.parametrize(
    ("flags", "said"),
    [(0o0, "allow"), (0o2000000, "allow"), (0o1, "EPERM"), (0o2, "EPERM"), (0o100, "EPERM")],
)
def test_files_are_opened_for_reading_only(child, flags, said):
    assert child.says_of("openat", 0, 0, flags) == said


def test_without_landlock_no_file_is_opened_at_all(arch):
    closed = Kernel(arch, child_rules(PID, may_open=False))

    assert closed.says_of("openat", 0, 0, 0) == "EACCES"


THREAD = 0x3D0F00


@pytest.mark.parametrize(
    ("flags", "of_host", "of_child"),
    [
        pytest.param(THREAD, "allow", "allow", id="thread"),
        pytest.param(0x1200011, "allow", "EPERM", id="fork"),
        pytest.param(0x10000011, "EPERM", "EPERM", id="user namespace"),
        pytest.param(THREAD | 0x40000000, "EPERM", "EPERM", id="network namespace"),
    ],
)
def test_the_host_forks_and_the_child_has_threads_at_most(arch, child, flags, of_host, of_child):
    parent = Kernel(arch, host_rules())

    assert parent.says_of("clone", flags) == of_host
    assert child.says_of("clone", flags) == of_child


def test_a_child_may_abort_itself_and_signal_no_other(child):
    assert child.says_of("tgkill", PID, PID, 6) == "allow"
    assert child.says_of("tgkill", PID - 1, PID, 6) == "EPERM"


def test_limits_of_other_processes_are_left_alone(child):
    assert child.says_of("prlimit64", 0) == "allow"
    assert child.says_of("prlimit64", 1) == "EPERM"
