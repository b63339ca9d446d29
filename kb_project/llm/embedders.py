"""Which embedder a setting names."""

from __future__ import annotations

from kb_project.errors import InputError
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.local_embedder import LocalEmbedder
from kb_project.llm.ports import Embedder


def embedder_named(name: str, *, threads: int = 0) -> Embedder:
    """``local`` is the model inside its package; ``fake`` hashes words, for tests.

    Raises InputError for any other name.
    """
    if name == "local":
        return LocalEmbedder(threads=threads)
    if name == "fake":
        return FakeEmbedder()
    raise InputError(
        f"EMBEDDER is '{name}', which is no embedder.", next_step="Set it to 'local' or 'fake'."
    )
