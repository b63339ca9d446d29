"""The configuration of the bundled server: ``kb.conf``, rewritten before each start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MIB: Final = 1024 * 1024
# With less shared memory than this (containers get 64 MB), a parallel index build runs out of it.
ENOUGH_SHARED_MEMORY: Final = 1024 * MIB
CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")

FIXED: Final[dict[str, str]] = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "superuser_reserved_connections": "5",
    "shared_preload_libraries": "'age'",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "1",
    "timezone": "'UTC'",
    # One file per weekday, so at most a week of logs.
    "logging_collector": "on",
    "log_directory": "'log'",
    "log_filename": "'postgresql-%a.log'",
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    # Document text must not reach a log: neither in statements nor in rows that errors quote.
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
}


def server_conf(socket_dir: Path, changes: Mapping[str, str]) -> str:
    """Return the text of ``kb.conf``; ``changes`` are used verbatim, quotes included."""
    values = {**FIXED, **sized(memory_bytes()), "unix_socket_directories": f"'{socket_dir}'"}
    if shutil.disk_usage("/dev/shm").total < ENOUGH_SHARED_MEMORY:  # noqa: S108 - not a temp file
        values["dynamic_shared_memory_type"] = "mmap"
    values.update(changes)
    return "".join(f"{name} = {value}\n" for name, value in values.items())


def sized(memory: int) -> dict[str, str]:
    """Return settings for the machine's memory (bytes): an eighth shared, half as expected cache.

    >>> sized(8 * 1024**3)
    {'shared_buffers': '1024MB', 'effective_cache_size': '4096MB'}
    """
    shared = min(max(memory // 8 // MIB, 128), 1024)
    return {
        "shared_buffers": f"{shared}MB",
        "effective_cache_size": f"{max(memory // 2 // MIB, 256)}MB",
    }


def memory_bytes() -> int:
    """Return the memory this process may use: the machine's, or its control group's limit."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(CGROUP_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return physical
