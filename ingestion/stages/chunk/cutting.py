"""Cut a version's text into chunks: spans, ids, pages and heading paths.

A text that replaces another is cut along the boundaries of the old one. Passages are windows of a
fixed number of tokens: an added sentence would move all that follow until, by chance, two
boundaries meet again (measured on a novel of 66 passages: inserting a sentence cost 1 passage in
four cases of five, and 52 in the fifth). Where the text is unchanged the boundaries stay too, and
only what lies between is cut again.
"""

from __future__ import annotations

import struct
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any, Final

from django.conf import settings

from ingestion.models import Chunk, DocumentVersion
from kb_project.llm.tokens import token_starts
from kb_project.text.regions import Region, as_json, from_json, within
from kb_project.text.sentences import (
    Offsets,
    Span,
    split_fixed,
    split_sentences,
    split_tokens,
    token_range,
)

LEAST_KEPT: Final = 0.5
"""Share of the passages. If fewer stay there is little to save, and a fresh cut is better."""
MOST_LINES: Final = 2000
"""Lines compared with all others; in longer texts, frequent lines are not used as anchors."""
CutBetween = Callable[[int, int], list[Span]]


@dataclass(frozen=True, slots=True)
class Location:
    """A chunk's pages and heading path."""

    page_first: int | None
    page_last: int | None
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The text that a version replaces, and its spans."""

    text: str
    spans: Sequence[Span]


def cut_up(version: DocumentVersion, earlier: Earlier | None = None) -> list[Chunk]:
    """Cut a version into chunks, along those of the earlier text if there is one.

    In that case the version remembers its spans, so that it is cut the same way if it comes back.
    """
    if earlier is not None and "spans" not in version.chunking:

        def cut(first: int, last: int) -> list[Span]:
            """Cut a stretch of the text as if it were the whole."""
            text = version.text[first:last]
            headings = [start - first for _, _, start in version.headings if first <= start < last]
            spans = _cut(text, version.chunking, token_starts(text), headings)
            return [(first + start, first + end) for start, end in spans]

        spans = spans_along(earlier.text, earlier.spans, version.text, cut)
        version.chunking = version.chunking | {"spans": [list(span) for span in spans]}
    starts = token_starts(version.text)
    return build_chunks(version, spans_of(version, starts), starts)


def spans_of(version: DocumentVersion, starts: Offsets) -> list[Span]:
    """The spans that the version's ``chunking`` asks for, with settings as defaults."""
    if "spans" in version.chunking:
        return [(start, end) for start, end in version.chunking["spans"]]
    headings = [start for _level, _title, start in version.headings]
    return _cut(version.text, version.chunking, starts, headings)


def _cut(
    text: str, chunking: Mapping[str, Any], starts: Offsets, headings: Sequence[int]
) -> list[Span]:
    strategy = chunking.get("strategy", settings.CHUNK_STRATEGY)
    size = chunking.get("size", settings.CHUNK_TOKENS)
    overlap = chunking.get("overlap", settings.CHUNK_OVERLAP)
    if strategy == "sentence":
        return split_sentences(text, starts=starts, size=size)
    if strategy == "fixed":
        return split_fixed(text, starts=starts, size=size, overlap=overlap)
    return split_tokens(text, starts=starts, size=size, overlap=overlap, headings=headings)


def build_chunks(version: DocumentVersion, spans: Sequence[Span], starts: Offsets) -> list[Chunk]:
    locations = locations_of(spans, pages=version.pages, headings=version.headings)
    regions = regions_of(spans, regions=from_json(version.regions))
    ranges = [token_range(starts, start, end) for start, end in spans]
    return [
        Chunk(
            id=chunk_id(version.pk, start, end),
            workspace_id=version.workspace_id,
            document_id=version.document_id,
            version=version,
            ordinal=ordinal,
            start=start,
            end=end,
            text=version.text[start:end],
            tokens=last - first,
            page_first=location.page_first,
            page_last=location.page_last,
            heading_path=list(location.heading_path),
            regions=as_json(inside),
        )
        for ordinal, ((start, end), location, (first, last), inside) in enumerate(
            zip(spans, locations, ranges, regions, strict=True)
        )
    ]


def chunk_id(version_id: uuid.UUID, start: int, end: int) -> uuid.UUID:
    """Id of a span: always the same for the same span of the same version."""
    digest = blake2b(version_id.bytes + struct.pack(">QQ", start, end), digest_size=16)
    return uuid.UUID(bytes=digest.digest())


def locations_of(
    spans: Sequence[Span], *, pages: Sequence[Sequence[int]], headings: Sequence[Sequence[Any]]
) -> list[Location]:
    """Pages and heading path of each span, in one pass over the headings.

    The path is that at the span's first character: a heading that opens the span counts.
    """
    page_starts = [start for _number, start, _end in pages]
    paths = heading_paths(headings)
    heading_starts = [start for _level, _title, start in headings]
    return [
        Location(
            page_first=_page_at(pages, page_starts, start),
            page_last=_page_at(pages, page_starts, max(start, end - 1)),
            heading_path=paths[bisect_right(heading_starts, start)],
        )
        for start, end in spans
    ]


