"""The SQL of people's edits: rows that they made, words that they chose, names that they gave."""

from __future__ import annotations

from typing import Final, LiteralString

# Rows that people created exist without a document; if that ends, they are marked for another look.
MAKE_ENTITIES: Final[LiteralString] = """
INSERT INTO ingestion_entity (workspace_id, id, key, sense, name, type, description,
       description_sources, mention_count, chunk_count, degree, rank, is_changed, is_made,
       created_at)
SELECT %(workspace)s, t.id, t.key, t.sense, t.name, t.type, '', '[]', 0, 0, 0, 0, true, true, now()
  FROM unnest(%(ids)s::uuid[], %(keys)s::text[], %(senses)s::int2[], %(names)s::text[],
              %(types)s::text[]) AS t (id, key, sense, name, type)
 ORDER BY t.id
ON CONFLICT (workspace_id, key, sense) DO UPDATE SET is_made = true, is_changed = true
 WHERE NOT ingestion_entity.is_made
"""
MAKE_RELATIONSHIPS: Final[LiteralString] = """
INSERT INTO ingestion_relationship (workspace_id, id, source_id, target_id, description,
       keywords, weight, evidence_count, is_changed, is_made)
SELECT %(workspace)s, t.id, t.source, t.target, '', '{}', 1, 0, true, true
  FROM unnest(%(ids)s::uuid[], %(sources)s::uuid[], %(targets)s::uuid[]) AS t (id, source, target)
 ORDER BY t.id
ON CONFLICT (workspace_id, source_id, target_id) DO UPDATE SET is_made = true, is_changed = true
 WHERE NOT ingestion_relationship.is_made
"""

# The documents' value of a field is in ``proposed`` if a person overrides it, else in the field
# itself. Once the override is gone, the field gets the documents' value back.
EDIT_ENTITIES: Final[LiteralString] = """
WITH edited AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(names)s::text[], %(types)s::text[],
                         %(descriptions)s::text[], %(protected)s::bool[], %(confirmed)s::bool[])
               AS t (id, name, type, description, is_protected, is_confirmed)
), own AS (
    SELECT e.id, edited.name AS new_name, edited.type AS new_type,
           edited.description AS new_description,
           coalesce(edited.is_protected, false) AS is_protected,
           coalesce(edited.is_confirmed, false) AS is_confirmed,
           coalesce(e.proposed->>'name', e.name) AS name,
           coalesce(e.proposed->>'type', e.type) AS type,
           coalesce(e.proposed->>'description', e.description) AS description,
           coalesce(e.proposed->'description_sources', e.description_sources) AS sources,
           coalesce(e.proposed->>'written_by', e.written_by) AS written_by
      FROM ingestion_entity AS e LEFT JOIN edited ON edited.id = e.id
     WHERE e.workspace_id = %(workspace)s AND e.id = ANY (ARRAY(
           SELECT id FROM edited
           UNION SELECT id FROM ingestion_entity
                  WHERE workspace_id = %(workspace)s
                    AND (proposed <> '{}' OR is_protected OR is_confirmed)))
), due AS (
    SELECT id, is_protected, is_confirmed, coalesce(new_name, name) AS name,
           coalesce(new_type, type) AS type, coalesce(new_description, description) AS description,
           CASE WHEN new_description IS NULL THEN sources ELSE '[]' END AS sources,
           CASE WHEN new_description IS NULL THEN written_by ELSE 'person' END AS written_by,
           CASE WHEN new_name <> name THEN jsonb_build_object('name', name) ELSE '{}' END
           || CASE WHEN new_type <> type THEN jsonb_build_object('type', type) ELSE '{}' END
           || CASE WHEN new_description IS NULL THEN '{}' ELSE jsonb_build_object(
                   'description', description, 'description_sources', sources,
                   'written_by', written_by) END AS proposed
      FROM own
)
UPDATE ingestion_entity AS e
   SET name = due.name, type = due.type, description = due.description,
       description_sources = due.sources, written_by = due.written_by, proposed = due.proposed,
       is_protected = due.is_protected, is_confirmed = due.is_confirmed, is_changed = true
  FROM due
 WHERE e.workspace_id = %(workspace)s AND e.id = due.id
   AND e.id = ANY (ARRAY(SELECT id FROM due))
   AND (e.name, e.type, e.description, e.description_sources, e.written_by, e.proposed,
        e.is_protected, e.is_confirmed)
       IS DISTINCT FROM (due.name, due.type, due.description, due.sources, due.written_by,
                         due.proposed, due.is_protected, due.is_confirmed)
"""
# Keywords come as one text per row, joined by the unit separator.
EDIT_RELATIONSHIPS: Final[LiteralString] = """
WITH edited AS (
    SELECT t.id, t.description, string_to_array(t.keywords, chr(31)) AS keywords
      FROM unnest(%(ids)s::uuid[], %(descriptions)s::text[], %(keywords)s::text[])
        AS t (id, description, keywords)
), own AS (
    SELECT r.id, edited.description AS new_description, edited.keywords AS new_keywords,
           coalesce(r.proposed->>'description', r.description) AS description,
           CASE WHEN r.proposed ? 'keywords'
                THEN ARRAY(SELECT jsonb_array_elements_text(r.proposed->'keywords'))
                ELSE r.keywords::text[] END AS keywords,
           coalesce(r.proposed->>'written_by', r.written_by) AS written_by
      FROM ingestion_relationship AS r LEFT JOIN edited ON edited.id = r.id
     WHERE r.workspace_id = %(workspace)s AND r.id = ANY (ARRAY(
           SELECT id FROM edited
           UNION SELECT id FROM ingestion_relationship
                  WHERE workspace_id = %(workspace)s AND proposed <> '{}'))
), due AS (
    SELECT id, coalesce(new_description, description) AS description,
           coalesce(new_keywords, keywords) AS keywords,
           CASE WHEN new_description IS NULL THEN written_by ELSE 'person' END AS written_by,
           CASE WHEN new_description IS NULL THEN '{}' ELSE jsonb_build_object(
                'description', description, 'written_by', written_by) END
           || CASE WHEN new_keywords IS NULL THEN '{}' ELSE jsonb_build_object(
                   'keywords', to_jsonb(keywords)) END AS proposed
      FROM own
)
UPDATE ingestion_relationship AS r
   SET description = due.description, keywords = due.keywords, written_by = due.written_by,
       proposed = due.proposed, is_changed = true
  FROM due
 WHERE r.workspace_id = %(workspace)s AND r.id = due.id
   AND r.id = ANY (ARRAY(SELECT id FROM due))
   AND (r.description, r.keywords::text[], r.written_by, r.proposed)
       IS DISTINCT FROM (due.description, due.keywords, due.written_by, due.proposed)
"""

