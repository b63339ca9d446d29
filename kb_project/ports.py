"""The external services a stage or a search may use, how each is chosen, and a bundle of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Final

from django.conf import settings

from kb_project.errors import InputError
from kb_project.graph.age_store import AgeGraphStore, has_age
from kb_project.graph.ports import GraphReader, GraphStore
from kb_project.graph.routing import RoutedGraphReader
from kb_project.graph.table_store import TableGraphStore
from kb_project.llm.embedders import KnownVectors, LocalCrossEncoder, LocalEmbedder
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import ChatModel, CrossEncoder, Embedder, ModelOptions, Reranker

LOCAL: Final = "local"
"""The name of the built-in model."""


def graph_store() -> GraphStore:
    """Return the Apache AGE store if this Postgres has AGE, otherwise the one over the tables."""
    return AgeGraphStore() if has_age() else TableGraphStore()


def graph_reader() -> GraphReader:
    """Return the reader that asks, for each pattern, the store that answers it best."""
    return RoutedGraphReader()


def embedder_named(name: str, *, threads: int = 0) -> Embedder:
    """Build an embedder: ``local`` is the packaged model, ``fake`` hashes words, for tests.

    Raises InputError for any other name.
    """
    if name == LOCAL:
        return KnownVectors(LocalEmbedder(threads=threads), settings.DEMO_VECTORS)
    if name == "fake":
        return FakeEmbedder()
    raise InputError(
        f"EMBEDDER is '{name}', which is not an embedder.", next_step="Set it to 'local' or 'fake'."
    )


@dataclass(frozen=True, slots=True)
class Ports:
    """The services. ``chat`` is None on the local tier, ``reranker`` if none is chosen.
    ``next_embedder`` is set while an index for a new model is being built. ``answer_chat`` is a
    chat model that only writes answers; ``chat`` is None then too. ``cross_encoder`` is None if the
    built-in model is not used.
    """

    embedder: Embedder
    graph: GraphStore
    chat: ChatModel | None = None
    options: ModelOptions = field(default_factory=ModelOptions)
    next_embedder: Embedder | None = None
    reranker: Reranker | None = None
    answer_chat: ChatModel | None = None
    cross_encoder: CrossEncoder | None = None

    @property
    def writer(self) -> ChatModel | None:
        """The chat model that writes answers."""
        return self.chat or self.answer_chat

    @property
    def reader(self) -> ChatModel | None:
        """The chat model that reads passages: it extracts, situates, and decides about names. None
        if that is done locally, also where a model writes reports and answers."""
        return None if self.options.local_extraction else self.chat


@cache
def build_ports() -> Ports:
    """Build the adapters the settings name, once per process: those of the local tier.

    ``workspaces.ports.ports_for`` adds a workspace's own choice.
    """
    threads = settings.EMBEDDER_THREADS
    return Ports(
        embedder=embedder_named(settings.EMBEDDER, threads=threads),
        graph=graph_store(),
        cross_encoder=LocalCrossEncoder(threads) if settings.EMBEDDER == LOCAL else None,
    )
