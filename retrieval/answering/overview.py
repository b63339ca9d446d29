"""Overviews and summaries, composed from what is known of documents. Every sentence cites.

A document is described by its title, kind, length and date, its main headings, its most frequent
names and terms, and its most central sentences: those of its summary (*In short* on its page),
chosen when it was processed, or failing that those of its first passages. *Which documents mention
Ada?* gets those documents, each with its first sentence that does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString
from uuid import UUID

import regex
from django.db.models import F

from ingestion.knowledge import summaries
from ingestion.models import DocumentVersion
from kb_project.sql import Row, run_sql
from kb_project.text.regions import (
    RegionKind,
    bare,
    from_json,
    main,
    prose,
)
from kb_project.text.words import terms
from retrieval.answering import candidates, overview_language as language, sql
from retrieval.answering.drafts import ChunkSpan
from retrieval.answering.overview_described import document_described
from retrieval.answering.overview_facts import (
    Facts,
    apart,
    facts_of,
    headings_of,
    parts_below,
    titles_of,
)
from retrieval.answering.overview_language import Named, Section, Target
from retrieval.answering.overview_sentences import CHINESE, ENGLISH
from retrieval.search import scope_entities
from retrieval.search.query import ScoredChunk
from retrieval.search.results import Hit, hydrate

MOST_LINES: Final = 12
"""Documents with a line of their own; if there are more, the last line covers the shortest ones."""
MOST_HEADINGS: Final = 10
FEW_HEADINGS: Final = 3
"""Main headings, at most, that are listed with those below them."""
MOST_NAMES: Final = 5
MOST_KEY_WORDS: Final = 8
MOST_TERMS: Final = 10
"""The key words, and terms of several words."""
MOST_OF_LINE: Final = 4
MOST_NAMES_OF_LINE: Final = 3
"""Headings and terms, and names, of a document that has one line among others."""
MOST_CENTRAL: Final = 6
"""Sentences quoted from one document; one fewer from all documents."""
MOST_OPENED: Final = 24
"""Documents whose beginnings supply the sentences of an overview of all."""
MOST_RANKED: Final = 12
"""Sentences considered when choosing one from each document."""
MOST_PASSAGES: Final = 12
"""Passages read of a section."""
MOST_CALLED: Final = 500
"""Documents, with their headings, considered when matching a subject."""
MOST_CITED: Final = 3
"""Documents cited by a sentence that names several."""
LONGEST_LINE: Final = 300
"""Characters of a line that are cited."""

NAMES: Final = ("person", "organization", "place")
TERMS: Final = ("concept",)
_LINE: Final = regex.compile(r"\S[^\n]*(?<=\S)")
_WILDCARD: Final = regex.compile(r"([\\%_])")
_ARTICLE: Final = regex.compile(r"^(?:the|an?) ", regex.IGNORECASE)
_SEVERAL: Final = regex.compile(r"\b(?:and|or)\b|[,;，；、和或]", regex.IGNORECASE)
_PLURAL: Final = regex.compile(r"(?<=\p{L}{3}[^s\P{L}])s$")


@dataclass(frozen=True, slots=True)
class OverviewSentence:
    """``text[bold[0]:bold[1]]`` is the title of the document described."""

    text: str
    spans: tuple[ChunkSpan, ...] = ()
    bold: tuple[int, int] | None = None


def target(
    workspace_id: UUID, question: str, documents: Sequence[UUID] | None, found: Sequence[Hit] = ()
) -> Target | None:
    """Return what the question asks an overview of, within the scope; None if it asks for something
    else. Reads documents only if the question may name one; ``found`` are the passages found."""
    if without_names := language.asked(question, []):
        return without_names
    named: dict[UUID, Named] = {}
    subjects = list(dict.fromkeys(language.subjects(question)))
    for subject in subjects:
        values = {
            "workspace": workspace_id,
            "documents": documents if documents is None else list(documents),
            "patterns": [
                "%" + _WILDCARD.sub(r"\\\1", prefix) + "%"
                for prefix in language.beginnings(subject)
            ],
            "count": MOST_CALLED,
        }
        for id_, title, name, headings in run_sql(sql.DOCUMENTS_CALLED, values):
            named[id_] = Named(id_, title, name, headings_of(headings))
    if target := language.asked(question, list(named.values())):
        return target
    known = _names_and_authors(workspace_id, found) if subjects else {}
    meant = (document_described(subject, found, known) for subject in subjects)
    document = next(filter(None, meant), None)
    return Target((document,)) if document else None


def _names_and_authors(workspace_id: UUID, found: Sequence[Hit]) -> dict[UUID, tuple[str, str]]:
    versions = DocumentVersion.objects.in_workspace(workspace_id).filter(
        document__in={hit.document_id for hit in found}, number=F("document__live_number")
    )
    rows = versions.values_list("document", "document__name", "metadata__author")
    return {document: (name, author or "") for document, name, author in rows}


def compose(
    workspace_id: UUID, target: Target, documents: Sequence[UUID] | None
) -> tuple[list[OverviewSentence], list[Hit]]:
    """Compose the overview; return it with the passages it cites, in citation order.

    ``documents`` is the scope, None for the whole workspace. Call in a transaction of the
    workspace; writes nothing. Empty if no document has been processed yet.
    """
    reader = _Reader(workspace_id, is_chinese=target.is_chinese)
    if target.phrase:
        sentences = reader.of_phrase(target.phrase, documents)
    elif target.section:
        sentences = reader.of_section(target.section)
    else:
        wanted = list(target.documents) or documents
        longest = reader.longest(wanted if wanted is None else list(wanted))
        if not longest.ids:
            return [], []
        if longest.number == 1:
            sentences = reader.of_document(longest.ids[0])
        else:
            sentences = reader.of_all(longest)
    chunks = dict.fromkeys(span.chunk_id for one in sentences for span in one.spans)
    return sentences, hydrate(workspace_id, [ScoredChunk(chunk, 1.0) for chunk in chunks])


@dataclass(frozen=True, slots=True)
class _Longest:
    """The longest of ``number`` documents."""

    ids: tuple[UUID, ...]
    titles: tuple[str, ...]
    number: int


class _Reader:
    """Reads the facts, and puts them into sentences."""

    def __init__(self, workspace_id: UUID, *, is_chinese: bool) -> None:
        self._workspace = workspace_id
        self._say = CHINESE if is_chinese else ENGLISH

    def longest(self, documents: Sequence[UUID] | None) -> _Longest:
        values = {"documents": documents, "count": MOST_OPENED}
        rows = self._rows(sql.LONGEST_DOCUMENTS, values)
        return _Longest(
            tuple(row[0] for row in rows),
            tuple(row[1] for row in rows),
            rows[0][2] if rows else 0,
        )

    def of_document(self, document: UUID) -> list[OverviewSentence]:
        """Describe a document: what it is, its parts, its names, and what it says."""
        [facts] = self._named(self._facts([document]))
        wanted = summaries.stretches(document, facts.headings, facts.length)
        return [*self._opening(facts), *self._central(wanted)]

    def of_all(self, longest: _Longest) -> list[OverviewSentence]:
        """Describe each document in one line, the rest in another, then quote what they say."""
        single = len(longest.ids) if longest.number <= MOST_LINES else MOST_LINES - 1
        facts = self._named(self._facts(longest.ids[:single]))
        lines = [self._line(one) for one in facts]
        if longest.number > single:
            lines.append(self._rest(longest, single))
        return [*lines, *map(_quoted, self._spread(longest))]

    def of_section(self, section: Section) -> list[OverviewSentence]:
        """Describe a section of a document in the same way."""
        [facts] = self._facts([section.document_id])
        own = next((one for one in facts.headings if one.start == section.start), None)
        if own is None:
            return self.of_document(section.document_id)
        below = [one for one in facts.headings if own.start < one.start < own.end]
        part = replace(
            facts,
            title=bare(own.title) or own.title,
            kind=self._say.part_of(facts.title),
            length=own.end - own.start,
            pages=0,
            date="",
            headings=tuple(below),
        )
        wanted = summaries.Stretch(facts.id, own.start, own.end, MOST_PASSAGES)
        return [*self._opening(part, own.start), *self._central([wanted])]

    def of_phrase(self, phrase: str, documents: Sequence[UUID] | None) -> list[OverviewSentence]:
        """Say how many documents mention what the phrase names, or have its words; of those with
        most passages, quote the first. Empty if several things are meant."""
        named = scope_entities.named_in(self._workspace, phrase)
        entity = named[0] if len(named) == 1 else None
        # Words may stand on two lines, and *account* is not *accounting*.
        words = _PLURAL.sub("", _ARTICLE.sub("", phrase)).split()
        values = {
            "entity": entity and entity.entity_id,
            "terms": list(set(terms(phrase))),
            "pattern": "%" + "_".join(_WILDCARD.sub(r"\\\1", word) for word in words) + "%",
            "documents": documents if documents is None else list(documents),
            "count": MOST_LINES,
        }
        wanted = regex.compile(r"\s".join(map(regex.escape, words)), regex.IGNORECASE)
        rows = self._rows(sql.DOCUMENTS_MENTIONING, values)
        if not rows and entity is None and _SEVERAL.search(phrase):
            return []
        hits = hydrate(self._workspace, [ScoredChunk(row[2], 1.0) for row in rows])
        passages = {hit.chunk_id: hit for hit in hits}
        lines = []
        for title, number, chunk, start, _ in rows:
            begin, end, said = candidates.statement_of(passages[chunk], start, wanted)
            text = self._say.mention(title, number, said)
            lines.append(OverviewSentence(text, (ChunkSpan(chunk, begin, end),), (0, len(title))))
        spans = tuple(span for one in lines[:MOST_CITED] for span in one.spans)
        said = self._say.mentioned(phrase, rows[0][4] if rows else 0, len(lines))
        return [OverviewSentence(said, spans), *lines]

    def _central(self, wanted: Sequence[summaries.Stretch]) -> list[OverviewSentence]:
        said = summaries.sentences(self._workspace, wanted)
        return list(map(_quoted, summaries.central(said, MOST_CENTRAL)))

    def _opening(self, facts: Facts, start: int = 0) -> Iterator[OverviewSentence]:
        parts = main(facts.headings, MOST_HEADINGS)
        first = self._first_line(facts.id, start)
        text = self._say.is_a(facts.title, self._about(facts))
        yield OverviewSentence(text, first, (0, len(facts.title)))
        if titles := titles_of(parts):
            if len(parts) <= FEW_HEADINGS:
                titles = [
                    self._say.part(title, parts_below(one, facts.headings))
                    for title, one in zip(titles, parts, strict=True)
                ]
            yield OverviewSentence(
                self._say.parts(titles), self._first_line(facts.id, parts[0].start)
            )
        if facts.names or facts.terms:
            yield OverviewSentence(self._say.names(facts.names, facts.terms), first)

    def _line(self, facts: Facts) -> OverviewSentence:
        """Describe a document in one sentence."""
        parts = main(facts.headings, MOST_OF_LINE)
        titles = titles_of(parts)
        said = self._say.mentions(facts.names[:MOST_NAMES_OF_LINE], facts.terms[:MOST_OF_LINE])
        text = self._say.line(facts.title, self._about(facts), titles, said)
        spans = self._first_line(facts.id, parts[0].start if titles else 0)
        return OverviewSentence(text, spans, (0, len(facts.title)))

    def _rest(self, longest: _Longest, shown: int) -> OverviewSentence:
        titles = [bare(one) or one for one in longest.titles[shown : shown + MOST_LINES]]
        cited = longest.ids[shown : shown + MOST_CITED]
        spans = tuple(span for one in cited for span in self._first_line(one))
        return OverviewSentence(self._say.rest(longest.number - shown, titles), spans)

    def _about(self, facts: Facts) -> str:
        size = self._say.size(facts.parser, facts.pages, facts.length)
        return ", ".join(filter(None, (facts.kind, size, facts.date)))

    def _first_line(self, document: UUID, start: int = 0) -> tuple[ChunkSpan, ...]:
        """Return the first line from the offset on that is a heading or prose, not furniture."""
        values = {"document": document, "start": start}
        for chunk, begin, text, regions in self._rows(sql.PASSAGE_AT, values):
            left = prose(text, from_json(json.loads(regions)), keep={RegionKind.HEADING})
            if line := _LINE.search(left, max(0, start - begin)):
                end = min(line.end(), line.start() + LONGEST_LINE)
                return (ChunkSpan(chunk, begin + line.start(), begin + end),)
        return ()

    def _spread(self, longest: _Longest) -> list[summaries.Quote]:
        """Return the most central sentences of the documents' beginnings, one from each."""
        count = summaries.OPENING if longest.number <= MOST_LINES else 1
        wanted = [summaries.Stretch(one, count=count) for one in longest.ids]
        said = summaries.sentences(self._workspace, wanted)
        best: dict[UUID, summaries.Quote] = {}
        for one in summaries.ranked(said, MOST_RANKED):
            best.setdefault(one.document_id, one)
        chosen = list(best.values())[: MOST_CENTRAL - 1]
        return sorted(chosen, key=lambda one: longest.ids.index(one.document_id))

    def _facts(self, documents: Sequence[UUID]) -> list[Facts]:
        rows = self._rows(sql.DOCUMENT_FACTS, {"documents": list(documents)})
        found = {row[0]: facts_of(row) for row in rows}
        return [found[one] for one in documents if one in found]

    def _named(self, every: Sequence[Facts]) -> list[Facts]:
        """Add the most frequent names, key words and terms."""
        ids = [one.id for one in every]
        words = summaries.key_words(self._workspace, ids, MOST_KEY_WORDS)
        values = {
            "documents": ids,
            "names": list(NAMES),
            "terms": list(TERMS),
            "count": 2 * MOST_NAMES,
        }
        names: dict[tuple[UUID, bool], list[str]] = {}
        for document, name, is_term in self._rows(sql.NAMES_OF_DOCUMENTS, values):
            names.setdefault((document, is_term), []).append(name)
        return [
            replace(
                one,
                names=apart(names.get((one.id, False), ()), one.title, MOST_NAMES),
                terms=apart(
                    [*words.get(one.id, ()), *names.get((one.id, True), ())], one.title, MOST_TERMS
                ),
            )
            for one in every
        ]

    def _rows(self, query: LiteralString, values: Mapping[str, object]) -> list[Row]:
        return run_sql(query, {"workspace": self._workspace, **values})


def _quoted(one: summaries.Quote) -> OverviewSentence:
    return OverviewSentence(one.text, (ChunkSpan(one.chunk_id, one.start, one.end),))
