"""Summarise documents by their most central sentences: *In short* on a document's page.

A text and each of its parts begin with what they are about. So of a long document these places are
read, and without headings places at equal distances: the amount read stays small for any length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

import regex

from ingestion.knowledge.spans import SourceSpan
from ingestion.models import DocumentVersion
from kb_project.sql import run_sql
from kb_project.text.central import Central, is_quotable
from kb_project.text.headings import Heading, is_front, main, outline
from kb_project.text.regions import from_json
from kb_project.text.statements import StatementKind, statements
from workspaces.models import Workspace

MOST_PARTS: Final = 8
"""Parts of a document whose beginnings are read."""
OPENING: Final = 2
"""Passages read at each place; the first may end soon after it."""
LATER: Final = 6
"""Sentences by which a part's beginning ranks below the top of its document."""
A_SENTENCE: Final = 150
"""Characters, approximately."""
SHORT: Final = 1_500
"""Characters. A shorter text is its own summary."""
END: Final = 2**31 - 1

_LABEL: Final = regex.compile(r"(?:Abstract|Summary|Overview|Introduction)[:.]?\s+(?=\p{Lu})")

# Passages of some documents between two offsets, the first few of each.
PASSAGES_FROM: Final[LiteralString] = """
SELECT w.number, c.id, c.start, c.text, c.regions::text, c.heading_path
  FROM unnest(%(documents)s::uuid[], %(starts)s::int[], %(ends)s::int[], %(counts)s::int[])
       WITH ORDINALITY AS w (document, a, b, count, number)
 CROSS JOIN LATERAL (
     SELECT id, start, text, regions, heading_path FROM ingestion_chunk
      WHERE workspace_id = %(workspace)s AND document_id = w.document
        AND "end" > w.a AND start < w.b
      ORDER BY ordinal LIMIT w.count) AS c
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The first ``count`` passages of a document between two offsets of its text.

    ``before`` is its penalty, in sentences.
    """

    document_id: UUID
    start: int = 0
    end: int = END
    count: int = OPENING
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence on one line; ``start`` and ``end`` are offsets in the document's text.

    ``place`` is roughly how many sentences rank higher because of their position.
    """

    said: str
    document_id: UUID
    chunk_id: UUID
    start: int
    end: int
    place: float


def in_short(*, workspace: Workspace, version: DocumentVersion, most: int = 4) -> list[SourceSpan]:
    """The most central sentences of a document, in order; none if it is short itself."""
    if len(version.text) < SHORT:
        return []
    headings = outline(version.headings, len(version.text), from_json(version.regions))
    said = sentences(workspace.pk, stretches(version.document_id, headings, len(version.text)))
    return [
        SourceSpan(version.document, one.chunk_id, one.start, one.end, one.said)
        for one in central(said, most)
    ]


def stretches(document_id: UUID, headings: Sequence[Heading], length: int) -> list[Stretch]:
    """Where a text of that length says what it is about."""
    parts = main(headings, MOST_PARTS)
    if len(parts) > 1:
        top = Stretch(document_id, end=parts[0].start)
        return [top, *(Stretch(document_id, one.start, one.end, before=LATER) for one in parts)]
    step = max(1, length // MOST_PARTS)
    top = Stretch(document_id, end=step)
    return [
        top,
        *(
            Stretch(document_id, start, start + step, before=start / A_SENTENCE)
            for start in range(step, length, step)
        ),
    ]


def sentences(workspace_id: UUID, wanted: Sequence[Stretch]) -> list[Quote]:
    """The prose of some disjoint stretches, in the order of their documents' texts."""
    values = {
        "workspace": workspace_id,
        "documents": [one.document_id for one in wanted],
        "starts": [one.start for one in wanted],
        "ends": [one.end for one in wanted],
        "counts": [one.count for one in wanted],
    }
    found = [
        quote
        for number, *passage in run_sql(PASSAGES_FROM, values)
        for quote in _quotes(wanted[number - 1], *passage)
    ]
    return sorted(found, key=lambda one: (one.document_id, one.start))


def central(said: Sequence[Quote], most: int) -> list[Quote]:
    """The most central of some sentences, in the order of their documents' texts."""
    return sorted(ranked(said, most), key=lambda one: (one.document_id, one.start))


def ranked(said: Sequence[Quote], most: int) -> list[Quote]:
    """The most central sentences, best first, without near duplicates."""
    kept = [one for one in said if is_quotable(one.said)] or said
    best = Central([one.said for one in kept], [one.place for one in kept]).best(most)
    return [kept[number] for number in best]


def _quotes(
    of: Stretch, chunk: UUID, begin: int, text: str, regions: str, path: Sequence[str]
) -> Iterator[Quote]:
    """The sentences of a passage within the stretch, without dedications and the like."""
    for one in statements(text, from_json(json.loads(regions))):
        start, above = begin + one.start, [title for _, title in one.path] or path
        if (
            one.kind == StatementKind.SENTENCE
            and of.start <= start < of.end
            and not any(map(is_front, above))
        ):
            label = _LABEL.match(text, one.start, one.end)
            start, said = (
                (begin + label.end(), _LABEL.sub("", one.said)) if label else (start, one.said)
            )
            place = of.before + (start - of.start) / A_SENTENCE
            yield Quote(said, of.document_id, chunk, start, begin + one.end, place)
