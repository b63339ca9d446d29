"""Suggest: find entities that may be one, for a person to decide.

In: entities with their names, neighbours, passages and vectors, and earlier decisions.  Out:
MergeSuggestion rows with their certainty and reasons.
Safe to repeat: earlier suggestions are replaced. All entities are compared each time (a few seconds
for 50,000), so that suggestions depend on the current graph and not on the order in which it grew,
and disappear once they no longer apply.

Nothing is merged here. Pairs come from keys that few entities share (``blocks``), names are
compared word by word (``naming``), then their surroundings, and all of it is weighed into one
certainty (``weighing``). Decided pairs are not asked about again: a pair ruled
distinct stays, marked as such, so that people see it was found again.
"""

from __future__ import annotations

import json
import math
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, LiteralString

from django.db.models import F

from ingestion.extractors.extraction import CONCEPT, SYMBOL
from ingestion.models import Alias, IngestionJob, MergeSuggestion
from ingestion.resolution.decisions import STATES, decided_pairs
from ingestion.resolution.keys import EntityPair
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.suggest import blocks, weighing
from ingestion.stages.suggest.features import Candidate, Reason, Suggestion
from ingestion.stages.suggest.links import Links
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count, stream_sql
from workspaces import access

# Symbols of source code are named exactly: getName is not a misspelt setName. Terms name no one,
# but one written as a name may: Eastray Shipping, next to Eastray Shipping Ltd.
ENTITIES: Final[LiteralString] = """
SELECT id, key, name, type, sense, mention_count, degree FROM ingestion_entity AS e
 WHERE workspace_id = %(workspace)s AND type <> ALL (%(exact)s::text[])
   AND (type <> %(term)s OR written_by <> 'extractive' OR is_made OR is_confirmed OR EXISTS (
       SELECT 1 FROM ingestion_mention AS m
        WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id AND m.type <> %(term)s))
"""

LINKS: Final[LiteralString] = """
SELECT coalesce(string_agg(uuid_send(source_id), ''::bytea), ''),
       coalesce(string_agg(uuid_send(target_id), ''::bytea), '')
  FROM ingestion_relationship WHERE workspace_id = %(workspace)s
"""

# Names that closely follow each other in a passage, with the text between them.
ADJACENT_NAMES: Final[LiteralString] = """
WITH named AS (
    SELECT m.chunk_id, m.entity_id AS first, m."end" AS first_end,
           lead(m.entity_id) OVER following AS second,
           lead(m.start) OVER following AS second_start,
           lead(m."end") OVER following AS second_end,
           lead(m.surface) OVER following AS second_surface
      FROM ingestion_mention AS m
     WHERE m.workspace_id = %(workspace)s
    WINDOW following AS (PARTITION BY m.chunk_id ORDER BY m.start, m."end", m.entity_id)
), beside AS MATERIALIZED (
    SELECT * FROM named
     WHERE first <> second AND second_start - first_end BETWEEN 1 AND %(longest)s
)
SELECT b.first, b.second,
       substr(c.text, b.first_end - c.start + 1, b.second_start - b.first_end),
       substr(c.text, b.second_end - c.start + 1, 3),
       b.second_surface
  FROM beside AS b
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = b.chunk_id
"""

# How similar are the passages that name one and those that name the other: the cosine of their mean
# vectors, relative to the mean of the workspace. No row if a passage names both.
COSINES: Final[LiteralString] = """
WITH pair AS MATERIALIZED (
    SELECT * FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[]) AS t (l, r)
), mean AS MATERIALIZED (
    SELECT named.id, avg(e.vector) AS vector
      FROM (SELECT l AS id FROM pair UNION SELECT r FROM pair) AS named
     CROSS JOIN LATERAL (
           SELECT DISTINCT m.chunk_id FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = named.id
            ORDER BY m.chunk_id LIMIT %(most)s) AS passage
      JOIN ingestion_chunkembedding AS e ON e.workspace_id = %(workspace)s
           AND e.chunk_id = passage.chunk_id AND e.fingerprint = %(fingerprint)s
     GROUP BY named.id
), centre AS MATERIALIZED (
    SELECT avg(vector) AS vector
      FROM (SELECT vector FROM ingestion_chunkembedding
             WHERE workspace_id = %(workspace)s AND fingerprint = %(fingerprint)s
             ORDER BY chunk_id LIMIT %(sample)s) AS sample
)
SELECT pair.l, pair.r, 1 - ((l.vector - c.vector) <=> (r.vector - c.vector))
  FROM pair
  JOIN mean AS l ON l.id = pair.l
  JOIN mean AS r ON r.id = pair.r
 CROSS JOIN centre AS c
 WHERE NOT EXISTS (
       SELECT FROM ingestion_mention AS m
         JOIN ingestion_mention AS n ON n.workspace_id = %(workspace)s
              AND n.chunk_id = m.chunk_id AND n.entity_id = pair.r
        WHERE m.workspace_id = %(workspace)s AND m.entity_id = pair.l)
"""

# Earlier suggestions that were not found again are deleted.
FORGET: Final[LiteralString] = """
DELETE FROM ingestion_mergesuggestion AS s
 WHERE s.workspace_id = %(workspace)s
   AND (s.left_id, s.right_id) NOT IN (
       SELECT * FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[]) AS t (l, r))
"""

