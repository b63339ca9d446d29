"""Say under which headings each place of a passage is."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from ingestion.stages.reports import sql
from ingestion.stages.reports.titles import Section
from kb_project.sql import run_sql
from kb_project.text.words import one_line

# A document without a title is called after its file: *social-contract*.
_FILE_NAME: Final = regex.compile(r"[\p{Ll}\d.]+(?:[-_][\p{Ll}\d.]+)+")
_BETWEEN_WORDS: Final = regex.compile(r"[-_]")


@dataclass(frozen=True, slots=True)
class Passage:
    """The parts of a passage under one heading each, and where they start."""

    starts: Sequence[int]
    sections: Sequence[Section]

    def at(self, offset: int) -> Section:
        return self.sections[max(0, bisect_right(self.starts, offset) - 1)]


def passages(workspace_id: UUID, chunks: Iterable[UUID]) -> dict[UUID, Passage]:
    """The passages by id; a deleted one has no entry."""
    wanted = list(chunks)
    values = {"workspace": workspace_id, "chunks": wanted}
    return {row[0]: _passage(*row) for row in (run_sql(sql.HEADINGS, values) if wanted else ())}


def _passage(
    chunk: UUID, start: int, title: str, path: Sequence[str], headings: str | None
) -> Passage:
    above = tuple(path)
    # A number, which is hashed faster than an id.
    key = chunk.int
    document = _BETWEEN_WORDS.sub(" ", title) if _FILE_NAME.fullmatch(title) else title
    starts, sections = [start], [Section((key, 0), above, document)]
    for number, (offset, level, text) in enumerate(json.loads(headings) if headings else (), 1):
        above = (*above[: level - 1], one_line(text))
        starts.append(start + offset)
        sections.append(Section((key, number), above, document))
    return Passage(starts, sections)
