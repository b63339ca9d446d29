"""Run only the server for a language model; `run --model` starts it with everything else."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kb_project.env import env_int
from kb_project.errors import KBError
from kb_project.supervisor.local_model import (
    CONTEXT,
    HOST,
    LONGEST_NAME,
    check_is_installed,
    check_is_model,
    wanted_port,
)

QUIET: Final = -1
# A small model repeats itself until it is cut off, unless that is made less likely.
REPEATING: Final = 1.1
REPEATING_TOKENS: Final = 128


class Command(BaseCommand):
    help = "Serve a GGUF model on this machine's own address, with an OpenAI-compatible API."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the model, a GGUF file")
        parser.add_argument("--port", type=int, default=wanted_port())

    def handle(self, *args: Any, file: Path, port: int, **options: Any) -> None:
        try:
            check_is_installed()
            check_is_model(file)
        except KBError as error:
            raise CommandError(error.sentence) from error
        server = _server(file, port)
        self.stdout.write(f"{file.name} is served at {server.listening_address}/v1")
        self.stdout.flush()
        # The server has threads of its own. SIGTERM ends them with this process: nothing is lost.
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


def _server(file: Path, port: int) -> Any:
    import xllamacpp  # noqa: PLC0415 - an optional package

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem[:LONGEST_NAME]}
    params.hostnames = [HOST]
    params.port = port
    params.api_keys = [settings.MODEL_KEY] if settings.MODEL_KEY else []
    # No page of its own, and no page of others may read its answers.
    params.ui = False
    params.cors_origins = f"http://{HOST}:{port}"
    params.n_ctx = settings.MODEL_CONTEXT_WINDOW or CONTEXT
    params.n_parallel = 1
    params.cache_ram_mib = 0
    # Half the cores: threads spin while they wait, and slow each other on busy cores.
    threads = env_int("MODEL_THREADS", max(1, (os.cpu_count() or 2) // 2), minimum=1)
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.sampling.penalty_repeat = REPEATING
    params.sampling.penalty_last_n = REPEATING_TOKENS
    params.verbosity = QUIET
    try:
        return xllamacpp.Server(params)
    except RuntimeError:
        raise CommandError(
            f"llama.cpp could not load {file.name} or listen on port {port}. The file may be"
            " incomplete, of a kind it does not know, or too large for this machine's memory."
        ) from None
