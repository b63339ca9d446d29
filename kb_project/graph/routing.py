"""Which store answers which question about the graph, within what time.

The tables are the truth; Apache AGE holds a projection of them. A question goes to AGE if
``ANSWERED_BY`` says so and the projection is there and up to date: its graph exists, and no row is
waiting to be projected. Otherwise the tables answer, with the same result. An answer that takes
longer than ``TIME_LIMIT`` is an error, never an empty result.

``benchmarks/graph_patterns.py`` measures both stores; ``docs/benchmarks.md`` has the figures.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, LiteralString, TypeVar
from uuid import UUID

import psycopg
from django.db import DatabaseError, transaction

from kb_project.errors import UnavailableError
from kb_project.graph import sql
from kb_project.graph.age_store import AgeGraphStore, graph_name, has_age
from kb_project.graph.ports import (
    MAX_HOPS,
    MAX_PATHS,
    MAX_SHARED,
    GraphNode,
    GraphPath,
    GraphReader,
    Neighbour,
    Subgraph,
)
from kb_project.graph.table_store import TableGraphStore
from kb_project.sql import run_sql

logger = logging.getLogger(__name__)

TIME_LIMIT: Final = 5_000
"""Milliseconds for one statement."""


class Store(StrEnum):
    AGE = "age"
    TABLES = "tables"


ANSWERED_BY: Final[Mapping[str, Store]] = {
    "neighbours": Store.AGE,
    "paths": Store.TABLES,
    "best_paths": Store.TABLES,
    "shared_neighbours": Store.TABLES,
    "subgraph": Store.TABLES,
    "induced_subgraph": Store.TABLES,
}
"""AGE, unless it takes more than three times as long as the tables at any measured size."""

# Is there a graph, and no row that the graph stage has not projected yet? Each of those would be
# found through a partial index. The same statement limits the time of those that follow.
PREPARE: Final[LiteralString] = """
SELECT current_setting('statement_timeout'),
       set_config('statement_timeout', %(time_limit)s, true),
       to_regclass(%(label)s) IS NOT NULL
   AND NOT EXISTS (SELECT FROM ingestion_entity
                   WHERE workspace_id = %(workspace)s AND is_changed)
   AND NOT EXISTS (SELECT FROM ingestion_relationship
                   WHERE workspace_id = %(workspace)s AND is_changed)
   AND NOT EXISTS (SELECT FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s)
"""
RESTORE_LIMIT: Final[LiteralString] = "SELECT set_config('statement_timeout', %s, true)"

AnswerT = TypeVar("AnswerT")
Ask = Callable[[GraphReader], AnswerT]


class RoutedGraphReader:
    """A ``GraphReader`` over both stores. Call it in a transaction with the workspace's scope."""

    def __init__(self, *, time_limit: int | None = None) -> None:
        self._time_limit = time_limit or TIME_LIMIT
        self._tables = TableGraphStore()
        self._age = AgeGraphStore(expects_graph=True) if has_age() else None

    def neighbours(self, workspace_id: UUID, node_id: UUID, limit: int = 50) -> list[Neighbour]:
        return self._answer(
            "neighbours", workspace_id, lambda store: store.neighbours(workspace_id, node_id, limit)
        )

    def paths(
        self, workspace_id: UUID, source: UUID, target: UUID, max_hops: int = MAX_HOPS
    ) -> list[GraphPath]:
        return self._answer(
            "paths", workspace_id, lambda store: store.paths(workspace_id, source, target, max_hops)
        )

    def best_paths(
        self,
        workspace_id: UUID,
        source: UUID,
        target: UUID,
        max_hops: int = MAX_HOPS,
        limit: int = MAX_PATHS,
    ) -> list[GraphPath]:
        return self._answer(
            "best_paths",
            workspace_id,
            lambda store: store.best_paths(workspace_id, source, target, max_hops, limit),
        )

    def shared_neighbours(
        self, workspace_id: UUID, a: UUID, b: UUID, limit: int = MAX_SHARED
    ) -> list[GraphNode]:
        return self._answer(
            "shared_neighbours",
            workspace_id,
            lambda store: store.shared_neighbours(workspace_id, a, b, limit),
        )

    def subgraph(
        self, workspace_id: UUID, node_ids: Collection[UUID], limit: int = 100
    ) -> Subgraph:
        return self._answer(
            "subgraph", workspace_id, lambda store: store.subgraph(workspace_id, node_ids, limit)
        )

    def induced_subgraph(self, workspace_id: UUID, node_ids: Collection[UUID]) -> Subgraph:
        return self._answer(
            "induced_subgraph",
            workspace_id,
            lambda store: store.induced_subgraph(workspace_id, node_ids),
        )

    def store_for(self, pattern: str, workspace_id: UUID) -> Store:
        """Return which store answers a pattern now."""
        with self._within_time(workspace_id) as is_current:
            return self._chosen(pattern, is_current=is_current)

    def _chosen(self, pattern: str, *, is_current: bool) -> Store:
        has_projection = self._age is not None and is_current
        return ANSWERED_BY[pattern] if has_projection else Store.TABLES

    def _answer(self, pattern: str, workspace_id: UUID, ask: Ask[AnswerT]) -> AnswerT:
        try:
            with self._within_time(workspace_id) as is_current:
                chosen = self._chosen(pattern, is_current=is_current)
                return ask(self._age if self._age and chosen is Store.AGE else self._tables)
        except DatabaseError:
            if ANSWERED_BY[pattern] is Store.TABLES:
                raise
            # For example a graph that pg_restore left without its catalogue entry.
            logger.warning("graph projection unreadable workspace=%s", workspace_id)
        with self._within_time(workspace_id):
            return ask(self._tables)

    @contextmanager
    def _within_time(self, workspace_id: UUID) -> Iterator[bool]:
        """Limit each statement's time, in a savepoint: an error leaves the transaction usable.

        Yields whether the projection is up to date.
        """
        values = {
            "time_limit": str(self._time_limit),
            "label": f'{graph_name(workspace_id)}."{sql.NODE_LABEL}"',
            "workspace": workspace_id,
        }
        try:
            with transaction.atomic():
                ((before, _, is_current),) = run_sql(PREPARE, values)
                yield is_current
                run_sql(RESTORE_LIMIT, [before])
        except DatabaseError as error:
            if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
                raise UnavailableError(
                    "This part of the graph took too long to read.",
                    code="graph_timeout",
                    kept="Nothing was changed.",
                    next_step="Ask for fewer entities or fewer steps, or try again later.",
                ) from error
            raise
