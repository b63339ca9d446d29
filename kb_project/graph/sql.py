"""The statements sent to Apache AGE: SQL that writes a workspace's graph, Cypher that reads it.

Writing goes to the graph's two label tables, ``{nodes}`` and ``{edges}``: it takes a tenth of the
time of Cypher's CREATE, and ``ON CONFLICT`` on the unique index keeps concurrent writers from
creating duplicates, which MERGE does not.

All Cypher of the project is here: fixed text, with every value in one parameter map, and one map
per row as the result. Patterns are directed and of fixed length. Apache AGE 1.7 answers
variable-length patterns from a copy of the whole graph in each backend's memory, bypassing
row-level security; undirected patterns scan all edges, so undirected reads are the union of two
directed patterns; matching by ``id(n)`` scans all nodes; and some statements that both write and
read crash the server.
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

# Functions of the migrations, which run as the tables' owner: the application may fill a graph and
# read it, but neither create it nor change its policies.
CREATE_GRAPH: Final[LiteralString] = "SELECT workspaces_graph_create(%s)"
DROP_GRAPH: Final[LiteralString] = "SELECT workspaces_graph_drop(%s)"
# A bulk load ends before autovacuum runs; without statistics the planner scans.
ANALYZE: Final[LiteralString] = "SELECT workspaces_graph_analyze(%s)"

# A graph that an earlier version made belongs to the application, until `preparedatabase` gives it
# to the owner.
OWNS_GRAPH: Final[LiteralString] = (
    "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"
)
DROP_OWN_GRAPH: Final[LiteralString] = "SELECT ag_catalog.drop_graph(%s::name, true)"

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

# Joined with themselves: row-level security keeps the index from being used for the table that rows
# are deleted from, and a million edges took a second.
DELETE_NODES: Final[LiteralString] = """
DELETE FROM {nodes} AS node USING {nodes} AS gone
WHERE node.ctid = gone.ctid
  AND ag_catalog.agtype_access_operator(gone.properties, '"id"'::ag_catalog.agtype)
      = ANY (%(ids)s::text[]::ag_catalog.agtype[])
"""

DELETE_EDGES: Final[LiteralString] = """
DELETE FROM {edges} AS edge USING {edges} AS gone
WHERE edge.ctid = gone.ctid
  AND ag_catalog.agtype_access_operator(gone.properties, '"id"'::ag_catalog.agtype)
      = ANY (%(ids)s::text[]::ag_catalog.agtype[])
"""


# --- reading: Cypher ------------------------------------------------------------------------------
COUNT_NODES: Final[LiteralString] = "MATCH (n:Entity) RETURN count(n)"

COUNT_EDGES: Final[LiteralString] = "MATCH (:Entity)-[r:RELATES]->(:Entity) RETURN count(r)"

ALL_NODES: Final[LiteralString] = """
MATCH (n:Entity) RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
"""

ALL_EDGES: Final[LiteralString] = """
MATCH (a:Entity)-[r:RELATES]->(b:Entity)
RETURN {id: r.id, source: a.id, target: b.id, description: r.description, weight: r.weight}
"""

NODES: Final[LiteralString] = """
UNWIND $ids AS wanted
MATCH (n:Entity) WHERE n.id = wanted
RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
"""

EDGES_AROUND: Final[LiteralString] = """
UNWIND $ids AS wanted
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE a.id = wanted
RETURN {id: r.id, source: a.id, target: b.id, description: r.description, weight: r.weight}
UNION ALL
UNWIND $ids AS wanted
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE b.id = wanted
RETURN {id: r.id, source: a.id, target: b.id, description: r.description, weight: r.weight}
"""

# Comparing the other end with a list (`b.id IN $ids`) is linear in the list for every edge: the
# caller keeps what it wants.
EDGES_FROM: Final[LiteralString] = """
UNWIND $ids AS wanted
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE a.id = wanted
RETURN {id: r.id, source: a.id, target: b.id, description: r.description, weight: r.weight}
"""

NEIGHBOURS: Final[LiteralString] = """
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE a.id = $id AND b.id <> $id
WITH a, r, b ORDER BY r.weight DESC, r.id LIMIT $limit
RETURN {edge: {id: r.id, source: a.id, target: b.id, description: r.description,
               weight: r.weight},
        node: {id: b.id, name: b.name, type: b.type, degree: b.degree}}
UNION ALL
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE b.id = $id AND a.id <> $id
WITH a, r, b ORDER BY r.weight DESC, r.id LIMIT $limit
RETURN {edge: {id: r.id, source: a.id, target: b.id, description: r.description,
               weight: r.weight},
        node: {id: a.id, name: a.name, type: a.type, degree: a.degree}}
"""

SHARED_NEIGHBOURS: Final[LiteralString] = """
MATCH (a:Entity)-[:RELATES]->(n:Entity) WHERE a.id = $a
MATCH (b:Entity)-[:RELATES]->(n) WHERE b.id = $b
RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
UNION
MATCH (a:Entity)-[:RELATES]->(n:Entity) WHERE a.id = $a
MATCH (n)-[:RELATES]->(b:Entity) WHERE b.id = $b
RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
UNION
MATCH (n:Entity)-[:RELATES]->(a:Entity) WHERE a.id = $a
MATCH (b:Entity)-[:RELATES]->(n) WHERE b.id = $b
RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
UNION
MATCH (n:Entity)-[:RELATES]->(a:Entity) WHERE a.id = $a
MATCH (n)-[:RELATES]->(b:Entity) WHERE b.id = $b
RETURN {id: n.id, name: n.name, type: n.type, degree: n.degree}
"""
