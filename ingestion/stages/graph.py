"""Graph: count each entity's neighbours and bring the projection up to date.

In: the entities and relationships marked as changed, among them the ends of deleted relationships,
and the tombstones of what was deleted.  Out:
degrees and ranks, the graph's projection, and a mark on every community affected.
Safe to repeat: rows and projection change in one transaction, which also clears the marks. Whatever
is marked meanwhile keeps its mark for the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, LiteralString
from uuid import UUID

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome
from kb_project.graph.ports import GraphEdge, GraphNode, GraphStore
from kb_project.ports import Ports
from kb_project.sql import Row, bulk_plans, run_sql, run_sql_count
from workspaces import access

# Updates the degree and rank of changed entities and of the ends of changed relationships; the ends
# of deleted ones are marked as changed. A few are found by their keys, so that an edit costs the
# same in a large workspace; for many, all relationships are read once: in a workspace that the
# planner knows nothing of yet, it may look for each key among all.
# Rank grows with the logarithm of an entity's passages and of its neighbours.
# Rows are locked in id order, as every bulk writer of entities does. With %(takes)s, all marks are
# taken in the same step: each update of an entity writes all its indexes.
UPDATE_DEGREES: Final[LiteralString] = """
WITH touched AS MATERIALIZED (
    SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
    UNION
    SELECT unnest(ARRAY[source_id, target_id]) FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND is_changed
), few AS MATERIALIZED (
    SELECT count(*) <= 100 AS are_few FROM touched
), near AS MATERIALIZED (
    SELECT touched.id, (
        SELECT count(*) FROM (
            SELECT target_id FROM ingestion_relationship
            WHERE workspace_id = %(workspace)s AND source_id = touched.id
            UNION
            SELECT source_id FROM ingestion_relationship
            WHERE workspace_id = %(workspace)s AND target_id = touched.id) AS neighbour
    ) AS degree
    FROM touched WHERE (SELECT are_few FROM few)
    UNION ALL
    SELECT id, count(*) FROM (
        SELECT touched.id, r.target_id
        FROM ingestion_relationship AS r JOIN touched ON touched.id = r.source_id
        WHERE r.workspace_id = %(workspace)s AND NOT (SELECT are_few FROM few)
        UNION
        SELECT touched.id, r.source_id
        FROM ingestion_relationship AS r JOIN touched ON touched.id = r.target_id
        WHERE r.workspace_id = %(workspace)s AND NOT (SELECT are_few FROM few)) AS neighbour
    GROUP BY id
), stale AS (
    SELECT entity.id, coalesce(near.degree, 0) AS degree,
           ln(1 + entity.chunk_count) + ln(1 + coalesce(near.degree, 0)) AS rank
    FROM ingestion_entity AS entity LEFT JOIN near ON near.id = entity.id
    WHERE entity.workspace_id = %(workspace)s AND entity.id = ANY (ARRAY(SELECT id FROM touched))
      AND (%(takes)s AND entity.is_changed OR (entity.degree, entity.rank) IS DISTINCT FROM
           (coalesce(near.degree, 0),
            ln(1 + entity.chunk_count) + ln(1 + coalesce(near.degree, 0))))
    ORDER BY entity.id
    FOR NO KEY UPDATE OF entity
)
UPDATE ingestion_entity AS entity
SET degree = stale.degree, rank = stale.rank, is_changed = NOT %(takes)s
FROM stale
WHERE entity.workspace_id = %(workspace)s AND entity.id = stale.id
  AND entity.id = ANY (ARRAY(SELECT id FROM stale))
RETURNING entity.id, entity.name, entity.type, entity.degree
"""

# An array rather than a join: however many are marked, each is found by its key.
TAKE_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = false
WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
    SELECT id FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s AND is_changed
    ORDER BY id FOR NO KEY UPDATE))
RETURNING id, source_id, target_id, description, weight
"""

