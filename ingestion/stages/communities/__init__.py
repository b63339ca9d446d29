"""Communities: group a workspace's entities into topics and sub-topics.

In: all entities and relationships of the workspace.  Out: Community rows with their members, level
0 being the root; every entity belongs to one community of level 0.
Safe to repeat: the same graph gives the same communities, and only differences are written, in one
transaction. A community whose members or sub-communities changed is marked for a new report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from django.utils import timezone

from ingestion.models import IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.communities import clustering, identity
from ingestion.stages.communities.clustering import Link
from ingestion.stages.communities.identity import Changes, Group
from kb_project.ports import Ports
from kb_project.sql import Columns, bulk_plans, copy_into, run_sql, temporary_rows
from workspaces import access

ENTITIES: Final[LiteralString] = """
SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s
"""

# Overlapping chunks repeat a sentence; its offset in the document identifies it.
LINKS: Final[LiteralString] = """
SELECT relationship.source_id, relationship.target_id, relationship.weight, first, last
FROM ingestion_relationship AS relationship
LEFT JOIN (SELECT relationship_id, min(document_id || ' ' || start) AS first,
                  max(document_id || ' ' || start) AS last
           FROM ingestion_evidence WHERE workspace_id = %(workspace)s
           GROUP BY relationship_id) AS evidence ON relationship_id = relationship.id
WHERE relationship.workspace_id = %(workspace)s
"""

COMMUNITIES: Final[LiteralString] = """
SELECT id, level, parent_id, size, members
FROM ingestion_community AS community
LEFT JOIN (SELECT community_id, array_agg(entity_id) AS members
           FROM ingestion_communitymember WHERE workspace_id = %(workspace)s
           GROUP BY community_id) AS membership ON community_id = community.id
WHERE community.workspace_id = %(workspace)s
"""

REMOVE: Final[LiteralString] = """
DELETE FROM ingestion_community
WHERE workspace_id = %(workspace)s AND id = ANY (%(ids)s::uuid[])
"""

MOVE: Final[LiteralString] = """
UPDATE ingestion_community AS community
SET level = moved.level, parent_id = moved.parent_id, size = moved.size
FROM moved_communities AS moved
WHERE community.workspace_id = %(workspace)s AND community.id = moved.id
"""

LEAVE: Final[LiteralString] = """
DELETE FROM ingestion_communitymember AS member
USING left_members AS gone
WHERE member.workspace_id = %(workspace)s
  AND member.community_id = gone.community_id AND member.entity_id = gone.entity_id
"""

# An entity deleted since it was read joins nothing; the others cannot be deleted until this
# transaction ends.
JOIN: Final[LiteralString] = """
INSERT INTO ingestion_communitymember (workspace_id, community_id, entity_id)
SELECT %(workspace)s, new.community_id, new.entity_id
FROM new_members AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
FOR KEY SHARE OF entity
"""

MARK_CHANGED: Final[LiteralString] = """
UPDATE ingestion_community SET is_changed = true
WHERE workspace_id = %(workspace)s AND NOT is_changed AND id = ANY (%(ids)s::uuid[])
"""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        old = _load(workspace_id)
        entities = [row[0] for row in run_sql(ENTITIES, {"workspace": workspace_id})]
        links = [Link(*row) for row in run_sql(LINKS, {"workspace": workspace_id})]
        clusters = clustering.hierarchy(entities, links)
        new = identity.named(clusters, old, workspace_id)
        found = identity.changes(old, new)
        _save(workspace_id, found)
    progress(1, 1)
    return StageOutcome(written=found.count())


def _load(workspace_id: UUID) -> dict[UUID, Group]:
    rows = run_sql(COMMUNITIES, {"workspace": workspace_id})
    return {
        id_: Group(id_, level, parent, frozenset(members or ()), size)
        for id_, level, parent, size, members in rows
    }


def _save(workspace_id: UUID, found: Changes) -> None:
    workspace = {"workspace": workspace_id}
    if found.removed:
        run_sql(REMOVE, {**workspace, "ids": found.removed})
    _add(workspace_id, found.added)
    _move(workspace, found.moved)
    pair: Columns = {"community_id": "uuid", "entity_id": "uuid"}
    if found.left:
        with temporary_rows("left_members", pair, found.left):
            run_sql(LEAVE, workspace)
    if found.joined:
        with temporary_rows("new_members", pair, found.joined):
            run_sql(JOIN, workspace)
    if found.changed:
        run_sql(MARK_CHANGED, {**workspace, "ids": found.changed})


def _add(workspace_id: UUID, groups: Sequence[Group]) -> None:
    now = timezone.now()
    rows = [(g.id, workspace_id, g.level, g.parent, g.size, True, now) for g in groups]
    copy_into(
        "ingestion_community",
        {
            "id": "uuid",
            "workspace_id": "uuid",
            "level": "int2",
            "parent_id": "uuid",
            "size": "int4",
            "is_changed": "bool",
            "created_at": "timestamptz",
        },
        rows,
    )


def _move(workspace: dict[str, Any], groups: Sequence[Group]) -> None:
    if not groups:
        return
    columns: Columns = {"id": "uuid", "level": "int2", "parent_id": "uuid", "size": "int4"}
    rows = ((group.id, group.level, group.parent, group.size) for group in groups)
    with temporary_rows("moved_communities", columns, rows):
        run_sql(MOVE, workspace)
