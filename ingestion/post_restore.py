"""Restore derived data and resume unfinished work once a workspace's rows are back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.knowledge import projection
from ingestion.models.communities import other_topics_id
from ingestion.pipeline import recovery, runner
from ingestion.resolution.keys import Ref, entity_id, link_id
from ingestion.stage import REFRESH_STATISTICS
from ingestion.stages import snapshot
from ingestion.stages.reports.saving import report_id
from ingestion.stages.tree.growth import node_id
from kb_project.backup.restoring import Hooks
from kb_project.ports import graph_store
from kb_project.sql import run_sql
from workspaces import access

Row = Mapping[str, Any]
Rows = Callable[[str], Iterator[Row]]
"""The rows of a table, by its name; every id in them is text."""


def new_ids(rows: Rows, old: UUID, new: UUID) -> dict[str, str]:
    """Map ids of the workspace ``old`` to those in ``new``: entities, relationships, the topic
    "Other topics", and the workspace's own summaries.
    """
    refs = {row["id"]: (row["key"], row["sense"]) for row in rows("ingestion_entity")}
    ids = {str(entity_id(old, *ref)): str(entity_id(new, *ref)) for ref in _decided(rows)}
    ids |= {id_: str(entity_id(new, *ref)) for id_, ref in refs.items()}
    for source, target in _linked(rows):
        ids[str(link_id(old, source, target))] = str(link_id(new, source, target))
    for row in rows("ingestion_relationship"):
        ids[row["id"]] = str(link_id(new, refs[row["source_id"]], refs[row["target_id"]]))
    return ids | _topics(old, new) | dict(_summaries(rows, new))


def _decided(rows: Rows) -> Iterator[Ref]:
    """Entities that people or models decided about: some of them have no row now."""
    for row in rows("ingestion_entityruling"):
        yield row["key"], row["sense"]
    for row in rows("ingestion_mentionplacement"):
        yield row["key"], 0
        yield row["target_key"], row["target_sense"]
    for row in rows("ingestion_resolutiondecision"):
        yield row["left_key"], row["left_sense"]
        yield row["left_key"], row["sense"]
        yield row["right_key"], row["right_sense"]
    for source, target in _linked(rows):
        yield source
        yield target


def _linked(rows: Rows) -> Iterator[tuple[Ref, Ref]]:
    for row in rows("ingestion_relationshipruling"):
        yield (
            (row["source_key"], row["source_sense"]),
            (row["target_key"], row["target_sense"]),
        )


def _topics(old: UUID, new: UUID) -> dict[str, str]:
    topics = other_topics_id(old), other_topics_id(new)
    reports = [report_id(topic) for topic in topics]
    return {str(topics[0]): str(topics[1]), str(reports[0]): str(reports[1])}


def _summaries(rows: Rows, new: UUID) -> Iterator[tuple[str, str]]:
    for row in rows("ingestion_summarynode"):
        if row["document_id"] is None:
            yield row["id"], str(node_id(new, row["digest"]))


# Pairs are stored by ascending id, and the ids have changed.
TURN_PAIRS: Final[LiteralString] = """
UPDATE ingestion_mergesuggestion SET left_id = right_id, right_id = left_id
 WHERE workspace_id = %(workspace)s AND left_id > right_id
"""
# Flush this session's statistics now rather than when it is idle.
TELL_STATISTICS: Final[LiteralString] = "SELECT pg_stat_force_next_flush()"


def rebuild(workspace_id: UUID, has_new_ids: bool) -> None:  # noqa: FBT001 - a hook's only switch
    """Rebuild the projection in AGE and the walk's snapshot, in the transaction of the rows."""
    with access.in_workspace(workspace_id):
        if has_new_ids:
            run_sql(TURN_PAIRS, {"workspace": workspace_id})
        projection.rebuild(workspace_id, graph_store())
        snapshot.renew(workspace_id)


def wake(workspace_id: UUID) -> int:
    """Resume unfinished work; return how many jobs.

    Call after the rows are committed: this also refreshes the planner's statistics.
    """
    run_sql(TELL_STATISTICS)
    run_sql(REFRESH_STATISTICS)
    return recovery.recover(workspace_id, lanes=tuple(runner.LANES))


HOOKS: Final = Hooks(new_ids, rebuild)
