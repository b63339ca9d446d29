"""Find the furniture in a document's text: contents lists, running heads, licences, shell lines.

Readers note what their format reveals (a ``pre`` element, letters of one width, a table, links).
What only the text as a whole reveals is found here: a list of the document's own headings is its
table of contents, a line that occurs on many pages is a running head, and a permission notice is
not what a document is about, unless most of the document is of that kind.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from operator import attrgetter
from typing import Final

import regex

from ingestion.parsers import legal
from ingestion.parsers.document import Heading, PageSpan, title_pattern
from kb_project.text.regions import Region, RegionKind, is_code, is_shell

FEWEST_ENTRIES: Final = 4
"""Lines of a table of contents; fewer may be a list of things that have sections."""
CONTENTS_SHARE: Final = 0.7
MOST_MISSED: Final = 3
"""Share of a run's lines that must be entries, and how many others may follow each other."""
LONGEST_ENTRY: Final = 300
"""Characters of a line in a table of contents."""
FEWEST_LINKS: Final = 6
"""Consecutive lines of links that make a menu; fewer may be what a sentence refers to."""
FEWEST_RECURRING: Final = 3
"""Lines with the same link; two may be two sections that refer to one page."""
ON_PAGES: Final = 3
PAGE_SHARE: Final = 0.2
"""A running head is on at least this many pages, and on this share of at most 15 pages."""
LONGEST_RUNNING: Final = 120
LEAST_TITLE: Final = 6
LEAST_CUT: Final = 12
"""Characters: only longer headings count, and running heads must share this much of their start."""
ON_PRINTED_PAGES: Final = 5
LEAST_PAGE: Final = 20
PRINTED_SHARE: Final = 0.8
"""Text formatted for printing (RFCs, manuals) has running heads, too: lines that recur this often,
at least so many lines apart, and in this share of cases equally many."""
EDGE_LINES: Final = 2
"""Lines at the top and the bottom of a page that may be running heads."""

_LONGEST_NUMBER: Final = 12
"""Characters allowed before a heading's words, such as its number, and after them."""

