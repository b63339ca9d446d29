"""Give every topic of a workspace its title, from the broadest down.

All are named together, since a title is what sets a topic apart from its siblings.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, LiteralString
from uuid import UUID

from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from ingestion.stages.reports.titles import Name, Place, Subject, titles
from kb_project.sql import run_sql

MOST_NAMES: Final = 15
"""Members that a topic may be named after."""

COMMUNITIES: Final[LiteralString] = """
SELECT level, parent_id, id FROM ingestion_community
WHERE workspace_id = %(workspace)s
ORDER BY level, parent_id NULLS FIRST, id
"""

SAID: Final[LiteralString] = """
SELECT community.id, mention.chunk_id, array_agg(mention.start)
FROM ingestion_community AS community
JOIN ingestion_communitymember AS member
  ON member.workspace_id = %(workspace)s AND member.community_id = community.id
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
WHERE community.workspace_id = %(workspace)s AND community.level = %(level)s
GROUP BY community.id, mention.chunk_id
"""

# The members with most relationships inside their topic; a relationship counts for both ends.
NAMES: Final[LiteralString] = """
WITH ends AS (
    SELECT source_id AS entity_id, target_id AS other_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT target_id, source_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
), home AS (
    SELECT member.community_id, member.entity_id
    FROM ingestion_community AS community
    JOIN ingestion_communitymember AS member
      ON member.workspace_id = %(workspace)s AND member.community_id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.level = %(level)s
), tied AS (
    SELECT home.community_id, home.entity_id,
           coalesce(sum(ends.weight ORDER BY ends.weight)
                    FILTER (WHERE there.community_id = home.community_id), 0) AS inside,
           coalesce(sum(ends.weight ORDER BY ends.weight), 0) AS everywhere
    FROM home
    LEFT JOIN ends ON ends.entity_id = home.entity_id
    LEFT JOIN home AS there ON there.entity_id = ends.other_id
    GROUP BY home.community_id, home.entity_id
), ranked AS (
    SELECT tied.*, entity.name, entity.type,
           sum(inside) OVER (PARTITION BY community_id) / 2 AS links,
           row_number() OVER (PARTITION BY community_id
                              ORDER BY inside DESC, entity.rank DESC, entity.mention_count DESC,
                                       entity.name, entity.id) AS place
    FROM tied
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = tied.entity_id
)
SELECT community_id, links, name, type, inside, everywhere FROM ranked
WHERE place <= %(most)s
ORDER BY community_id, place
"""

# Each passage with the headings above it and those in it: offset, level and text.
HEADINGS: Final[LiteralString] = """
SELECT chunk.id, chunk.start, document.title, chunk.heading_path, (
       SELECT jsonb_agg(jsonb_build_array(
                  region -> 1, coalesce(region -> 3, '1'),
                  substr(chunk.text, (region ->> 1)::int + 1,
                         (region ->> 2)::int - (region ->> 1)::int))
              ORDER BY (region ->> 1)::int)
       FROM jsonb_array_elements(chunk.regions) AS region
       WHERE region ->> 0 = 'heading')
FROM ingestion_chunk AS chunk
JOIN ingestion_document AS document
  ON document.workspace_id = %(workspace)s AND document.id = chunk.document_id
WHERE chunk.workspace_id = %(workspace)s
"""


@dataclass(frozen=True, slots=True)
class _Sections:
    """The parts of a passage under one heading each, and where they start."""

    starts: Sequence[int]
    places: Sequence[Place]

    def at(self, offset: int) -> Place:
        return self.places[max(0, bisect_right(self.starts, offset) - 1)]


def named(workspace_id: UUID) -> dict[UUID, str]:
    """The title of each community, by its id."""
    rest = other_topics_id(workspace_id)
    rows = run_sql(COMMUNITIES, {"workspace": workspace_id})
    if not rows:
        return {}
    sections = {row[0]: _sections(*row) for row in run_sql(HEADINGS, {"workspace": workspace_id})}
    given: dict[UUID, str] = {}
    above: dict[UUID | None, tuple[str, ...]] = {None: (OTHER_TOPICS,)}
    for level, group in groupby(rows, key=lambda row: row[0]):
        subjects = _subjects(workspace_id, level, sections)
        for parent, children in groupby(group, key=lambda row: row[1]):
            ids = [id_ for _, _, id_ in children]
            siblings = [subjects.get(id_) or Subject(id_) for id_ in ids if id_ != rest]
            given |= titles(siblings, above[parent])
            above |= {one.id: (*above[parent], given[one.id]) for one in siblings}
        if rest in subjects:
            given[rest], above[rest] = OTHER_TOPICS, above[None]
    return given


def _subjects(
    workspace_id: UUID, level: int, sections: Mapping[UUID, _Sections]
) -> dict[UUID, Subject]:
    values: dict[str, Any] = {"workspace": workspace_id, "level": level, "most": MOST_NAMES}
    subjects: dict[UUID, Subject] = {}
    for id_, chunk, starts in run_sql(SAID, values):
        if chunk in sections:
            said = subjects.setdefault(id_, Subject(id_)).said
            said.update(sections[chunk].at(start) for start in starts)
    for (id_, links), group in groupby(run_sql(NAMES, values), key=lambda row: row[:2]):
        one = subjects.setdefault(id_, Subject(id_))
        one.links, one.names = links, [Name(*row[2:]) for row in group]
    return subjects


def _sections(
    chunk: UUID,
    start: int,
    title: str,
    path: Sequence[str],
    headings: str | None,
) -> _Sections:
    def parts() -> Iterator[tuple[int, tuple[str, ...]]]:
        above = tuple(path)
        yield start, above
        for offset, level, said in json.loads(headings or "[]"):
            above = (*above[: level - 1], " ".join(said.split()))
            yield start + offset, above

    found = list(parts())
    return _Sections(
        [offset for offset, _ in found],
        [Place((chunk, number), above, title) for number, (_, above) in enumerate(found)],
    )
