"""The outside things a stage or a search may touch, in one frozen bundle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.conf import settings

from kb_project.graph.ports import GraphStore
from kb_project.graph.stores import graph_store
from kb_project.llm.embedders import embedder_named
from kb_project.llm.ports import Embedder


@dataclass(frozen=True, slots=True)
class Ports:
    embedder: Embedder
    graph: GraphStore


@cache
def build_ports() -> Ports:
    """The adapters that settings name; the same ones for the life of the process."""
    return Ports(
        embedder=embedder_named(settings.EMBEDDER, threads=settings.EMBEDDER_THREADS),
        graph=graph_store(),
    )
