"""The SQL of descriptions: counts, notes and sources of what changed."""

from __future__ import annotations

from typing import Final, LiteralString

# What changed is named by an array of ids, so that each row is found by its key however large the
# workspace is. OFFSET 0 keeps a question about each row from becoming a join with a whole table.

# Counts the mentions of the changed entities. Each mention votes for a type: context cues count
# most, capitals alone or a repetition in the same text least. Ties go to the type that sorts first,
# so that the order of arrival does not matter.
# *In* precedes more than places, so cues for a place weigh less, as does an article, which only
# says that a name is no person's. The recogniser is often mistaken, however often it repeats
# itself, so its guesses are capped, most of all at a place; and it tends to call what it does not
# know an organization.
# A type that rests on guesses alone needs most of the mentions, or of those that have a type if the
# name has several words. A single word, even one with a hyphen, does not become a person because a
# recogniser says so, nor anything else on a guess or two. What is left becomes a term. A name is
# taken only from spellings of the key itself: a short form never replaces the full name.
COUNT_ENTITIES: Final[LiteralString] = """
WITH changed AS MATERIALIZED (
    SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
), mention AS MATERIALIZED (
    SELECT entity_id, chunk_id, surface, label, own_key, type, source,
           CASE WHEN source = %(sure)s THEN 'known' WHEN source = ANY(%(guesses)s::text[])
                THEN 'guessed' ELSE 'said' END AS how
      FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(SELECT id FROM changed))
), alias AS MATERIALIZED (
    SELECT entity_id, key, name FROM ingestion_alias
     WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(SELECT id FROM changed))
), weighed AS (
    SELECT m.entity_id, m.type, count(*) AS mentions, bool_and(m.how = 'guessed') AS is_guessed,
           bool_or(strpos(m.surface, ' ') > 0) AS has_space,
           coalesce(sum(CASE m.type WHEN 'place' THEN 1.5 WHEN 'name' THEN 0.75
                                    WHEN 'concept' THEN 0.75 ELSE 3 END)
                    FILTER (WHERE m.how = 'known'), 0) AS known,
           coalesce(sum(CASE m.type WHEN 'name' THEN 0.25 WHEN 'organization' THEN 0.5 ELSE 1 END)
                    FILTER (WHERE m.how = 'said'), 0) AS said,
           coalesce(sum(CASE m.source WHEN %(again)s THEN 0.4 WHEN %(bare)s THEN 0.25 ELSE 1 END
                        * CASE m.type WHEN 'name' THEN 0.25 WHEN 'organization' THEN 0.5 ELSE 1 END)
                    FILTER (WHERE m.how = 'guessed'), 0) AS guessed
      FROM mention AS m GROUP BY m.entity_id, m.type
), voted AS (
    SELECT entity_id, type, mentions, is_guessed, has_space,
           known + said + least(guessed, CASE type WHEN 'place' THEN 5 ELSE 12 END) AS votes
      FROM weighed
), typed AS (
    SELECT entity_id, max(votes) AS votes, bool_or(has_space) AS has_space,
           sum(mentions) FILTER (WHERE type <> 'concept') AS names,
           sum(mentions) FILTER (WHERE type NOT IN ('name', 'concept')) AS with_type,
           (array_agg(mentions ORDER BY votes DESC, type))[1] AS of_type,
           (array_agg(is_guessed ORDER BY votes DESC, type))[1] AS is_guessed,
           (array_agg(type ORDER BY votes DESC, type))[1] AS type
      FROM voted GROUP BY entity_id
), counted AS (
    SELECT m.entity_id, count(*) AS mentions, count(DISTINCT m.chunk_id) AS chunks,
           mode() WITHIN GROUP (ORDER BY m.surface)
               FILTER (WHERE a.key = e.key) AS name,
           mode() WITHIN GROUP (ORDER BY m.label)
               FILTER (WHERE m.own_key = e.key) AS label
      FROM ingestion_entity AS e
      JOIN mention AS m ON m.entity_id = e.id
      LEFT JOIN alias AS a ON a.entity_id = e.id AND a.name = m.surface
     WHERE e.workspace_id = %(workspace)s AND e.is_changed
     GROUP BY m.entity_id
), locked AS (
    SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed
     ORDER BY id FOR NO KEY UPDATE
), known AS (
    SELECT e.id, CASE
           WHEN NOT t.is_guessed THEN t.type
           WHEN t.type IN ('name', 'concept') THEN 'concept'
           WHEN t.type <> 'product' AND t.of_type < CASE WHEN t.has_space THEN 0.4 * t.with_type
                                                         ELSE 0.6 * t.names END THEN 'concept'
           WHEN t.has_space THEN t.type
           WHEN t.type = 'place' AND t.votes >= 3 THEN t.type
           WHEN t.type = 'organization' AND t.votes >= 1.5 THEN t.type
           WHEN t.type IN ('product', 'work', 'event', 'group') AND c.mentions > 1 THEN t.type
           WHEN t.type = 'language' THEN t.type
           ELSE 'concept' END AS type
      FROM ingestion_entity AS e
      JOIN typed AS t ON t.entity_id = e.id
      JOIN counted AS c ON c.entity_id = e.id
     WHERE e.workspace_id = %(workspace)s AND e.is_changed
)
UPDATE ingestion_entity AS e
   SET mention_count = c.mentions, chunk_count = c.chunks, type = k.type,
       name = coalesce(c.name, c.label, e.proposed->>'name', e.name),
       proposed = e.proposed - 'name' - 'type'
  FROM counted AS c JOIN locked AS l ON l.id = c.entity_id JOIN known AS k ON k.id = c.entity_id
 WHERE e.workspace_id = %(workspace)s AND e.id = c.entity_id
   AND e.id = ANY (ARRAY(SELECT id FROM locked))
"""

