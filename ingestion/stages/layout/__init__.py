"""Layout: place the workspace's entities for pictures of the graph.

In: entities, relationships and communities.  Out: one EntityPosition for each entity.
Safe to repeat: the same graph gives the same positions, and only differences are written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, LiteralString
from uuid import UUID

from ingestion.models import Entity, EntityPosition, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.layout.arranging import Graph, Placed, arranged
from kb_project.ports import Ports
from kb_project.sql import Columns, bulk_plans, run_sql, temporary_rows
from workspaces import access

LINKS: Final[LiteralString] = """
SELECT source_id, target_id, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s ORDER BY id
"""

# Topics and the sub-topics right below them.
HOMES: Final[LiteralString] = """
SELECT member.entity_id, community.level, community.id::text
FROM ingestion_communitymember AS member
JOIN ingestion_community AS community
  ON community.workspace_id = %(workspace)s AND community.id = member.community_id
WHERE member.workspace_id = %(workspace)s AND community.level <= 1
"""

# An entity deleted since it was read is left out; the others cannot be deleted until this
# transaction ends.
SAVE: Final[LiteralString] = """
INSERT INTO ingestion_entityposition (workspace_id, entity_id, x, y, is_approximate)
SELECT %(workspace)s, new.entity_id, new.x, new.y, new.is_approximate
FROM new_positions AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
ORDER BY new.entity_id
FOR KEY SHARE OF entity
ON CONFLICT (workspace_id, entity_id) DO UPDATE
SET x = excluded.x, y = excluded.y, is_approximate = excluded.is_approximate
"""


def run(job: IngestionJob, _ports: Ports, progress: Progress) -> StageOutcome:
    written = renew(job.workspace_id)
    progress(1, 1)
    return StageOutcome(written=written)


def renew(workspace_id: UUID) -> int:
    """Bring the positions up to date; return how many changed."""
    with access.in_workspace(workspace_id), bulk_plans():
        graph = _load(workspace_id)
    # Outside the transaction: a large layout takes seconds.
    found = arranged(graph)
    changed = {one: at for one, at in found.items() if graph.before.get(one) != at}
    with access.in_workspace(workspace_id):
        _save(workspace_id, changed)
    return len(changed)


def _load(workspace_id: UUID) -> Graph:
    workspace = {"workspace": workspace_id}
    # By name where the rank is equal, so that equal documents give equal pictures.
    entities = Entity.objects.in_workspace(workspace_id).order_by("-rank", "key", "sense")
    positions = EntityPosition.objects.in_workspace(workspace_id)
    homes: defaultdict[UUID, dict[int, str]] = defaultdict(dict)
    for entity, level, community in run_sql(HOMES, workspace):
        homes[entity][level] = community
    return Graph(
        entities=list(entities.values_list("pk", flat=True)),
        links=[(a, b, weight) for a, b, weight in run_sql(LINKS, workspace)],
        homes={one: tuple(path[level] for level in sorted(path)) for one, path in homes.items()},
        before={
            one: Placed(x, y, is_approximate)
            for one, x, y, is_approximate in positions.values_list(
                "entity_id", "x", "y", "is_approximate"
            )
        },
    )


def _save(workspace_id: UUID, changed: Mapping[UUID, Placed]) -> None:
    if not changed:
        return
    rows = ((one, at.x, at.y, at.is_approximate) for one, at in changed.items())
    columns: Columns = {"entity_id": "uuid", "x": "float8", "y": "float8", "is_approximate": "bool"}
    with temporary_rows("new_positions", columns, rows):
        run_sql(SAVE, {"workspace": workspace_id})
