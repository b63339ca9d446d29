"""Load the rows that reports are written from, for a batch of communities at a time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from math import log1p
from typing import Any, Final, NamedTuple
from uuid import UUID

from ingestion.stages.reports import sections, sql
from ingestion.stages.reports.context import Kind, Record, TopicRecords
from ingestion.stages.reports.extractive import NAMING, Member, Sentence, Topic
from kb_project.sql import Columns, Row, run_sql, temporary_rows
from kb_project.text.regions import from_json
from kb_project.text.statements import Statement, StatementKind, quotable
from kb_project.text.words import one_line

# Sentences considered per community and source.
MOST_EVIDENCE: Final = 40
MOST_INTRODUCTIONS: Final = 60
# What belongs to no topic has thousands of parts, of which a report can show a dozen sentences.
MOST_CHILDREN: Final = 200
# Members up to which all of a topic are read, and of a larger one beside those that its sentences
# name: the one with most weight may open the report.
FEW_MEMBERS: Final = 1_000
CHIEF_MEMBERS: Final = 20
# Passages whose statements are kept for the topics of the level above.
KEPT_PASSAGES: Final = 5_000
# Passages of a topic that are read for a report by a model; fewer fit into a prompt.
MOST_PASSAGES: Final = 60
# A longer span is not a sentence to quote.
LONGEST_QUOTE: Final = 1_500

INSIDE: Final[Columns] = {
    "community_id": "uuid",
    "id": "uuid",
    "source_id": "uuid",
    "target_id": "uuid",
    "weight": "float8",
}

Span = tuple[UUID, int, int]
Spans = dict[UUID, dict[Span, bool]]
"""Spans by community; the value says whether a relationship is stated there."""


def topics(workspace_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Topic]:
    """Title, members and sentences of each community."""
    if not ids:
        return {}
    values = {"workspace": workspace_id, "ids": list(ids)}
    with temporary_rows("found_inside", INSIDE, ()):
        run_sql(sql.FIND_INSIDE, values)
        first = _first_members(values)
        sentences = _sentences(
            values, [(row.community, row.entity) for row in first if row.is_introduced]
        )
        sizes = {row.community: row.size for row in first}
        named = {row.entity for row in first if row.is_chief}.union(
            *(one.entities | one.introduces for one in chain.from_iterable(sentences.values()))
        )
        chosen = {
            **values,
            "small": [id_ for id_, size in sizes.items() if size <= FEW_MEMBERS],
            "large": [id_ for id_, size in sizes.items() if size > FEW_MEMBERS],
            "named": list(named),
        }
        found = run_sql(sql.MEMBERS, chosen)
        links: dict[UUID, int] = dict(run_sql(sql.LINKS))
    members: defaultdict[UUID, list[Member]] = defaultdict(list)
    for community, id_, name, type_, rank, tie in found:
        # Its rank in the workspace, plus the weight of its ties to the community.
        members[community].append(Member(id_, name, type_, rank + log1p(max(0.0, tie or 0.0))))
    documents = {row[0]: row[1] for row in run_sql(sql.DOCUMENTS, values)}
    titles: dict[UUID, str] = dict(run_sql(sql.TITLES, values))
    return {
        community: Topic(
            members=tuple(members[community]),
            sentences=tuple(sentences[community]),
            size=sizes.get(community, 0),
            links=links.get(community, 0),
            documents=documents.get(community, 0),
            title=titles.get(community, ""),
        )
        for community in ids
    }


class _FirstMember(NamedTuple):
    """A member that comes first in its community, of so many: by rank, or by ties as well."""

    community: UUID
    entity: UUID
    size: int
    is_introduced: bool
    is_chief: bool


def _first_members(values: dict[str, Any]) -> list[_FirstMember]:
    most = {"introduced": MOST_INTRODUCTIONS, "chief": CHIEF_MEMBERS}
    given = {**values, **most, "worths": json.dumps(NAMING)}
    return [_FirstMember(*row) for row in run_sql(sql.FIRST_MEMBERS, given)]


def _sentences(
    values: dict[str, Any], first: Sequence[tuple[UUID, UUID]]
) -> defaultdict[UUID, list[Sentence]]:
    """The sentences of each community, with those that introduce its first members."""
    of_first = {"first_of": [one for one, _ in first], "first": [one for _, one in first]}
    introductions = run_sql(sql.INTRODUCTIONS, {**values, **of_first})
    introduced: defaultdict[Span, set[UUID]] = defaultdict(set)
    for _, chunk, start, end, _, entity, is_first in introductions:
        if is_first:
            introduced[chunk, start, end].add(entity)
    spans = _stated(
        values["workspace"],
        _pooled(
            [
                *run_sql(sql.EVIDENCE, {**values, "most": MOST_EVIDENCE}),
                *(row[:5] for row in introductions),
                *run_sql(sql.FINDINGS_OF_CHILDREN, {**values, "most": MOST_CHILDREN}),
            ]
        ),
    )
    columns: Columns = {"chunk_id": "uuid", "start": "int4", "end": "int4"}
    wanted = {span for inside in spans.values() for span in inside}
    # Before the texts: a passage that is deleted between the two has no text.
    passages = sections.passages(values["workspace"], {chunk for chunk, _, _ in wanted})
    with temporary_rows("wanted_spans", columns, sorted(wanted)):
        rows = {row[:3]: row[3:] for row in run_sql(sql.SPANS, {"workspace": values["workspace"]})}
    # Chunks overlap: the same sentence may have been found in two of them.
    introduces: defaultdict[Span, set[UUID]] = defaultdict(set)
    for span, members in introduced.items():
        if span in rows:
            introduces[rows[span][0], *span[1:]] |= members
    found: defaultdict[UUID, list[Sentence]] = defaultdict(list)
    for community, inside in spans.items():
        seen: set[Span] = set()
        for span in sorted(inside):
            document, text, leads, entities = rows.get(span, (None, "", False, ()))
            chunk, start, end = span
            line = one_line(text)
            if line and (document, start, end) not in seen:
                seen.add((document, start, end))
                section = passages[chunk].at(start)
                found[community].append(
                    Sentence(
                        *(chunk, document, start, end, line, frozenset(entities)),
                        introduces=frozenset(introduces[document, start, end]),
                        states=inside[span],
                        leads=leads,
                        under=(section.document, *section.headings),
                    )
                )
    return found


def _pooled(rows: Iterable[Row]) -> Spans:
    spans: Spans = {}
    for community, chunk, start, end, stated in rows:
        if 0 < end - start <= LONGEST_QUOTE:
            inside = spans.setdefault(community, {})
            span = chunk, start, end
            inside[span] = inside.get(span, False) or stated
    return spans


def _stated(workspace_id: UUID, spans: Spans) -> Spans:
    """The sentences around the spans; list entries if a community has no sentence."""
    chunks = {chunk for inside in spans.values() for chunk, _, _ in inside}
    rows = run_sql(sql.CHUNKS, {"workspace": workspace_id, "chunks": list(chunks)})
    passages = {chunk: (start, _quotable(text, regions)) for chunk, start, text, regions in rows}
    found: list[Row] = []
    for community, inside in spans.items():
        stated: defaultdict[StatementKind, list[Row]] = defaultdict(list)
        for (chunk, start, end), is_stated in inside.items():
            offset, statements = passages.get(chunk, (0, []))
            if one := _around(start - offset, end - offset, statements):
                row = community, chunk, offset + one.start, offset + one.end, is_stated
                stated[one.kind].append(row)
        found += stated[StatementKind.SENTENCE] or stated[StatementKind.ENTRY]
    return _pooled(found)


@lru_cache(maxsize=KEPT_PASSAGES)
def _quotable(text: str, regions: str) -> list[Statement]:
    """A topic's passages are also those of the topics that it is part of."""
    return quotable(text, from_json(json.loads(regions)))


def _around(start: int, end: int, statements: Iterable[Statement]) -> Statement | None:
    """The statement that has the largest share of a span."""
    shared = ((min(end, one.end) - max(start, one.start), one) for one in statements)
    most, best = max(shared, key=lambda pair: pair[0], default=(0, None))
    return best if most > 0 else None


def with_passages(
    workspace_id: UUID, topics: Mapping[UUID, TopicRecords]
) -> dict[UUID, TopicRecords]:
    """The topics with the passages that mention their members, the most telling first.

    After GraphRAG's fast mode, which writes reports from raw text: no model has read these.
    """
    values = {"workspace": workspace_id, "ids": list(topics), "most": MOST_PASSAGES}
    found: defaultdict[UUID, list[Any]] = defaultdict(list)
    for community, *row in run_sql(sql.PASSAGES, values):
        found[community].append(row)
    return {
        id_: replace(
            topic,
            passages=tuple(
                Record.of(Kind.PASSAGE, chunk, f"{title}: {text}")
                for chunk, title, text in found[id_]
            ),
        )
        for id_, topic in topics.items()
    }
