"""What a case shows of each entity: its names, its figures, and where it is named."""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, LiteralString

from django.db.models import Count

from ingestion.curation.queries import aliases_of, fact_counts
from ingestion.history import recording
from ingestion.models import Entity, Mention
from kb_project.sql import run_sql
from workspaces.models import Workspace

MOST_QUOTES: Final = 2
AROUND: Final = 120
"""Characters on either side of the name in a quote."""
MOST_ALIASES: Final = 8
BLANK: Final = re.compile(r"\n[ \t\r]*\n")
MARKS: Final = re.compile(r"^(?:[#>*-]+ )+")
"""Markdown prefixes of headings, quotations and list items."""


# Where each of these entities is named, with the text around the name: one mention per document
# first.
QUOTES: Final[LiteralString] = """
WITH named AS (
    SELECT m.entity_id, m.document_id, m.chunk_id, m.start, m."end",
           row_number() OVER (PARTITION BY m.entity_id, m.document_id
                              ORDER BY m.start, m."end") AS place
      FROM ingestion_mention AS m
     WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY (%(entities)s::uuid[])
), chosen AS (
    SELECT *, row_number() OVER (PARTITION BY entity_id
                                 ORDER BY place, document_id, start) AS number
      FROM named
)
SELECT n.entity_id, n.document_id, d.title, n.chunk_id, n.start, n."end",
       substr(c.text, greatest(1, n.start - c.start + 1 - %(around)s),
              least(n.start - c.start, %(around)s)),
       substr(c.text, n.start - c.start + 1, n."end" - n.start),
       substr(c.text, n."end" - c.start + 1, %(around)s),
       c.page_first, c.heading_path
  FROM chosen AS n
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = n.chunk_id
  JOIN ingestion_document AS d ON d.workspace_id = %(workspace)s AND d.id = n.document_id
 WHERE n.number <= %(most)s
 ORDER BY n.entity_id, n.number
"""


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage that names the entity: ``before``, ``name`` and ``after`` make up the quote.

    ``start`` and ``end`` are the name's offsets in the text of the document's version. ``place`` is
    page and heading in words, '' if there are none.
    """

    document_id: uuid.UUID
    document: str
    chunk_id: uuid.UUID
    start: int
    end: int
    before: str
    name: str
    after: str
    place: str


@dataclass(frozen=True, slots=True)
class Side:
    """One entity of a case. ``revision`` is for ``ChangeContext.expected``."""

    id: uuid.UUID
    name: str
    type: str
    description: str
    aliases: tuple[str, ...]
    mentions: int
    facts: int
    documents: int
    revision: int
    is_protected: bool
    is_confirmed: bool
    is_made: bool
    quotes: tuple[Quote, ...]

    def worth_keeping(self) -> tuple[bool, int, int, str, uuid.UUID]:
        """Return a sort key, best to keep first: vouched for by people, then mentioned most, then
        the longest name.
        """
        is_vouched_for = self.is_protected or self.is_confirmed or self.is_made
        return (
            not is_vouched_for,
            -(self.mentions + self.facts),
            -len(self.name),
            self.name,
            self.id,
        )


def sizes_of(workspace: Workspace, entities: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Count mentions and neighbours of each existing entity."""
    rows = Entity.objects.in_workspace(workspace).filter(pk__in=entities)
    figures = rows.values_list("pk", "mention_count", "degree")
    return {one: mentions + degree for one, mentions, degree in figures}


def sides_of(workspace: Workspace, entities: Collection[uuid.UUID]) -> dict[uuid.UUID, Side]:
    """Load the sides of any number of entities in a fixed number of queries."""
    rows = Entity.objects.in_workspace(workspace).in_bulk(list(entities))
    aliases = aliases_of(workspace, rows.values())
    facts = fact_counts(workspace, rows)
    mentions = Mention.objects.in_workspace(workspace).filter(entity__in=rows)
    documents = dict(
        mentions.values_list("entity").annotate(number=Count("document", distinct=True))
    )
    revisions = recording.revisions(workspace, list(rows))
    quotes = _quotes(workspace, rows)
    return {
        one: Side(
            id=one,
            name=entity.name,
            type=entity.type,
            description=entity.description,
            aliases=aliases[one][:MOST_ALIASES],
            mentions=entity.mention_count,
            facts=facts[one],
            documents=documents.get(one, 0),
            revision=revisions[one],
            is_protected=entity.is_protected,
            is_confirmed=entity.is_confirmed,
            is_made=entity.is_made,
            quotes=tuple(quotes[one]),
        )
        for one, entity in rows.items()
    }


def _quotes(
    workspace: Workspace, entities: Collection[uuid.UUID]
) -> defaultdict[uuid.UUID, list[Quote]]:
    found: defaultdict[uuid.UUID, list[Quote]] = defaultdict(list)
    values = {"entities": list(entities), "most": MOST_QUOTES, "around": AROUND}
    rows = run_sql(QUOTES, {"workspace": workspace.pk, **values})
    for entity, document, title, chunk, start, end, before, name, after, page, headings in rows:
        around = (_from_a_word(before), name, _to_a_word(after))
        place = place_of(page, headings)
        found[entity].append(Quote(document, title, chunk, start, end, *around, place))
    return found


def _from_a_word(text: str) -> str:
    """Return the end of a text on one line, from its first whole word or its last paragraph on.

    >>> _from_a_word("kee" + 40 * "pers ")[:12], _from_a_word("# Oil\\n\\nThe lamp of ")
    ('… pers pers ', 'The lamp of ')
    """
    *above, paragraph = BLANK.split(text)
    line = MARKS.sub("", " ".join(paragraph.split()))
    ends = " " if text[-1:].isspace() and line else ""
    if above or len(text) < AROUND:
        return line + ends
    return f"… {line.partition(' ')[2]}{ends}"


def _to_a_word(text: str) -> str:
    paragraph, *below = BLANK.split(text)
    line = " ".join(paragraph.split())
    begins = " " if text[:1].isspace() and line else ""
    if below or len(text) < AROUND:
        return begins + line
    return f"{begins}{line.rpartition(' ')[0]} …"


def place_of(page: int | None, headings: Collection[str]) -> str:
    """
    >>> place_of(3, ["Strategy", "Lights"]), place_of(None, []), place_of(2, [])
    ('page 3, Lights', '', 'page 2')
    """
    parts = [f"page {page}"] if page else []
    return ", ".join([*parts, *list(headings)[-1:]])
