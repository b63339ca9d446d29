"""Find where sources give different values for the same thing, and show both sides.

Four signs: conflicts found when documents were processed, contradictions found when entities and
relationships were described, claims that one passage states as true and another as false, and two
sentences that differ only in a value. What people decided counts: where one source holds, it comes
before the others, and where all are right, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import regex

from ingestion.knowledge.conflicts import SideSpan, others, sides_beside
from ingestion.models import Claim, Entity, Mention, Relationship
from kb_project.text.values import dates_in, is_month, names_in, numbers_in
from kb_project.text.words import terms
from retrieval.answering.citations.citing import units
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import Check, ChunkSpan, SpanOf, WrittenSentence
from retrieval.search import as_of
from retrieval.search.query import Query, ScoredChunk
from retrieval.search.results import Hit, hydrate
from retrieval.search.scope_entities import left_out
from workspaces import access

VERDICT: Final = "conflict"
DECIDED: Final = "decision"
"""``Check.by`` of a sentence that rests on a source that people decided against."""
DECIDED_NOTE: Final = ("sources_decided", "Sources differ on this; the one that holds comes first.")
NOTE: Final = ("sources_differ", "Sources differ on this; both are shown.")
SHARED: Final = 3
"""Terms, not counting numbers and months, that two sentences about the same thing share …"""
ALIKE: Final = 0.75
"""… which must be at least this share of the shorter one's."""
MOST_ENTITIES: Final = 200
MOST_SIDES: Final = 2
"""Other sides added to each sentence."""

_WORD: Final = regex.compile(r"[^\s,.;:()]+")
_STARTS_WITH_ARTICLE: Final = regex.compile(
    r"\W{0,3}(?:[Tt]he|[Tt]his|[Tt]hese|[Tt]hose|[Ss]uch)\s+\p{Ll}"
)
_CODE: Final = regex.compile(r"[{};]|->|::|^\s*(?:\*|//|#)")
_STARTS_WITH_PRONOUN: Final = regex.compile(
    r"\W{0,3}(?:he|she|it|they|his|her|its|their)\b", regex.IGNORECASE
)


Clash = tuple[ChunkSpan, ChunkSpan]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence that gives a value; ``said`` are its terms without values."""

    side: ChunkSpan
    document_id: UUID
    said: frozenset[str]
    names: frozenset[str]
    dates: frozenset[str]
    numbers: frozenset[str]


def mark(
    sentences: Sequence[WrittenSentence], query: Query, numbering: Numbering
) -> list[WrittenSentence]:
    """Mark sentences whose sources differ with that verdict, and cite the other side.

    Call outside transactions. Adds a note to the query.
    """
    if not any(sentence.spans for sentence in sentences):
        return list(sentences)
    cited = [span for sentence in sentences for span in _cited_by(sentence, numbering)]
    with access.in_workspace(query.workspace_id):
        stored = _Stored.beside(query, cited)
        noted = [*_described(query, cited), *_claimed(query, cited)]
        known = [*stored.clashes(cited), *(one for one in noted if not stored.settles(*one))]
        numbering.learn(_reachable(query, known, numbering))
    passages = [numbering.passage(number) for number in numbering.in_use]
    clashes = [*known, *(one for one in differing(cited, passages) if not stored.settles(*one))]
    if date := query.as_of:
        clashes = [one for one in clashes if all(_holds(side, numbering, date) for side in one)]
    marked = [_marked(one, clashes, numbering, stored) for one in sentences]
    by = {one.check.by == DECIDED for one in marked if one.check and one.check.verdict == VERDICT}
    for is_decided in sorted(by):
        query.note(*(DECIDED_NOTE if is_decided else NOTE))
    return marked


@dataclass(frozen=True, slots=True)
class _Stored:
    """Sides of the conflicts that were found when documents were processed."""

    sides: Sequence[SideSpan]

    @classmethod
    def beside(cls, query: Query, cited: Sequence[ChunkSpan]) -> _Stored:
        return cls(sides_beside(query.workspace_id, {span.chunk_id for span in cited}))

    def at(self, span: ChunkSpan) -> list[SideSpan]:
        return [one for one in self.sides if one.is_at(*span)]

    def clashes(self, cited: Iterable[ChunkSpan]) -> list[Clash]:
        return [
            (_place(own), _place(other))
            for span in dict.fromkeys(cited)
            for own in self.at(span)
            for other in others(own, self.sides)
        ]

    def settles(self, one: ChunkSpan, other: ChunkSpan) -> bool:
        """Return whether people decided a conflict that has both as sides."""
        closed = {side.conflict_id for side in self.at(one) if not side.is_open}
        return any(side.conflict_id in closed for side in self.at(other))

    def refutes(self, spans: Iterable[ChunkSpan]) -> bool:
        return any(side.is_refuted for span in spans for side in self.at(span))


def _place(side: SideSpan) -> ChunkSpan:
    return ChunkSpan(side.chunk_id, side.start, side.end)


def _cited_by(sentence: WrittenSentence, numbering: Numbering) -> list[ChunkSpan]:
    return [
        ChunkSpan(numbering.passage(span.number).chunk_id, span.start, span.end)
        for span in sentence.spans
    ]


def with_other_sides(
    sentences: Sequence[WrittenSentence], numbering: Numbering
) -> list[WrittenSentence]:
    """Add the other side after each such sentence, or the one that holds before it, in answers made
    of the documents' own sentences."""
    said = {(span.number, span.start) for one in sentences for span in one.spans[:1]}
    complete: list[WrittenSentence] = []
    for sentence in sentences:
        beside: list[WrittenSentence] = []
        if sentence.check is not None and sentence.check.verdict == VERDICT:
            for span in sentence.spans[1:]:
                if (span.number, span.start) not in said:
                    said.add((span.number, span.start))
                    beside.append(_quoted(span, sentence.check, numbering))
        is_refuted = sentence.check is not None and sentence.check.by == DECIDED
        complete += [*beside, sentence] if is_refuted else [sentence, *beside]
    return complete


