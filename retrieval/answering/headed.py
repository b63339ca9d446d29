"""Lists whose entries are headings: the parts of a section, each with the sentence it begins with.

*Which traits are there?* is answered by the headings below *Traits*, and the terms that head their
definitions are entries as well. The section is read whole, whichever of its passages were found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from uuid import UUID

from ingestion.knowledge import summaries
from kb_project.sql import run_sql
from kb_project.text.regions import Heading, RegionKind, bare, from_json, is_telling, outline
from kb_project.text.statements import StatementKind
from kb_project.text.words import terms
from retrieval.answering import candidates, lists, ranking, sql
from retrieval.answering.candidates import Candidate
from retrieval.answering.features import Weighed
from retrieval.answering.ranking import Gathered, Ranking
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import Hit, hydrate

MOST_DOCUMENTS: Final = 3
"""Documents of the best statements whose headings are compared."""
MOST_PASSAGES: Final = 12
"""Passages of a section that are read; of a longer one, no list is made."""
MOST_TABLES: Final = 5
"""Passages found whose tables are read whole."""
SAYS_NOTHING: Final = frozenset(
    terms("kinds sorts types available possible supported different main overview list choosing")
)
"""Terms of a heading that the question need not have: *Account types*, *Supported formats*."""
COVERS: Final = 0.6
"""Share of the question's terms, by rarity, that the heading has at least."""


@dataclass(frozen=True, slots=True)
class _Section:
    document: UUID
    heading: Heading
    fit: float


def best(workspace_id: UUID, gathered: Gathered, ranking: Ranking) -> lists.Headed | None:
    """Return the parts of the section whose heading the question asks for, if it asks for a list
    and there is one. Call in a transaction."""
    if not lists.asks_for_list(gathered.sought.text) or not ranking.ranked:
        return None
    wanted = gathered.rarity.weighed(gathered.sought.terms)
    ranked = dict.fromkeys(one.candidate.hit.document_id for one in ranking.ranked)
    documents = list(ranked)[:MOST_DOCUMENTS]
    values = {"workspace": workspace_id, "documents": documents}
    sections: list[_Section] = []
    for id_, title, *_, length, headings, regions, _ in run_sql(sql.DOCUMENT_FACTS, values):
        found = outline(json.loads(headings), length, from_json(json.loads(regions)))
        sections += _sections(id_, title, found, wanted)
    sections.sort(key=lambda one: (-one.fit, documents.index(one.document), one.heading.start))
    for section in sections:
        if entries := _parts(workspace_id, section):
            return lists.Headed(entries, section.fit)
    return None


def with_whole_tables(query: Query, found: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits, with the other passages of the first ones' tables if the question asks for a
    list. Call in a transaction."""
    if not (lists.asks_for_list(query.question) or lists.names_list(query.question)):
        return found
    tables = [
        one.chunk_id
        for one in found[:MOST_TABLES]
        if any(region.kind is RegionKind.TABLE for region in one.regions)
    ]
    if not tables:
        return found
    values = {"workspace": query.workspace_id, "chunks": tables, "most": MOST_PASSAGES}
    beside = run_sql(sql.PASSAGES_BESIDE, values)
    return ranking.joined(query, found, [id_ for (id_,) in beside])


def _sections(
    document: UUID, title: str, headings: Sequence[Heading], wanted: Weighed
) -> Iterator[_Section]:
    """The sections whose headings the question has whole, and that cover it; *Step 1* and *Step 2*
    below one say that it has steps."""
    for one in headings:
        own = {*terms(bare(one.title))} - SAYS_NOTHING
        if not own or not wanted.weights.keys() >= own:
            continue
        inner = [other for other in headings if one.start < other.start < one.end]
        depth = min((other.depth for other in inner), default=0)
        below = [set(terms(other.title)) for other in inner if other.depth == depth]
        shared = set.intersection(*below) if len(below) > 1 else set()
        fit = wanted.share({*own, *shared, *terms(title)})
        if fit >= COVERS:
            yield _Section(document, one, fit)


def _parts(workspace_id: UUID, section: _Section) -> list[Candidate]:
    """Return what is directly below a heading; none if that is less than two parts."""
    start, end = section.heading.start, section.heading.end
    values = {
        "workspace": workspace_id,
        "documents": [section.document],
        "starts": [start],
        "ends": [end],
        "counts": [MOST_PASSAGES + 1],
    }
    rows = run_sql(summaries.PASSAGES_FROM, values)
    if len(rows) > MOST_PASSAGES:
        return []
    hits = hydrate(workspace_id, [ScoredChunk(row[1], 1.0) for row in rows])
    below = {
        hit.start + region.start: (hit, region)
        for hit in hits
        for region in hit.regions
        if region.kind is RegionKind.HEADING and start < hit.start + region.start < end
    }
    level = min((region.level for _, region in below.values()), default=0)
    places = sorted(place for place, (_, region) in below.items() if region.level == level)
    named = [
        part
        for place, next_ in pairwise([*places, end])
        if (part := _part(below[place][0], place, next_))
    ]
    if not 1 < len(named) <= lists.MOST_ENTRIES:
        return []
    whole = [whole for _, whole in named]
    is_short = sum(candidates.length_of(one.said) for one in whole) <= lists.MOST_WORDS
    return whole if is_short else [title for title, _ in named]


def _part(hit: Hit, start: int, end: int) -> tuple[Candidate, Candidate] | None:
    """Return a heading alone, and with the first sentence below it if its passage has one; None for
    a heading such as *See also*."""
    begin, stop = start - hit.start, min(end, hit.end) - hit.start
    found = [one for one in candidates.statements_of(hit) if begin <= one.start < stop]
    if not found or found[0].start != begin or not is_telling(found[0].said):
        return None
    title = replace(found[0], kind=StatementKind.ENTRY, said=bare(found[0].said))
    first = next((one for one in found[1:] if one.kind is not StatementKind.HEADING), None)
    whole = replace(title, end=first.end, said=f"{title.said}: {first.said}") if first else title
    return Candidate(hit, 0, title), Candidate(hit, 0, whole)