# Names that no mention of a changed entity has any more, and that no person added.
PRUNE_ALIASES: Final[LiteralString] = """
WITH changed AS MATERIALIZED (
    SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
), used AS MATERIALIZED (
    SELECT entity_id, surface, label FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(SELECT id FROM changed))
), kept AS (
    SELECT entity_id, surface AS name FROM used
    UNION SELECT entity_id, label FROM used
    UNION SELECT * FROM unnest(%(entities)s::uuid[], %(names)s::text[]) AS t (entity_id, name)
), gone AS (
    SELECT a.id FROM ingestion_alias AS a
      LEFT JOIN kept AS k ON k.entity_id = a.entity_id AND k.name = a.name
     WHERE a.workspace_id = %(workspace)s AND a.entity_id = ANY (ARRAY(SELECT id FROM changed))
       AND k.name IS NULL
)
DELETE FROM ingestion_alias
 WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM gone))
"""
ADD_ALIASES: Final[LiteralString] = """
INSERT INTO ingestion_alias (workspace_id, id, entity_id, key, name)
SELECT %(workspace)s, gen_random_uuid(), e.id, t.key, t.name
  FROM unnest(%(entities)s::uuid[], %(keys)s::text[], %(names)s::text[]) AS t (entity, key, name)
  JOIN ingestion_entity AS e ON e.workspace_id = %(workspace)s AND e.id = t.entity
 ORDER BY t.key, t.name, t.entity
ON CONFLICT DO NOTHING
"""
REMOVE_ALIASES: Final[LiteralString] = """
DELETE FROM ingestion_alias AS a
 USING unnest(%(entities)s::uuid[], %(keys)s::text[]) AS t (entity, key)
 WHERE a.workspace_id = %(workspace)s AND a.entity_id = t.entity AND a.key = t.key
"""