def _quoted(span: SpanOf, check: Check, numbering: Numbering) -> WrittenSentence:
    hit = numbering.passage(span.number)
    quote = hit.text[span.start - hit.start : span.end - hit.start]
    is_decided = check.by == DECIDED
    # The source that holds is not in doubt.
    own = replace(check, verdict="supported", by="quote") if is_decided else check
    return WrittenSentence(" ".join(quote.split()), (span,), own)


def differing(cited: Iterable[ChunkSpan], passages: Sequence[Hit]) -> Iterator[Clash]:
    """Yield pairs of a cited statement and one in another document that differ only in a value."""
    statements = [one for hit in passages for one in _statements(hit)]
    for side in dict.fromkeys(cited):
        for own in statements:
            if _touches(own.side, side):
                yield from ((own.side, other.side) for other in statements if _differ(own, other))


def _differ(own: _Statement, other: _Statement) -> bool:
    """Return whether a date differs and all else is equal, or a number with equal dates and the
    rest."""
    is_elsewhere = own.document_id != other.document_id
    if not (is_elsewhere and own.names <= other.said and other.names <= own.said):
        return False
    shared = own.said & other.said
    shorter = min(len(own.said), len(other.said))
    if len(shared) < SHARED or len(shared) < ALIKE * shorter:
        return False
    if own.numbers == other.numbers:
        return bool(own.dates and other.dates) and own.dates.isdisjoint(other.dates)
    is_same_time = own.dates == other.dates
    has_values = bool(own.numbers and other.numbers)
    return is_same_time and has_values and own.numbers.isdisjoint(other.numbers)


def _statements(hit: Hit) -> Iterator[_Statement]:
    """Yield the sentences of a passage that give a value.

    A pronoun takes the names before it, and "the film" the names in the document's title.
    """
    titled = frozenset(terms(hit.title))
    before: frozenset[str] = frozenset()
    for (start, end), _ in units(hit.text):
        text = hit.text[start:end]
        dates, names = dates_in(text), names_in(text)
        numbers = numbers_in(text) - {part for date in dates for part in date.split()}
        if _STARTS_WITH_PRONOUN.match(text):
            names |= before or titled
        elif _STARTS_WITH_ARTICLE.match(text):
            names |= titled
        before = names
        if (dates or numbers) and not _CODE.search(text):
            side = ChunkSpan(hit.chunk_id, hit.start + start, hit.start + end)
            words = " ".join(word for word in _WORD.findall(text) if not is_month(word))
            said = frozenset(term for term in terms(words) if not term[0].isdigit()) | names
            yield _Statement(side, hit.document_id, said, names, dates, numbers)