def regions_of(spans: Sequence[Span], *, regions: Sequence[Region]) -> list[list[Region]]:
    """The regions of each span, with offsets from the span's start."""
    starts = [region.start for region in regions]
    ends = [region.end for region in regions]
    return [
        list(within(regions[bisect_right(ends, start) : bisect_left(starts, end)], start, end))
        for start, end in spans
    ]


def heading_paths(headings: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    """``paths[i]`` is the path in force after the first ``i`` headings.

    >>> heading_paths([[1, "A", 0], [2, "B", 9], [1, "C", 20]])
    [(), ('A',), ('A', 'B'), ('C',)]
    """
    paths: list[tuple[str, ...]] = [()]
    open_headings: list[tuple[int, str]] = []
    for level, title, _start in headings:
        while open_headings and open_headings[-1][0] >= level:
            open_headings.pop()
        open_headings.append((level, title))
        paths.append(tuple(title for _, title in open_headings))
    return paths


def _page_at(pages: Sequence[Sequence[int]], page_starts: Sequence[int], offset: int) -> int | None:
    index = bisect_right(page_starts, offset) - 1
    return pages[index][0] if index >= 0 else None


# --- cutting along the boundaries of the text that is replaced ------------------------------------
@dataclass(frozen=True, slots=True)
class UnchangedBlock:
    """``old[start:start + length] == new[to:to + length]``."""

    start: int
    to: int
    length: int


@dataclass(frozen=True, slots=True)
class KeptSpan:
    """A span of the old text, and how far it moved."""

    index: int
    start: int
    end: int
    delta: int


def spans_along(old: str, spans: Sequence[Span], new: str, cut: CutBetween) -> list[Span]:
    """Spans of ``new``. ``cut`` cuts a stretch of it; ``spans`` are those of ``old``, in order."""
    kept = list(_kept(spans, unchanged(old, new)))
    if not kept or len(kept) < LEAST_KEPT * len(spans):
        return cut(0, len(new))
    found = [(one.start + one.delta, one.end + one.delta) for one in kept]
    for left, right in _gaps(spans, kept, len(new)):
        if new[left:right].strip():
            found += cut(left, right)
    return sorted(set(found))


def unchanged(old: str, new: str) -> list[UnchangedBlock]:
    """Stretches that are equal in both texts, in the order of both."""
    shortest = min(len(old), len(new))
    head = _shared(old, new)
    tail = min(_shared(old[::-1], new[::-1]), shortest - head)
    middle = _equal_lines(old[head : len(old) - tail], new[head : len(new) - tail], head)
    blocks = [
        UnchangedBlock(0, 0, head),
        *middle,
        UnchangedBlock(len(old) - tail, len(new) - tail, tail),
    ]
    return _joined([block for block in blocks if block.length])


def _shared(one: str, other: str) -> int:
    """Length of the common prefix.

    >>> _shared("Ada rows.", "Ada reads.")
    5
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _equal_lines(old: str, new: str, offset: int) -> Iterator[UnchangedBlock]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts, ends = (list(accumulate(map(len, one), initial=0)) for one in (before, after))
    junk = min(len(before), len(after)) > MOST_LINES
    for a, b, size in SequenceMatcher(None, before, after, autojunk=junk).get_matching_blocks():
        length = starts[a + size] - starts[a]
        yield UnchangedBlock(offset + starts[a], offset + ends[b], length)


def _joined(blocks: Sequence[UnchangedBlock]) -> list[UnchangedBlock]:
    """Join blocks that follow each other in both texts."""
    found: list[UnchangedBlock] = []
    for block in blocks:
        last = found[-1] if found else None
        is_next = last and (last.start + last.length, last.to + last.length) == (
            block.start,
            block.to,
        )
        if last and is_next:
            found[-1] = UnchangedBlock(last.start, last.to, last.length + block.length)
        else:
            found.append(block)
    return found


def _kept(spans: Sequence[Span], blocks: Sequence[UnchangedBlock]) -> Iterator[KeptSpan]:
    starts = [block.start for block in blocks]
    for index, (start, end) in enumerate(spans):
        place = bisect_right(starts, start) - 1
        if place >= 0 and end <= blocks[place].start + blocks[place].length:
            yield KeptSpan(index, start, end, blocks[place].to - blocks[place].start)


def _gaps(spans: Sequence[Span], kept: Sequence[KeptSpan], length: int) -> Iterator[Span]:
    """Stretches before, between and after kept spans, with the overlap of removed neighbours."""
    yield 0, _until(spans, None, kept[0])
    for left, right in pairwise(kept):
        yield _from(spans, left, right), _until(spans, left, right)
    yield _from(spans, kept[-1], None), length


def _from(spans: Sequence[Span], left: KeptSpan, right: KeptSpan | None) -> int:
    """Start of the text after a kept span: where the removed span that followed it began."""
    has_gone = left.index + 1 < (right.index if right else len(spans))
    shared = spans[left.index + 1][0] if has_gone else left.end
    return min(shared, left.end) + left.delta


def _until(spans: Sequence[Span], left: KeptSpan | None, right: KeptSpan) -> int:
    has_gone = right.index - 1 > (left.index if left else -1)
    shared = spans[right.index - 1][1] if has_gone else right.start
    return max(shared, right.start) + right.delta
