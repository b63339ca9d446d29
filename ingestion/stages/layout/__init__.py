"""Layout: place the workspace's entities for pictures of the graph.

In: entities, relationships and communities.  Out: one EntityPosition for each entity.
Safe to repeat: the same graph gives the same positions, and only differences are written. While
most positions are exact, only what has none is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, LiteralString
from uuid import UUID

from ingestion.models import Entity, IngestionJob
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.layout.arranging import Graph, Placed, arranged, beside, is_kept
from kb_project.ports import Ports
from kb_project.sql import Columns, Row, bulk_plans, run_sql, temporary_rows
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

POSITIONS: Final[LiteralString] = """
SELECT entity_id, x, y, is_approximate FROM ingestion_entityposition
WHERE workspace_id = %(workspace)s
"""
POSITIONS_OF: Final[LiteralString] = """
SELECT entity_id, x, y, is_approximate FROM ingestion_entityposition
WHERE workspace_id = %(workspace)s AND entity_id = ANY (%(entities)s::uuid[])
"""

COUNTS: Final[LiteralString] = """
SELECT (SELECT count(*) FROM ingestion_entityposition
         WHERE workspace_id = %(workspace)s AND NOT is_approximate),
       (SELECT count(*) FROM ingestion_entityposition WHERE workspace_id = %(workspace)s),
       (SELECT count(*) FROM ingestion_entity WHERE workspace_id = %(workspace)s)
"""

# By name where the rank is equal, so that equal documents give equal pictures.
WITHOUT_PLACE: Final[LiteralString] = """
WITH missing AS MATERIALIZED (
    SELECT id FROM ingestion_entity AS entity
     WHERE workspace_id = %(workspace)s AND NOT EXISTS (
           SELECT FROM ingestion_entityposition AS position
            WHERE position.workspace_id = %(workspace)s AND position.entity_id = entity.id)
)
SELECT id FROM ingestion_entity
WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM missing))
ORDER BY rank DESC, key, sense
"""
LINKS_OF: Final[LiteralString] = """
SELECT source_id, target_id, weight FROM ingestion_relationship
WHERE workspace_id = %(workspace)s
  AND (source_id = ANY (%(entities)s::uuid[]) OR target_id = ANY (%(entities)s::uuid[]))
ORDER BY id
"""
HOMES_OF: Final[LiteralString] = """
SELECT member.entity_id, community.id::text
FROM ingestion_communitymember AS member
JOIN ingestion_community AS community
  ON community.workspace_id = %(workspace)s AND community.id = member.community_id
WHERE member.workspace_id = %(workspace)s AND community.level = 0
  AND member.entity_id = ANY (%(entities)s::uuid[])
"""
CENTRES: Final[LiteralString] = """
SELECT member.community_id::text, avg(position.x), avg(position.y)
FROM ingestion_communitymember AS member
JOIN ingestion_entityposition AS position
  ON position.workspace_id = %(workspace)s AND position.entity_id = member.entity_id
WHERE member.workspace_id = %(workspace)s AND member.community_id = ANY (%(topics)s::uuid[])
GROUP BY member.community_id
"""

# An entity deleted since it was read is left out; the others cannot be deleted until this
# transaction ends.
SAVE: Final[LiteralString] = """
INSERT INTO ingestion_entityposition (workspace_id, entity_id, x, y, is_approximate)
SELECT %(workspace)s, new.entity_id, new.x, new.y, new.is_approximate
FROM new_positions AS new
JOIN ingestion_entity AS entity
  ON entity.workspace_id = %(workspace)s AND entity.id = new.entity_id
 AND entity.id = ANY (ARRAY(SELECT entity_id FROM new_positions))
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
        [(exact, placed, entities)] = run_sql(COUNTS, {"workspace": workspace_id})
        if is_kept(exact, entities):
            new = _beside(workspace_id) if placed < entities else {}
            _save(workspace_id, new)
            return len(new)
        graph = _load(workspace_id)
    # Outside the transaction: a large layout takes seconds.
    found = arranged(graph)
    changed = {one: at for one, at in found.items() if graph.before.get(one) != at}
    with access.in_workspace(workspace_id):
        _save(workspace_id, changed)
    return len(changed)


def _beside(workspace_id: UUID) -> dict[UUID, Placed]:
    """Positions for what has none."""
    new = [id_ for (id_,) in run_sql(WITHOUT_PLACE, {"workspace": workspace_id})]
    if not new:
        return {}
    given = {"workspace": workspace_id, "entities": new}
    links = [(a, b, weight) for a, b, weight in run_sql(LINKS_OF, given)]
    homes = {entity: (topic,) for entity, topic in run_sql(HOMES_OF, given)}
    topics = list({topic for (topic,) in homes.values()})
    centres = run_sql(CENTRES, {"workspace": workspace_id, "topics": topics})
    ends = list({end for a, b, _ in links for end in (a, b)})
    before = _placed(run_sql(POSITIONS_OF, {"workspace": workspace_id, "entities": ends}))
    graph = Graph(new, links, homes, before)
    return beside(graph, {topic: (x, y) for topic, x, y in centres})


def _placed(rows: Iterable[Row]) -> dict[UUID, Placed]:
    return {entity: Placed(x, y, is_approximate) for entity, x, y, is_approximate in rows}


def _load(workspace_id: UUID) -> Graph:
    workspace = {"workspace": workspace_id}
    entities = Entity.objects.in_workspace(workspace_id).order_by("-rank", "key", "sense")
    homes: defaultdict[UUID, dict[int, str]] = defaultdict(dict)
    for entity, level, community in run_sql(HOMES, workspace):
        homes[entity][level] = community
    return Graph(
        entities=list(entities.values_list("pk", flat=True)),
        links=[(a, b, weight) for a, b, weight in run_sql(LINKS, workspace)],
        homes={one: tuple(path[level] for level in sorted(path)) for one, path in homes.items()},
        before=_placed(run_sql(POSITIONS, workspace)),
    )


def _save(workspace_id: UUID, changed: Mapping[UUID, Placed]) -> None:
    if not changed:
        return
    rows = ((one, at.x, at.y, at.is_approximate) for one, at in changed.items())
    columns: Columns = {"entity_id": "uuid", "x": "float8", "y": "float8", "is_approximate": "bool"}
    with temporary_rows("new_positions", columns, rows):
        run_sql(SAVE, {"workspace": workspace_id})
