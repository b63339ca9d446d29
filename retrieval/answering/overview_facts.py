"""What is known of a document: what an overview tells first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final
from uuid import UUID

import regex

from kb_project.sql import Row
from kb_project.text.regions import (
    Heading,
    bare,
    from_json,
    is_telling,
    main,
    outline,
    unshouted,
)
from kb_project.text.words import terms

MOST_BELOW: Final = 4
"""Headings listed of a part."""

# A date, whole or in part; office files write a time after it.
_ISO: Final = regex.compile(r"\d{4}(?:-\d\d){0,2}(?=[T ]|$)")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts known about a document."""

    id: UUID
    title: str
    kind: str
    length: int
    pages: int
    parser: str
    date: str
    headings: tuple[Heading, ...]
    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


def facts_of(row: Row) -> Facts:
    id_, title, name, dated, parser, pages, length, headings, regions, metadata = row
    path = PurePath(name)
    found = outline(headings_of(headings), length, from_json(json.loads(regions)))
    # If a file has no title of its own, use the one at the top of the first page.
    is_bare = title in (name, path.stem) and " " not in title
    if is_bare and found and is_telling(found[0].title):
        title = found[0].title
    metadata = json.loads(metadata)
    file_date = _ISO.match(metadata.get("published") or metadata.get("created") or "")
    own = {" ".join(terms(one)) for one in (title, bare(title))}
    told = [(one, " ".join(terms(bare(one.title))) in own) for one in found]
    parts = [one for one, is_title in told if not is_title]
    # A title that is a heading above most of the text: its parts are the document's.
    top = next(
        (one for one, is_title in told if is_title and one.end - one.start > length / 2), None
    )
    below = [one for one in parts if top and top.start < one.start < top.end]
    return Facts(
        id=id_,
        title=bare(title) or title,
        kind=path.suffix[1:].upper(),
        length=length,
        pages=pages,
        parser=parser,
        date=str(dated) if dated else file_date[0] if file_date else "",
        headings=tuple(below or parts),
    )


def headings_of(written: str) -> tuple[tuple[int, str, int], ...]:
    return tuple((level, title, start) for level, title, start in json.loads(written))


def parts_below(part: Heading, headings: Sequence[Heading]) -> list[str]:
    """Return the main headings of a part if it has several."""
    return titles_of(
        main([one for one in headings if part.start < one.start < part.end], MOST_BELOW)
    )


def titles_of(parts: Sequence[Heading]) -> list[str]:
    """Return the titles of several parts, as they are shown; a single one divides nothing."""
    return [unshouted(bare(one.title)) for one in parts] if len(parts) > 1 else []


def apart(names: Sequence[str], title: str, most: int) -> tuple[str, ...]:
    """Return the first few names, skipping those contained in an earlier one or in the title."""
    kept: list[str] = []
    for name in names:
        own = set(terms(name))
        if own and not any(own <= set(terms(other)) for other in (title, *kept)):
            kept.append(name)
    return tuple(kept[:most])
