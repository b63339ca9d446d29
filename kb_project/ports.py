"""The external services a stage or a search may use, in one frozen bundle."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from django.conf import settings

from kb_project.errors import InputError
from kb_project.graph.ports import GraphStore
from kb_project.graph.stores import graph_store
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.known_vectors import KnownVectors
from kb_project.llm.local_embedder import LocalEmbedder
from kb_project.llm.ports import ChatModel, Embedder, ModelOptions
from kb_project.llm.rerank import Reranker


def embedder_named(name: str, *, threads: int = 0) -> Embedder:
    """Build an embedder: ``local`` is the packaged model, ``fake`` hashes words, for tests.

    Raises InputError for any other name.
    """
    if name == "local":
        return KnownVectors(LocalEmbedder(threads=threads), settings.DEMO_VECTORS)
    if name == "fake":
        return FakeEmbedder()
    raise InputError(
        f"EMBEDDER is '{name}', which is not an embedder.", next_step="Set it to 'local' or 'fake'."
    )


@dataclass(frozen=True, slots=True)
class Ports:
    """The services. ``chat`` is None on the local tier, ``reranker`` if none is chosen.
    ``next_embedder`` is set while an index for a new model is being built.
    """

    embedder: Embedder
    graph: GraphStore
    chat: ChatModel | None = None
    options: ModelOptions = field(default_factory=ModelOptions)
    next_embedder: Embedder | None = None
    reranker: Reranker | None = None


@cache
def build_ports() -> Ports:
    """Build the adapters the settings name, once per process: those of the local tier.

    ``workspaces.ports.ports_for`` adds a workspace's own choice.
    """
    return Ports(
        embedder=embedder_named(settings.EMBEDDER, threads=settings.EMBEDDER_THREADS),
        graph=graph_store(),
    )