# Strengths are summed as numbers. Keywords are the model's, plus the words between the two names.
COUNT_RELATIONSHIPS: Final[LiteralString] = """
WITH evidence AS MATERIALIZED (
    SELECT relationship_id, strength, predicate, keywords FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s AND relationship_id = ANY (ARRAY(
           SELECT id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed))
), counted AS (
    SELECT v.relationship_id, sum(v.strength ORDER BY v.strength) AS weight, count(*) AS number,
           coalesce(array_agg(DISTINCT left(v.predicate, 80) ORDER BY left(v.predicate, 80))
                    FILTER (WHERE v.predicate <> ''), '{}') AS predicates
      FROM evidence AS v GROUP BY v.relationship_id
), worded AS (
    SELECT v.relationship_id, array_agg(DISTINCT k.word ORDER BY k.word) AS words
      FROM evidence AS v CROSS JOIN LATERAL unnest(v.keywords) AS k (word)
     WHERE v.keywords <> '{}'
     GROUP BY v.relationship_id
), locked AS (
    SELECT id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed
     ORDER BY id FOR NO KEY UPDATE
)
UPDATE ingestion_relationship AS r
   SET weight = c.weight, evidence_count = c.number, proposed = r.proposed - 'keywords',
       keywords = coalesce(w.words[1:12], '{}') || c.predicates[1:5]
  FROM counted AS c JOIN locked AS l ON l.id = c.relationship_id
  LEFT JOIN worded AS w ON w.relationship_id = c.relationship_id
 WHERE r.workspace_id = %(workspace)s AND r.id = c.relationship_id
   AND r.id = ANY (ARRAY(SELECT id FROM locked))
"""

# Facts that lost their last evidence go, and leave a tombstone for the projection. Their ends have
# fewer neighbours now.
BURY_RELATIONSHIPS: Final[LiteralString] = """
WITH gone AS MATERIALIZED (
    SELECT r.id, r.source_id, r.target_id FROM ingestion_relationship AS r
     WHERE r.workspace_id = %(workspace)s AND r.is_changed AND NOT r.is_made AND NOT EXISTS (
           SELECT FROM ingestion_evidence AS v
            WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id OFFSET 0)
), deleted AS (
    DELETE FROM ingestion_relationship
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(SELECT id FROM gone))
), marked AS (
    UPDATE ingestion_entity SET is_changed = true
     WHERE workspace_id = %(workspace)s AND id = ANY (ARRAY(
           SELECT id FROM ingestion_entity
            WHERE workspace_id = %(workspace)s AND NOT is_changed AND id = ANY (ARRAY(
                  SELECT source_id FROM gone UNION SELECT target_id FROM gone))
            ORDER BY id FOR NO KEY UPDATE))
)
INSERT INTO ingestion_graphtombstone (workspace_id, id) SELECT %(workspace)s, id FROM gone
ON CONFLICT DO NOTHING
"""
BURY_ENTITIES: Final[LiteralString] = """
WITH gone AS (
    DELETE FROM ingestion_entity AS e
     WHERE e.workspace_id = %(workspace)s AND e.is_changed AND NOT e.is_made AND NOT EXISTS (
           SELECT FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id OFFSET 0)
    RETURNING e.id)
INSERT INTO ingestion_graphtombstone (workspace_id, id) SELECT %(workspace)s, id FROM gone
ON CONFLICT DO NOTHING
"""
# Conflicts whose remaining passages all say the same.
BURY_CONFLICTS: Final[LiteralString] = """
DELETE FROM ingestion_conflict AS c
 WHERE c.workspace_id = %(workspace)s
   AND 2 > (SELECT count(DISTINCT s.key) FROM ingestion_conflictside AS s
             WHERE s.workspace_id = %(workspace)s AND s.conflict_id = c.id)
"""

