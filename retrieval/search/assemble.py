"""Assemble: cut the passages found into the sentences an answer may be made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from kb_project.sql import run_sql
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from retrieval import sql
from retrieval.search.hits import Hit
from retrieval.search.sought import Kind

FEWEST: Final = 4
"""Index terms. A line with fewer, no full stop and no figure is a label."""

_HEADING: Final = regex.compile(r"#{1,6}\s|[=\-*_~\s]+$")
_PRONOUN: Final = regex.compile(
    r"\W{0,3}(?:(?:he|she|it|they|his|her|its|their|this|these|both)\b|[他她它这其])",
    regex.IGNORECASE,
)
_LINE: Final = regex.compile(r"\S(?:[^\n]*\S)?")
_FIELD: Final = regex.compile(r"(?:^|; )[^:;\n]{1,40}: (?=\S)")
_STOP: Final = regex.compile(r"[.!?…。！？；][\"'”’»)\]」』）】》]*$")
_DIGIT: Final = regex.compile(r"\p{N}")
_WORD: Final = regex.compile(r"\b\p{L}{3,}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_HEAD_OF_TABLE: Final = regex.compile(r"\|.*\|\s*\n\|[\s:|-]*-[\s:|-]*(?:\n|$)")
_DATE: Final = regex.compile(
    r"\b(?:1\d|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct"
    r"|nov|dec)[a-z]*\b|\b(?:january|february|march|april|june|july|august|september|october|november"
    r"|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|o'clock)\b"
    r"|[\d一二三四五六七八九十〇零]+[年月日]",
    regex.IGNORECASE,
)
_NUMBER: Final = regex.compile(
    r"\p{N}[\p{N}.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|thousand|million|billion|dozen|half|twice|once|none|no)\b"
    r"|[一二两三四五六七八九十百千万亿半]+\s?[\p{Han}]",
    regex.IGNORECASE,
)
_TYPES: Final = {
    "person": Kind.PERSON,
    "organization": Kind.PERSON,
    "group": Kind.PERSON,
    "place": Kind.PLACE,
}
"""Which entity answers which question: "who" may also ask for a firm."""


@dataclass(frozen=True, slots=True)
class MentionOf:
    """A name in a passage; offsets in the document's text."""

    start: int
    end: int
    type: str
    entity_id: UUID


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage. ``quote`` is the document's text from ``start`` to ``end``.

    ``around`` are terms the sentence inherits: those of the title, the headings and the
    sentence before it, which a pronoun may stand for. ``passage`` is the rank of its passage
    from 0.
    """

    chunk_id: UUID
    document_id: UUID
    passage: int
    start: int
    end: int
    quote: str
    terms: frozenset[str]
    around: frozenset[str]
    title_terms: frozenset[str]
    kinds: Mapping[Kind, frozenset[str]]
    entities: frozenset[UUID]

    @property
    def leans(self) -> bool:
        """Whether it begins with a word that stands for something named before."""
        return _PRONOUN.match(self.quote) is not None

    @property
    def text(self) -> str:
        """The quote on one line."""
        return " ".join(self.quote.split())


def sentences(hits: Sequence[Hit], mentions: Mapping[UUID, Sequence[MentionOf]]) -> list[Sentence]:
    """Every sentence of the passages once, though passages may overlap, in order of passages."""
    seen: dict[tuple[UUID, int, int], Sentence] = {}
    for rank, hit in enumerate(hits):
        for sentence in _sentences_of(hit, rank, mentions.get(hit.chunk_id, ())):
            seen.setdefault((sentence.document_id, sentence.start, sentence.end), sentence)
    return list(seen.values())


def mentions_in(workspace_id: UUID, hits: Sequence[Hit]) -> dict[UUID, list[MentionOf]]:
    """The names in each passage, in the order of the text."""
    found: dict[UUID, list[MentionOf]] = {}
    chunks = [hit.chunk_id for hit in hits]
    rows = run_sql(sql.MENTIONS_IN_CHUNKS, {"workspace": workspace_id, "chunks": chunks})
    for chunk_id, start, end, kind, entity_id in rows:
        found.setdefault(chunk_id, []).append(MentionOf(start, end, kind, entity_id))
    return found


def _sentences_of(hit: Hit, rank: int, mentions: Sequence[MentionOf]) -> Iterator[Sentence]:
    titled = frozenset(terms(hit.title))
    inherited = titled | frozenset(terms(" ".join(hit.heading_path)))
    before: frozenset[str] = frozenset()
    for start, end, record in _units(hit.text):
        quote = hit.text[start:end]
        own = frozenset(terms(quote))
        is_head = _HEAD_OF_TABLE.match(hit.text, start) is not None
        if is_head or _is_label(quote, own) or quote.strip() in hit.heading_path:
            inherited |= own
            continue
        first, last = hit.start + start, hit.start + end
        inside = [one for one in mentions if first <= one.start and one.end <= last]
        yield Sentence(
            chunk_id=hit.chunk_id,
            document_id=hit.document_id,
            passage=rank,
            start=first,
            end=last,
            quote=quote,
            terms=own,
            around=inherited | (before if record is None else frozenset(terms(record))),
            title_terms=titled,
            kinds=_kinds(quote, first, inside),
            entities=frozenset(one.entity_id for one in inside),
        )
        before = own


def _is_label(quote: str, own: frozenset[str]) -> bool:
    """Whether this is a heading, a caption or a bare time: it says what follows is about."""
    if _HEADING.match(quote) or not own:
        return True
    if _WORD.search(quote) is None:
        return _FIELD.match(quote) is None
    says = _STOP.search(quote) or _DIGIT.search(quote) or _FIELD.match(quote)
    return len(own) < FEWEST and not says


def _units(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Sentences, and the lines of records with what else of the record stands around them.

    A line of several fields is a record by itself, lines of one field are one record together.

    >>> text = "code: BOB\\nlead: Bram Oosterling"
    >>> [text[start:end] for start, end, _ in _units(text)]
    ['code: BOB', 'lead: Bram Oosterling']
    """
    for start, end in sentence_spans(text):
        block = text[start:end]
        lines = list(_LINE.finditer(block))
        fields = [len(_FIELD.findall(line.group())) for line in lines]
        if len(lines) < 2 or sum(map(bool, fields)) * 2 < len(lines):
            yield start, end, None
            continue
        for line, count in zip(lines, fields, strict=True):
            yield start + line.start(), start + line.end(), block if count < 2 else ""


def _kinds(quote: str, start: int, mentions: Sequence[MentionOf]) -> dict[Kind, frozenset[str]]:
    """The terms of what the sentence names, by the kind of question that it may answer."""
    found: dict[Kind, set[str]] = {}
    for mention in mentions:
        kind = _TYPES.get(mention.type.lower())
        if kind is not None:
            surface = quote[mention.start - start : mention.end - start]
            found.setdefault(kind, set()).update(terms(surface))
    for kind, pattern in ((Kind.DATE, _DATE), (Kind.NUMBER, _NUMBER)):
        for match in pattern.finditer(quote):
            found.setdefault(kind, set()).update(terms(match.group()) or [match.group().lower()])
    return {kind: frozenset(names) for kind, names in found.items()}
