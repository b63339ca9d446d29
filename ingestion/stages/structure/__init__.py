"""Structure: find who stands out in topics, what joins topics, and documents that stand alone.

In: entities, relationships with their evidence, claims, mentions and communities.  Out: the rows of
TopicStanding, TopicBridge and LoneDocument.
Safe to repeat: the same graph gives the same rows, and a graph that has not changed since is not
looked at again. In a large workspace, only the topics that changed are looked at, by the keys of
their members, and all of them once a day: a name of another topic that changes its type may be
missed until then.

Each figure is a count that a reader can check. Centralities that follow whole paths (betweenness,
PageRank) chose the same entities, and one betweenness of 50,000 entities takes minutes: see
docs/benchmarks.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from django.db.models import QuerySet

from ingestion.knowledge.queries import UNTELLING
from ingestion.models import Entity, IngestionJob, StructureState, TopicStanding
from ingestion.models.communities import other_topics_id
from ingestion.stage import Progress, StageOutcome, is_long_and_recent
from ingestion.stages.structure import sql
from kb_project.ports import Ports
from kb_project.sql import Columns, Row, bulk_plans, run_sql, temporary_rows
from workspaces import access

METHOD: Final = 1
"""To be raised with every change of what is computed, so that the next refresh computes it."""
CENTRAL_SHOWN: Final = 5
DOCUMENTED_SHOWN: Final = 4
"""People kept for each topic, and as many of everything else."""
LEAST: Final = 2
"""Facts or passages below which nothing stands out."""
BRIDGES_OF_PAIR: Final = 3
LEAST_SHARE: Final = 0.25
"""The share of the facts between two topics that go through a bridge."""
FEW_DOCUMENTS: Final = 3
"""Documents from which on one can stand alone."""


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    written = renew(job.workspace_id)
    progress(1, 1)
    return StageOutcome(written=written)


def renew(workspace_id: UUID) -> int:
    """Bring the rows up to date; return how many were written: none if the graph is unchanged."""
    started = time.monotonic()
    given: dict[str, Any] = {
        "workspace": workspace_id,
        "rest": other_topics_id(workspace_id),
        "least": LEAST,
    }
    with access.in_workspace(workspace_id), bulk_plans():
        states = StructureState.objects.in_workspace(workspace_id)
        state = states.first()
        entities = Entity.objects.in_workspace(workspace_id)
        if state and _is_long_and_recent(state):
            digest = f"{METHOD}:"  # of no graph: the next time, all are looked at
            given["topics"] = [id_ for id_ in state.topics if id_ != given["rest"]]
            given |= _inside(given, entities)
        else:
            # First, so that whatever changes meanwhile is looked at next time.
            [(found,)] = run_sql(sql.DIGEST, given)
            digest = f"{METHOD}:{found}"
            if state and state.digest == digest:
                return 0
            named = _named(entities)
            given |= {"topics": None, "named": named, "inside": named}
        # Asked first: the planner would take them for a handful, and join all members of a topic.
        told = [id_ for (id_,) in run_sql(sql.TOLD, given)]
        central = run_sql(sql.CENTRAL, {**given, "told": told, "most": CENTRAL_SHOWN})
        documented = run_sql(sql.DOCUMENTED, {**given, "most": DOCUMENTED_SHOWN})
        bridges = run_sql(sql.BRIDGES, {**given, "most": BRIDGES_OF_PAIR, "share": LEAST_SHARE})
        alone = run_sql(sql.ALONE, {**given, "least": FEW_DOCUMENTS})
    standings = [
        *((TopicStanding.Kind.CENTRAL.value, *row) for row in central),
        *((TopicStanding.Kind.DOCUMENTED.value, *row) for row in documented),
    ]
    with access.in_workspace(workspace_id):
        _replace(given, standings, bridges, alone)
        if given["topics"] is None:
            states.update_or_create(
                workspace_id=workspace_id,
                defaults={"digest": digest, "topics": [], "seconds": time.monotonic() - started},
            )
        else:
            states.update(digest=digest, topics=[])
    return len(standings) + len(bridges) + len(alone)


def _is_long_and_recent(state: StructureState) -> bool:
    is_of_method = state.digest.startswith(f"{METHOD}:")
    return is_of_method and is_long_and_recent(state.seconds, state.computed_at)


def _inside(given: dict[str, Any], entities: QuerySet[Entity]) -> dict[str, list[UUID]]:
    """Whoever is inside the topics, and these with whoever is linked to them."""
    members = {id_ for (id_,) in run_sql(sql.MEMBERS, given)}
    near = [id_ for (id_,) in run_sql(sql.NEAR, given)]
    named = _named(entities.filter(id__among=near))
    inside = [id_ for id_ in named if id_ in members]
    return {"named": named, "inside": inside}


def _named(entities: QuerySet[Entity]) -> list[UUID]:
    """People, organisations, places, works and the like: no terms, nationalities or dates."""
    return list(entities.exclude(UNTELLING).values_list("pk", flat=True))


def _replace(
    given: dict[str, Any], standings: Sequence[Row], bridges: Sequence[Row], alone: Sequence[Row]
) -> None:
    for statement in sql.CLEAR:
        run_sql(statement, given)
    standing: Columns = {
        "kind": "text",
        "community_id": "uuid",
        "entity_id": "uuid",
        "place": "int4",
        "facts": "int4",
        "passages": "int4",
        "documents": "int4",
    }
    bridge: Columns = {
        "entity_id": "uuid",
        "community_id": "uuid",
        "other_id": "uuid",
        "facts": "int4",
        "of_facts": "int4",
    }
    lone: Columns = {"document_id": "uuid", "names": "int4"}
    _save("new_standings", standing, standings, sql.SAVE_STANDINGS, given)
    _save("new_bridges", bridge, bridges, sql.SAVE_BRIDGES, given)
    _save("new_alone", lone, alone, sql.SAVE_ALONE, given)


def _save(
    table: LiteralString,
    columns: Columns,
    rows: Iterable[Row],
    statement: LiteralString,
    given: dict[str, Any],
) -> None:
    with temporary_rows(table, columns, rows):
        run_sql(statement, given)