# The mentions most likely to introduce a changed entity: those in a document it names, then the
# earliest in each document.
INTRODUCTIONS: Final[LiteralString] = """
WITH mention AS MATERIALIZED (
    SELECT entity_id, chunk_id, document_id, start, "end", source = 'title' AS is_titled
      FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND entity_id = ANY (ARRAY(
           SELECT id FROM ingestion_entity WHERE workspace_id = %(workspace)s AND is_changed))
)
SELECT entity_id, chunk_id, start, "end", is_titled FROM (
    SELECT m.*, row_number() OVER (PARTITION BY m.entity_id
                                   ORDER BY m.is_titled DESC, c.ordinal, m.start, d.title,
                                            d.created_at, d.id) AS place
      FROM mention AS m
      JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = m.chunk_id
       AND c.id = ANY (ARRAY(SELECT chunk_id FROM mention))
      JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = m.document_id
       AND d.id = ANY (ARRAY(SELECT document_id FROM mention))) AS ranked
 WHERE place <= %(most)s
 ORDER BY entity_id, place
"""

BEST_EVIDENCE: Final[LiteralString] = """
WITH evidence AS MATERIALIZED (
    SELECT relationship_id, chunk_id, document_id, start, "end", kind, strength
      FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s AND relationship_id = ANY (ARRAY(
           SELECT id FROM ingestion_relationship WHERE workspace_id = %(workspace)s AND is_changed))
)
SELECT DISTINCT ON (v.relationship_id) v.relationship_id, v.chunk_id, v.start, v."end"
  FROM evidence AS v
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = v.chunk_id
   AND c.id = ANY (ARRAY(SELECT chunk_id FROM evidence))
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = v.document_id
   AND d.id = ANY (ARRAY(SELECT document_id FROM evidence))
 ORDER BY v.relationship_id, v.kind = 'stated' DESC, v.strength DESC, d.title, c.ordinal, v.start,
       d.created_at, d.id, v."end"
"""

# The model's notes on changed entities and relationships, by passage. Later documents come last, so
# that what was summarised before keeps its place.
ENTITY_NOTES: Final[LiteralString] = """
SELECT f.entity_id, e.name, f.chunk_id, f.start, f."end", f.text
  FROM ingestion_entity AS e
  JOIN ingestion_fragment AS f ON f.workspace_id = %(workspace)s AND f.entity_id = e.id
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = f.chunk_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = f.document_id
 WHERE e.workspace_id = %(workspace)s AND e.is_changed
 ORDER BY f.entity_id, d.created_at, d.id, c.ordinal, f.start, f.text
"""
RELATIONSHIP_NOTES: Final[LiteralString] = """
SELECT v.relationship_id, s.name || ' → ' || t.name, v.chunk_id, v.start, v."end", v.description
  FROM ingestion_relationship AS r
  JOIN ingestion_evidence AS v ON v.workspace_id = %(workspace)s AND v.relationship_id = r.id
  JOIN ingestion_entity AS s ON s.workspace_id = %(workspace)s AND s.id = r.source_id
  JOIN ingestion_entity AS t ON t.workspace_id = %(workspace)s AND t.id = r.target_id
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = v.chunk_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = v.document_id
 WHERE r.workspace_id = %(workspace)s AND r.is_changed AND v.description <> ''
 ORDER BY v.relationship_id, d.created_at, d.id, c.ordinal, v.start, v.description
"""

