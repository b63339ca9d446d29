"""Chooses the graph store by what this Postgres has."""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS

from kb_project.graph.age_store import AgeGraphStore, has_age
from kb_project.graph.ports import GraphStore
from kb_project.graph.table_store import TableGraphStore


def graph_store(*, using: str = DEFAULT_DB_ALIAS) -> GraphStore:
    """Return the Apache AGE store if this Postgres has AGE, otherwise the one over the tables."""
    return AgeGraphStore(using=using) if has_age(using=using) else TableGraphStore(using=using)