def _marked(
    sentence: WrittenSentence, clashes: Sequence[Clash], numbering: Numbering, stored: _Stored
) -> WrittenSentence:
    if sentence.check is None or sentence.check.verdict != "supported":
        return sentence
    own = _cited_by(sentence, numbering)
    others = dict.fromkeys(
        other
        for clash in clashes
        for one, other in (clash, clash[::-1])
        if any(_touches(one, side) for side in own)
    )
    sides = [
        (number, one)
        for one in others
        if (number := numbering.number_of(one.chunk_id))
        and _is_inside(one, numbering.passage(number))
    ]
    if not sides:
        return sentence
    fresh = [
        SpanOf(number, one.start, one.end)
        for number, one in sides
        if not any(_touches(one, side) for side in own)
    ]
    by = DECIDED if stored.refutes(own) else sentence.check.by
    check = Check(VERDICT, by, sentence.check.score)
    return replace(sentence, spans=(*sentence.spans, *fresh[:MOST_SIDES]), check=check)


def _described(query: Query, cited: Sequence[ChunkSpan]) -> list[Clash]:
    """Return contradictions of entities named in the cited passages, and of their relationships."""
    chunks = {side.chunk_id for side in cited}
    named = Mention.objects.in_workspace(query.workspace_id).filter(chunk_id__in=chunks)
    entities = list(named.values_list("entity_id", flat=True).distinct()[:MOST_ENTITIES])
    stored: list[Any] = []
    of_entities = Entity.objects.in_workspace(query.workspace_id).filter(pk__in=entities)
    stored += of_entities.exclude(conflicts=[]).values_list("conflicts", flat=True)
    links = Relationship.objects.in_workspace(query.workspace_id).filter(
        source_id__in=entities, target_id__in=entities
    )
    stored += links.exclude(conflicts=[]).values_list("conflicts", flat=True)
    clashes: list[Clash] = []
    for conflict in (conflict for row in stored for conflict in row):
        sides = [
            ChunkSpan(UUID(str(one["chunk"])), int(one["start"]), int(one["end"]))
            for one in conflict["statements"]
        ]
        clashes += [
            (one, other)
            for one in sides
            if any(_touches(one, span) for span in cited)
            for other in sides
            if other != one
        ]
    return clashes


def _claimed(query: Query, cited: Sequence[ChunkSpan]) -> list[Clash]:
    """Return claims of the same kind about the same things that disagree on whether they are
    true."""
    rows = Claim.objects.in_workspace(query.workspace_id)
    chunks = {side.chunk_id for side in cited}
    own = list(rows.filter(chunk_id__in=chunks).exclude(status=Claim.Status.SUSPECTED)[:200])
    subjects = {claim.subject_id for claim in own}
    others = rows.filter(subject_id__in=subjects).exclude(status=Claim.Status.SUSPECTED)[:1000]
    found = [
        (
            ChunkSpan(one.chunk_id, one.start, one.end),
            ChunkSpan(other.chunk_id, other.start, other.end),
        )
        for one in own
        for other in others
        if one.status != other.status and _is_same_matter(one, other)
    ]
    return [pair for pair in found if any(_touches(pair[0], side) for side in cited)]


def _is_same_matter(one: Claim, other: Claim) -> bool:
    """Return whether two claims are of one kind, about the same things, at a possibly equal
    time."""
    times = {one.period_start[:4], other.period_start[:4]} - {""}
    return (one.subject_id, one.object_id, one.type) == (
        other.subject_id,
        other.object_id,
        other.type,
    ) and len(times) <= 1


def _reachable(query: Query, clashes: Iterable[Clash], numbering: Numbering) -> list[Hit]:
    """Return passages of the other sides that still exist, are in scope, and have no excluded
    name."""
    wanted = dict.fromkeys(
        side.chunk_id for clash in clashes for side in clash if not numbering.knows(side.chunk_id)
    )
    out = left_out(query, list(wanted))
    kept = [ScoredChunk(chunk, 0.0) for chunk in wanted if chunk not in out]
    hits = hydrate(query.workspace_id, kept)
    return [hit for hit in hits if query.documents is None or hit.document_id in query.documents]


def _holds(side: ChunkSpan, numbering: Numbering, date: str) -> bool:
    """Return whether a side of a conflict is said of the date asked for."""
    hit = numbering.sources.get(side.chunk_id)
    if hit is None and numbering.knows(side.chunk_id):
        hit = numbering.passage(numbering.number_of(side.chunk_id))
    return hit is None or as_of.holds(hit.text[side.start - hit.start : side.end - hit.start], date)


def _is_inside(side: ChunkSpan, hit: Hit) -> bool:
    """Return whether the passage still contains the place; stored conflicts may be out of date."""
    return hit.start <= side.start < side.end <= hit.end


def _touches(one: ChunkSpan, other: ChunkSpan) -> bool:
    return one.chunk_id == other.chunk_id and one.start < other.end and other.start < one.end