# If a person wrote the description, this one is kept beside it.
DESCRIBE_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity AS e
   SET description = CASE WHEN e.written_by = 'person' THEN e.description ELSE t.description END,
       description_sources = CASE WHEN e.written_by = 'person' THEN e.description_sources
                                  ELSE t.sources END,
       written_by = CASE WHEN e.written_by = 'person' THEN e.written_by ELSE t.written_by END,
       proposed = CASE WHEN e.written_by = 'person' THEN e.proposed || jsonb_build_object(
           'description', t.description, 'description_sources', t.sources,
           'written_by', t.written_by) ELSE e.proposed END,
       conflicts = t.conflicts
  FROM unnest(%(ids)s::uuid[], %(descriptions)s::text[], %(sources)s::jsonb[],
              %(writers)s::text[], %(conflicts)s::jsonb[])
       AS t (id, description, sources, written_by, conflicts)
 WHERE e.workspace_id = %(workspace)s AND e.id = t.id
"""
DESCRIBE_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship AS r
   SET description = CASE WHEN r.written_by = 'person' THEN r.description ELSE t.description END,
       written_by = CASE WHEN r.written_by = 'person' THEN r.written_by ELSE t.written_by END,
       proposed = CASE WHEN r.written_by = 'person' THEN r.proposed || jsonb_build_object(
           'description', t.description, 'written_by', t.written_by) ELSE r.proposed END,
       conflicts = t.conflicts
  FROM unnest(%(ids)s::uuid[], %(descriptions)s::text[], %(writers)s::text[],
              %(conflicts)s::jsonb[]) AS t (id, description, written_by, conflicts)
 WHERE r.workspace_id = %(workspace)s AND r.id = t.id
"""

# Resets counts and document text of what no document mentions any more; a relationship that a
# person made has weight one.
UNCOUNT_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity AS e
   SET mention_count = 0, chunk_count = 0, conflicts = '[]', description_sources = '[]',
       description = CASE WHEN e.written_by = 'person' THEN e.description ELSE '' END,
       written_by = CASE WHEN e.written_by = 'person' THEN 'person' ELSE 'extractive' END,
       proposed = CASE WHEN e.written_by = 'person' THEN e.proposed || jsonb_build_object(
           'description', '', 'description_sources', '[]'::jsonb, 'written_by', 'extractive')
           ELSE e.proposed END
 WHERE e.workspace_id = %(workspace)s AND e.is_changed AND e.is_made AND NOT EXISTS (
       SELECT FROM ingestion_mention AS m
        WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id OFFSET 0)
"""
UNCOUNT_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship AS r
   SET evidence_count = 0, weight = 1, conflicts = '[]',
       description = CASE WHEN r.written_by = 'person' THEN r.description ELSE '' END,
       keywords = CASE WHEN r.proposed ? 'keywords' THEN r.keywords ELSE '{}' END,
       written_by = CASE WHEN r.written_by = 'person' THEN 'person' ELSE 'extractive' END,
       proposed = r.proposed
           || CASE WHEN r.written_by = 'person' THEN jsonb_build_object(
                   'description', '', 'written_by', 'extractive') ELSE '{}' END
           || CASE WHEN r.proposed ? 'keywords' THEN jsonb_build_object('keywords', '[]'::jsonb)
                   ELSE '{}' END
 WHERE r.workspace_id = %(workspace)s AND r.is_changed AND r.is_made AND NOT EXISTS (
       SELECT FROM ingestion_evidence AS v
        WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id OFFSET 0)
"""

# A term in a single passage is worth listing only if it stands in a heading there. Each question
# about a row is answered by key.
MARK_HEADINGS: Final[LiteralString] = """
UPDATE ingestion_entity AS e SET in_heading = NOT e.in_heading
 WHERE e.workspace_id = %(workspace)s AND e.is_changed
   AND e.in_heading <> (e.chunk_count = 1 AND EXISTS (
       SELECT FROM ingestion_mention AS m
        WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id AND strpos(lower((
              SELECT array_to_string(c.heading_path, E'\\n') FROM ingestion_chunk AS c
               WHERE c.workspace_id = %(workspace)s AND c.id = m.chunk_id)), lower(e.name)) > 0))
"""
