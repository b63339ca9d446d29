"""The SQL that creates a workspace's AGE graph and writes its two label tables.

``{nodes}`` and ``{edges}`` are the label tables, filled in by ``psycopg.sql.Identifier``. Writing
the tables takes a tenth of the time of Cypher's CREATE, and ``ON CONFLICT`` on the unique index
keeps concurrent writers from creating duplicates, which MERGE does not.
"""

from __future__ import annotations

from typing import Final, LiteralString

NODE_LABEL: Final[LiteralString] = "Entity"
EDGE_LABEL: Final[LiteralString] = "RELATES"

# The setting exists only after the library is loaded; ag_catalog must be on the search path even
# for qualified calls, since AGE looks its operators up by name.
HAS_AGE: Final[LiteralString] = """
SELECT current_setting('age.enable_containment', true) IS NOT NULL
   AND 'ag_catalog' = ANY (current_schemas(false))
"""

GRAPH_EXISTS: Final[LiteralString] = "SELECT to_regclass(%s) IS NOT NULL"

LOCK_GRAPH: Final[LiteralString] = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"

CREATE_GRAPH: Final[tuple[LiteralString, ...]] = (
    "SELECT ag_catalog.create_graph(%s::name)",
    # All labels at once: two writers that first use a new label would collide.
    "SELECT ag_catalog.create_vlabel(%s::cstring, 'Entity')",
    "SELECT ag_catalog.create_elabel(%s::cstring, 'RELATES')",
)
DROP_GRAPH: Final[LiteralString] = "SELECT ag_catalog.drop_graph(%s::name, true)"

# The graph's name already separates tenants; the policies are a second barrier, as on every table.
PREPARE_LABELS: Final[tuple[LiteralString, ...]] = (
    """CREATE UNIQUE INDEX ON {nodes}
       (ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype))""",
    """CREATE UNIQUE INDEX ON {edges}
       (ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype))""",
    "ALTER TABLE {nodes} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {edges} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {nodes} FORCE ROW LEVEL SECURITY",
    "ALTER TABLE {edges} FORCE ROW LEVEL SECURITY",
    """CREATE POLICY tenant ON {nodes} USING (
       nullif(current_setting('app.workspace_id', true), '')::uuid = {workspace}::uuid)""",
    """CREATE POLICY tenant ON {edges} USING (
       nullif(current_setting('app.workspace_id', true), '')::uuid = {workspace}::uuid)""",
)

UPSERT_NODES: Final[LiteralString] = """
INSERT INTO {nodes} (id, properties)
SELECT ag_catalog._graphid(ag_catalog._label_id(%(graph)s::name, 'Entity'),
                           nextval(%(sequence)s::regclass)),
       given.properties::ag_catalog.agtype
FROM unnest(%(properties)s::text[]) AS given (properties)
ON CONFLICT (ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype))
DO UPDATE SET properties = EXCLUDED.properties
"""

# The inner joins drop edges with an unknown end.
UPSERT_EDGES: Final[LiteralString] = """
INSERT INTO {edges} (id, start_id, end_id, properties)
SELECT ag_catalog._graphid(ag_catalog._label_id(%(graph)s::name, 'RELATES'),
                           nextval(%(sequence)s::regclass)),
       source.id, target.id, given.properties::ag_catalog.agtype
FROM unnest(%(sources)s::text[], %(targets)s::text[], %(properties)s::text[])
     AS given (source, target, properties)
JOIN {nodes} AS source
  ON ag_catalog.agtype_access_operator(source.properties, '"id"'::ag_catalog.agtype)
     = given.source::ag_catalog.agtype
JOIN {nodes} AS target
  ON ag_catalog.agtype_access_operator(target.properties, '"id"'::ag_catalog.agtype)
     = given.target::ag_catalog.agtype
ON CONFLICT (ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype))
DO UPDATE SET start_id = EXCLUDED.start_id,
              end_id = EXCLUDED.end_id,
              properties = EXCLUDED.properties
"""

DELETE_EDGES_OF_NODES: Final[tuple[LiteralString, ...]] = (
    """DELETE FROM {edges} AS edge USING {nodes} AS gone
       WHERE edge.start_id = gone.id
         AND ag_catalog.agtype_access_operator(gone.properties, '"id"'::ag_catalog.agtype)
             = ANY (%(ids)s::text[]::ag_catalog.agtype[])""",
    """DELETE FROM {edges} AS edge USING {nodes} AS gone
       WHERE edge.end_id = gone.id
         AND ag_catalog.agtype_access_operator(gone.properties, '"id"'::ag_catalog.agtype)
             = ANY (%(ids)s::text[]::ag_catalog.agtype[])""",
)

DELETE_NODES: Final[LiteralString] = """
DELETE FROM {nodes}
WHERE ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype)
      = ANY (%(ids)s::text[]::ag_catalog.agtype[])
"""

DELETE_EDGES: Final[LiteralString] = """
DELETE FROM {edges}
WHERE ag_catalog.agtype_access_operator(properties, '"id"'::ag_catalog.agtype)
      = ANY (%(ids)s::text[]::ag_catalog.agtype[])
"""

# A bulk load ends before autovacuum runs; without statistics the planner scans.
ANALYZE: Final[tuple[LiteralString, ...]] = ("ANALYZE {nodes}", "ANALYZE {edges}")