# What a tombstone names may have come back under the same id: then it is not gone.
TAKE_TOMBSTONES: Final[LiteralString] = """
WITH taken AS (
    DELETE FROM ingestion_graphtombstone WHERE workspace_id = %(workspace)s RETURNING id
)
SELECT id FROM taken
WHERE NOT EXISTS (SELECT FROM ingestion_entity AS e
                  WHERE e.workspace_id = %(workspace)s AND e.id = taken.id)
  AND NOT EXISTS (SELECT FROM ingestion_relationship AS r
                  WHERE r.workspace_id = %(workspace)s AND r.id = taken.id)
"""

# Was a document resolved, or anything changed by a person, since this job began its describe stage?
# Then entities may have been marked after describe read the marks.
RESOLVED_MEANWHILE: Final[LiteralString] = """
WITH described AS (
    SELECT min(started_at) AS begun FROM ingestion_stagerun
    WHERE workspace_id = %(workspace)s AND job_id = %(job)s AND stage = 'describe'
)
SELECT EXISTS (
    SELECT FROM ingestion_stagerun AS run
    WHERE run.workspace_id = %(workspace)s AND run.stage = 'resolve'
      AND (run.state = 'running' OR run.finished_at >= (SELECT begun FROM described))
) OR EXISTS (
    SELECT FROM ingestion_historyevent AS event
    WHERE event.workspace_id = %(workspace)s AND event.kind <> 'document_added'
      AND event.created_at >= (SELECT begun FROM described)
)
"""

MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

MARK_COMMUNITIES: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND NOT is_changed
  AND id = ANY (ARRAY(
      SELECT community_id FROM ingestion_communitymember
      WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(
          SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
          UNION
          SELECT unnest(ARRAY[source_id, target_id]) FROM ingestion_relationship
          WHERE workspace_id = %(workspace)s AND is_changed))))
"""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    with access.in_workspace(job.workspace_id):
        nodes, edges = project(job.workspace_id, ports.graph)
        _keep_marks_if_early(job, nodes, edges)
    progress(1, 1)
    return StageOutcome(written=len(nodes) + len(edges))


def project(workspace_id: UUID, store: GraphStore) -> tuple[list[GraphNode], list[GraphEdge]]:
    """Bring degrees and projection up to date in the workspace's transaction.

    Returns what changed.
    """
    workspace = {"workspace": workspace_id}
    nodes = [GraphNode(*row) for row in recount(workspace_id, takes=True)]
    edges = [GraphEdge(*row) for row in run_sql(TAKE_RELATIONSHIPS, workspace)]
    gone = [row[0] for row in run_sql(TAKE_TOMBSTONES, workspace)]
    store.remove(workspace_id, gone, gone)
    store.upsert(workspace_id, nodes, edges)
    return nodes, edges


def recount(workspace_id: UUID, *, takes: bool = False) -> list[Row]:
    """Bring degrees up to date and mark the topics affected, in the workspace's transaction.

    What changed keeps its mark: until the next run, the tables answer for the projection. One that
    ``takes`` the marks gets those entities: their ids, names, types and degrees.
    """
    values = {"workspace": workspace_id, "takes": takes}
    with bulk_plans():
        run_sql_count(MARK_COMMUNITIES, values)
        return run_sql(UPDATE_DEGREES, values)


def _keep_marks_if_early(
    job: IngestionJob, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
) -> None:
    """Restore the marks if some may not have been described yet; the next run takes them.

    A document that is resolved meanwhile always requests that next run.
    """
    scope = {"workspace": job.workspace_id}
    [(is_early,)] = run_sql(RESOLVED_MEANWHILE, {**scope, "job": job.pk})
    if is_early:
        run_sql_count(MARK_ENTITIES, {**scope, "ids": [node.id for node in nodes]})
        run_sql_count(MARK_RELATIONSHIPS, {**scope, "ids": [edge.id for edge in edges]})