_LEADER: Final = regex.compile(r"(?:\.{4,}|(?:\s\.){3,}|…)\s*(?:\d{1,4}|[ivxlc]{1,6})\b")
_AROUND_TITLE: Final = regex.compile(
    r"^\s*(?:[-*•‣]\s+)?(?:(?:chapter|section|part|appendix)\s+)?(?:[\dA-Z]{1,3}(?:\.\d+)*[.:)]?\s+)?"
    r"|[\s.…]*(?:\d{1,4}|[ivxlc]{1,6})?\s*$",
    regex.IGNORECASE,
)
_CONTENTS: Final = regex.compile(
    r"\s*(?:table of )?contents\s*|\s*list of (?:figures|tables|examples)\s*|\s*(?:目\s*[录錄])\s*",
    regex.IGNORECASE,
)
_LINK: Final = regex.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ADDRESS: Final = regex.compile(r"[-*•→›»\s]*(?:https?://|www\.)\S+")
_DIGITS: Final = regex.compile(r"\d+|\b[ivxlc]{1,6}\b")
_PAGE_NUMBER: Final = regex.compile(
    r"[\s–—-]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?[\s–—-]*",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextLine:
    """A non-blank line, stripped of white space."""

    start: int
    end: int
    text: str


def regions_of(
    text: str,
    *,
    headings: Sequence[Heading],
    pages: Sequence[PageSpan],
    noted: Iterable[Region] = (),
    links: Collection[int] = (),
    is_laid_out: bool = False,
) -> list[Region]:
    """All parts of a text that are not prose, in order, none overlapping.

    ``noted`` is what the format revealed. ``links`` are the starts of lines that are nothing but a
    link. ``is_laid_out`` means that pages have edges, as in print and in presentations.
    """
    lines = list(_lines(text, 0, len(text)))
    found = list(_headings(text, headings))
    found += [_trimmed(text, one) for one in (*noted, *legal.licences(text, headings))]
    found += _contents(lines, headings)
    found += _navigation(lines, frozenset(links))
    if is_laid_out:
        found += _running(lines, pages, headings)
    else:
        found += _printed(text, lines)
    found += legal.notices(text)
    found += _commands(text, found)
    return _joined(text, _apart(found))


def without_contents(text: str, headings: Sequence[Heading]) -> list[Heading]:
    """Return the headings in order, those of a table of contents at the lines that they name.

    Of an e-book whose contents are headings and whose headings are bold paragraphs, for example:
    many headings follow each other without text in between, and most stand again further below.
    """
    kept: list[Heading] = []
    named: dict[int, Heading] = {}
    runs = list(_without_text_between(text, sorted(headings, key=attrgetter("start"))))
    places = _places(text, [one for one in runs if len(one) >= FEWEST_ENTRIES])
    for run in runs:
        again = _again(places, run) if len(run) >= FEWEST_ENTRIES else []
        if 2 * len(again) > len(run):
            named |= {one.start: one for one in again}
        else:
            kept += run
    known = {one.start for one in kept}
    new = [one for start, one in named.items() if start not in known]
    return sorted([*kept, *new], key=attrgetter("start"))


def _without_text_between(text: str, headings: Sequence[Heading]) -> Iterator[list[Heading]]:
    run: list[Heading] = []
    for one in headings:
        if run and text[run[-1].start + len(run[-1].title) : one.start].strip():
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _places(text: str, runs: Sequence[Sequence[Heading]]) -> dict[str, list[int]]:
    """Where the lines begin that are the same as headings of the runs, by their words."""
    titles = {one.title for run in runs for one in run}
    places: dict[str, list[int]] = {one: [] for one in titles}
    for line in _lines(text, 0, len(text)) if titles else ():
        if line.text in titles:
            places[line.text].append(line.start)
    return places


def _again(places: Mapping[str, Sequence[int]], run: Sequence[Heading]) -> list[Heading]:
    """The headings at the first lines below the run that are the same."""
    end = run[-1].start + len(run[-1].title)
    firsts = [bisect_left(places[one.title], end) for one in run]
    return [
        replace(one, start=places[one.title][first])
        for one, first in zip(run, firsts, strict=True)
        if first < len(places[one.title])
    ]


def _lines(text: str, start: int, end: int) -> Iterator[TextLine]:
    """The non-blank lines."""
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop == -1 else stop
        if line := text[start:stop].strip():
            first = text.index(line[0], start)
            yield TextLine(first, first + len(line), line)
        start = stop + 1


def _headings(text: str, headings: Sequence[Heading]) -> Iterator[Region]:
    """Each heading at its words; a bookmark whose words are not there marks nothing."""
    for one in headings:
        words = title_pattern(one.title)
        stop = text.find("\n", one.start + len(one.title))
        line_end = len(text) if stop == -1 else stop
        match = regex.compile(rf"[^\n]{{0,12}}?{words}", regex.IGNORECASE).match(text, one.start)
        first = max(text.rfind("\n", 0, one.start) + 1, one.start - _LONGEST_NUMBER)
        if match is None and text[one.start : line_end].strip().startswith("#"):
            yield Region(RegionKind.HEADING, first, line_end, one.level)
        elif match is not None:
            end = line_end if line_end - match.end() < _LONGEST_NUMBER else match.end()
            yield Region(RegionKind.HEADING, first, max(end, match.end()), one.level)


def _contents(lines: Sequence[TextLine], headings: Sequence[Heading]) -> Iterator[Region]:
    """Runs of lines that name the document's own parts, or lead to page numbers."""
    titles = {_bare(one.title) for one in headings} - {""}
    starts = sorted(one.start for one in headings)
    is_entry = [
        _leads(line)
        or (
            len(line.text) <= LONGEST_ENTRY
            and _bare(line.text) in titles
            and not _begins_at(starts, line)
        )
        for line in lines
    ]
    at = 0
    while at < len(lines):
        stop = _run_end(is_entry, lines, at)
        if is_entry[at] and sum(is_entry[at:stop]) >= FEWEST_ENTRIES:
            first = at - 1 if at and _CONTENTS.fullmatch(lines[at - 1].text) else at
            yield Region(RegionKind.CONTENTS, lines[first].start, lines[stop - 1].end)
            at = stop
        else:
            if _CONTENTS.fullmatch(lines[at].text):
                yield Region(RegionKind.CONTENTS, lines[at].start, lines[at].end)
            at += 1


def _leads(line: TextLine) -> bool:
    """Whether it is an entry with its page number, or many of them joined into one paragraph."""
    leaders = len(_LEADER.findall(line.text))
    return leaders > 0 and len(line.text) <= LONGEST_ENTRY * leaders


def _begins_at(starts: Sequence[int], line: TextLine) -> bool:
    at = bisect_left(starts, line.start)
    return at < len(starts) and starts[at] < line.end


def _run_end(is_entry: Sequence[bool], lines: Sequence[TextLine], at: int) -> int:
    """The end of the run that begins here; a few short lines may interrupt it."""
    stop, entries, missed = at + 1, 1, 0
    for index in range(at + 1, len(lines)):
        if is_entry[index]:
            stop, entries, missed = index + 1, entries + 1, 0
            continue
        missed += 1
        is_short = len(lines[index].text) < LONGEST_RUNNING
        if not is_short or missed > MOST_MISSED or entries < CONTENTS_SHARE * (index + 1 - at):
            break
    return stop


def _bare(title: str) -> str:
    """A heading without number, list mark and page, for comparison.

    >>> _bare("2.1. People around Debian … 12"), _bare("- People around Debian")
    ('people around debian', 'people around debian')
    """
    bare = _LINK.sub(r"\1", title)
    return " ".join(_AROUND_TITLE.sub("", bare).casefold().split())


def _navigation(lines: Sequence[TextLine], links: Collection[int]) -> Iterator[Region]:
    """Links before and after everything else, long runs of links, links that recur (*Back to top*),
    and addresses on their own.

    Content extractors go further (jusText and trafilatura were tried on five sections of a
    handbook) and lose sidebars, lists, and sentences full of links, where answers are.
    """
    texts = Counter(line.text for line in lines if line.start in links and line.text[0] != "-")
    is_link = [line.start in links or _ADDRESS.fullmatch(line.text) is not None for line in lines]
    rest = [place for place, linked in enumerate(is_link) if not linked]
    first, last = (rest[0], rest[-1]) if rest else (len(lines), -1)
    for place, run in _runs(is_link):
        is_edge = place < first or place > last
        for line in lines[place : place + run]:
            recurs = texts[line.text] >= FEWEST_RECURRING
            if is_edge or run >= FEWEST_LINKS or recurs or _ADDRESS.fullmatch(line.text):
                yield Region(RegionKind.NAVIGATION, line.start, line.end)


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Where each run of true values begins, and how long it is."""
    place = 0
    for value, group in groupby(flags):
        length = sum(1 for _ in group)
        if value:
            yield place, length
        place += length


def _running(
    lines: Sequence[TextLine], pages: Sequence[PageSpan], headings: Sequence[Heading]
) -> Iterator[Region]:
    """Lines at page edges that recur with only their numbers changed, or name the page's part."""
    titles = {title for one in headings if len(title := _bare(one.title)) > LEAST_TITLE}
    places = sorted(one.start for one in headings)
    edges: list[tuple[int, TextLine]] = []
    starts = [line.start for line in lines]
    for place, page in enumerate(pages):
        on_page = lines[bisect_left(starts, page.start) : bisect_left(starts, page.end)]
        at_edge = dict.fromkeys([*on_page[:EDGE_LINES], *on_page[-EDGE_LINES:]])
        edges += [(place, line) for line in at_edge if len(line.text) <= LONGEST_RUNNING]
    shapes = Counter(shape for _, shape in {(place, _shape(line)) for place, line in edges})
    least = max(ON_PAGES, PAGE_SHARE * min(len(pages), 15))
    for _, line in edges:
        is_number = len(pages) >= ON_PAGES and _PAGE_NUMBER.fullmatch(line.text)
        is_named = not _begins_at(places, line) and _names_part(line, titles)
        if is_number or is_named or shapes[_shape(line)] >= least:
            yield Region(RegionKind.RUNNING, line.start, line.end)


def _printed(text: str, lines: Sequence[TextLine]) -> Iterator[Region]:
    """Lines that recur at the distance of a page, with only their numbers changed."""
    places: defaultdict[str, list[tuple[int, TextLine]]] = defaultdict(list)
    number, end = 0, 0
    for line in lines:
        number += text.count("\n", end, line.start)
        end = line.start
        if len(line.text) <= LONGEST_RUNNING:
            places[_shape(line)].append((number, line))
    for found in places.values():
        if len(found) < ON_PRINTED_PAGES:
            continue
        distances = Counter(after - before for (before, _), (after, _) in pairwise(found))
        [(page, count)] = distances.most_common(1)
        if page >= LEAST_PAGE and count >= PRINTED_SHARE * (len(found) - 1):
            yield from (Region(RegionKind.RUNNING, line.start, line.end) for _, line in found)


def _names_part(line: TextLine, titles: Collection[str]) -> bool:
    """Whether a line consists mostly of the beginnings of headings."""
    text = line.text.casefold()
    shared: dict[int, int] = {}
    for title in titles:
        at = text.find(title[:LEAST_CUT])
        if at != -1:
            shared[at] = max(shared.get(at, 0), _alike(title, text[at:]))
    return 2 * sum(shared.values()) >= len(text)


def _alike(one: str, other: str) -> int:
    """Length of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _shape(line: TextLine) -> str:
    shape: str = _DIGITS.sub("#", " ".join(line.text.casefold().split()))
    return shape


def _commands(text: str, found: Sequence[Region]) -> Iterator[Region]:
    """Paragraphs of code, and lines typed at a prompt, that the format does not mark."""
    taken = _apart(one for one in found if one.kind != RegionKind.HEADING)
    starts = [one.start for one in taken]
    for start, end in legal.paragraphs(text, 0, len(text)):
        before = bisect_right(starts, start) - 1
        if before >= 0 and start < taken[before].end:
            continue
        if is_code(text[start:end]):
            yield Region(RegionKind.CODE, start, end)
            continue
        for line in _lines(text, start, end):
            if is_shell(line.text):
                yield Region(RegionKind.CODE, line.start, line.end)


def _trimmed(text: str, region: Region) -> Region:
    inside = text[region.start : region.end]
    start = region.start + len(inside) - len(inside.lstrip())
    return Region(region.kind, start, region.start + len(inside.rstrip()), region.level)


def _apart(found: Iterable[Region]) -> list[Region]:
    """In order and without overlaps: the earlier, then the wider region wins."""
    kept: list[Region] = []
    for one in sorted(found, key=lambda region: (region.start, -region.end)):
        start = max(one.start, kept[-1].end) if kept else one.start
        if start < one.end:
            kept.append(Region(one.kind, start, one.end, one.level))
    return kept


def _joined(text: str, found: Iterable[Region]) -> list[Region]:
    """Join neighbours of one kind with only space between them, except headings."""
    kept: list[Region] = []
    for one in found:
        before = kept[-1] if kept else None
        if (
            before is not None
            and before.kind == one.kind != RegionKind.HEADING
            and not text[before.end : one.start].strip()
        ):
            kept[-1] = Region(one.kind, before.start, one.end)
        else:
            kept.append(one)
    return kept