# Entities may be deleted meanwhile: those that remain are locked until the transaction ends.
SUGGEST: Final[LiteralString] = """
WITH held AS MATERIALIZED (
    SELECT id FROM ingestion_entity
     WHERE workspace_id = %(workspace)s AND id = ANY (%(lefts)s::uuid[] || %(rights)s::uuid[])
     ORDER BY id FOR KEY SHARE
)
INSERT INTO ingestion_mergesuggestion AS s
       (workspace_id, id, left_id, right_id, score, effect, reason, reasons, state, created_at)
SELECT %(workspace)s, gen_random_uuid(), t.l, t.r, t.score, t.effect, t.reason, t.reasons::jsonb,
       t.state, now()
  FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[], %(scores)s::float8[], %(effects)s::float8[],
              %(sentences)s::text[], %(reasons)s::text[], %(states)s::text[])
       AS t (l, r, score, effect, reason, reasons, state)
 WHERE t.l IN (SELECT id FROM held) AND t.r IN (SELECT id FROM held)
 ORDER BY t.l, t.r
ON CONFLICT (workspace_id, left_id, right_id) DO UPDATE
   SET score = excluded.score, effect = excluded.effect, reason = excluded.reason,
       reasons = excluded.reasons, state = excluded.state
 WHERE (s.score, s.effect, s.reasons, s.state) IS DISTINCT FROM
       (excluded.score, excluded.effect, excluded.reasons, excluded.state)
"""


MOST_WRITTEN: Final = 5000
"""Suggestions kept per run, the most certain ones: no one works through more."""
MOST_PASSAGES: Final = 12
SAMPLE: Final = 1000
REASON_LENGTH: Final = 300


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        entities = _load(workspace_id)
        stated = weighing.stated_names(_adjacent_names(workspace_id, entities))
    progress(1, 3)
    common = blocks.common_in(entities.values())
    pairs = blocks.candidates(entities.values(), common)
    possible = weighing.weighed(pairs, entities, common, stated)
    progress(2, 3)
    with access.in_workspace(workspace_id):
        cosines = _cosines(workspace_id, possible, ports.embedder.fingerprint)
        suggestions = weighing.with_passages(possible, cosines)[:MOST_WRITTEN]
        _save(workspace_id, suggestions, entities)
    progress(3, 3)
    return StageOutcome(written=len(suggestions))


def _load(workspace_id: uuid.UUID) -> dict[uuid.UUID, Candidate]:
    """The entities to compare. Call in the workspace's scope."""
    values = {"workspace": workspace_id, "exact": [SYMBOL], "term": CONCEPT}
    aliases: defaultdict[uuid.UUID, dict[str, str]] = defaultdict(dict)
    names = Alias.objects.in_workspace(workspace_id).exclude(key=F("entity__key"))
    for entity, key, name in names.order_by("key", "name").values_list("entity_id", "key", "name"):
        aliases[entity][key] = name
    entities = run_sql(ENTITIES, values)
    [(sources, targets)] = run_sql(LINKS, values)
    neighbours = Links(bytes(sources), bytes(targets)).neighbours([row[0] for row in entities])
    return {
        id_: Candidate(id_, key, name, type_, sense, mentions, degree, aliases.get(id_, {}), near)
        for (id_, key, name, type_, sense, mentions, degree), near in zip(
            entities, neighbours, strict=True
        )
    }


def _adjacent_names(
    workspace_id: uuid.UUID, entities: Mapping[uuid.UUID, Candidate]
) -> Iterator[weighing.AdjacentNames]:
    values = {"workspace": workspace_id, "longest": weighing.LONGEST_GAP}
    return (
        weighing.AdjacentNames(first, second, between, after, is_full=" " in surface.strip())
        for first, second, between, after, surface in stream_sql(ADJACENT_NAMES, values)
        if first in entities and second in entities
    )


def _cosines(
    workspace_id: uuid.UUID, possible: Sequence[Suggestion], fingerprint: str
) -> dict[EntityPair, float]:
    """Cosines of pairs that no passage names together, if there are vectors."""
    asked = possible[: 2 * MOST_WRITTEN]
    values = {
        "workspace": workspace_id,
        "lefts": [one.pair[0] for one in asked],
        "rights": [one.pair[1] for one in asked],
        "most": MOST_PASSAGES,
        "sample": SAMPLE,
        "fingerprint": fingerprint,
    }
    # The cosine of a zero vector is not a number.
    return {
        (left, right): cosine
        for left, right, cosine in run_sql(COSINES, values)
        if not math.isnan(cosine)
    }


def _save(
    workspace_id: uuid.UUID,
    suggestions: Sequence[Suggestion],
    entities: Mapping[uuid.UUID, Candidate],
) -> None:
    """Replace earlier suggestions."""
    decided = decided_pairs(workspace_id)
    rows = sorted(suggestions, key=lambda one: one.pair)
    ends = {"lefts": [one.pair[0] for one in rows], "rights": [one.pair[1] for one in rows]}
    values = {"workspace": workspace_id, **ends}
    run_sql_count(FORGET, values)
    states = [
        STATES[decided[one.pair].verdict] if one.pair in decided else MergeSuggestion.State.OPEN
        for one in rows
    ]
    columns = {
        "scores": [round(one.certainty, 4) for one in rows],
        # How much a merge moves, on a logarithmic scale.
        "effects": [
            round(math.log(2 + min(entities[end].moves for end in one.pair)), 4) for one in rows
        ],
        "sentences": [_sentence(one.reasons) for one in rows],
        "reasons": [json.dumps([reason.as_json() for reason in one.reasons]) for one in rows],
        "states": [state.value for state in states],
    }
    run_sql_count(SUGGEST, values | columns)


def _sentence(reasons: Sequence[Reason]) -> str:
    """The reasons in one line: Same name after removing Inc.; share 4 neighbours."""
    line = "; ".join(reason.words for reason in reasons if reason.words)
    return (line[:1].upper() + line[1:])[:REASON_LENGTH]
