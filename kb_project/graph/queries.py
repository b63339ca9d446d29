"""All Cypher of the project: fixed text, with every value in one parameter map.

Patterns are directed and of fixed length. Apache AGE 1.7 answers variable-length patterns from a
copy of the whole graph in each backend's memory, bypassing row-level security; undirected patterns
scan all edges; matching by ``id(n)`` scans all nodes; and some statements that both write and read
crash the server. Writes therefore go to the label tables (``label_tables.py``), and undirected
reads are the union of two directed patterns.

Each query returns one map per row.
"""

from __future__ import annotations

from typing import Final, LiteralString

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

EDGES_AMONG: Final[LiteralString] = """
UNWIND $ids AS wanted
MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE a.id = wanted AND b.id IN $ids
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

ALL: Final[tuple[LiteralString, ...]] = (
    COUNT_NODES,
    COUNT_EDGES,
    ALL_NODES,
    ALL_EDGES,
    NODES,
    EDGES_AROUND,
    EDGES_AMONG,
    NEIGHBOURS,
    SHARED_NEIGHBOURS,
)
