"""What a model reads to answer a follow-up question: reports, records and passages, each labelled.

The context of a local search in its own proportions. What rests on a record rests on the passages
behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project.llm.tokens import count_tokens, truncate_tokens
from retrieval.search import local
from retrieval.search.global_search import model_calls
from retrieval.search.query import Query
from retrieval.search.results import Hit, ModeResult, Record, RecordKind, hydrate
from workspaces import access

PASSAGES: Final = 12
SHORTEST: Final = 40
"""Tokens of an item below which it is not worth reading."""
MOST_SOURCES: Final = 2
"""Passages behind a record that an answer resting on it is shown to rest on."""
LETTERS: Final = {
    RecordKind.REPORT: "T",
    RecordKind.ENTITY: "E",
    RecordKind.RELATIONSHIP: "F",
    RecordKind.CLAIM: "C",
}
PASSAGE: Final = "P"
ALL_LETTERS: Final = PASSAGE + "".join(LETTERS.values())


@dataclass(slots=True)
class FollowUpContext:
    """The lines of each part of the prompt, and what their labels stand for."""

    reports: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    chunks: dict[str, UUID] = field(default_factory=dict)
    known: dict[str, Record] = field(default_factory=dict)

    def resting_on(self, labels: Iterable[str]) -> tuple[tuple[UUID, ...], tuple[Record, ...]]:
        """Return the passages and records behind labels; passages that are named come first.

        A record leads to those of its passages that were read, else to its most telling ones.
        """
        named = list(labels)
        records = tuple(self.known[label] for label in named if label in self.known)
        chunks = dict.fromkeys(self.chunks[label] for label in named if label in self.chunks)
        read = set(self.chunks.values())
        for record in records:
            own = [one for one in record.sources if one in read] or record.sources
            chunks |= dict.fromkeys(own[:MOST_SOURCES])
        return tuple(chunks), records


def build(query: Query, found: ModeResult, room: int) -> FollowUpContext:
    """Build a context of at most ``room`` tokens. Call outside transactions."""
    with access.in_workspace(query.workspace_id):
        hits = hydrate(query.workspace_id, found.chunks[:PASSAGES])
    lines = _lines(found.records)
    made = FollowUpContext()
    kinds = {label: record.kind for label, (record, _) in lines.items()}
    reports = {label: line for label, (_, line) in lines.items() if label.startswith("T")}
    records = {label: line for label, (_, line) in lines.items() if label not in reports}
    made.reports, used = _fitting(reports, int(room * local.SHARES.reports))
    made.records, more = _fitting(records, int(room * local.SHARES.records))
    passages = {f"{PASSAGE}{number}": hit for number, hit in enumerate(hits, start=1)}
    texts = {label: _passage(hit) for label, hit in passages.items()}
    made.passages, _ = _fitting(texts, room - used - more)
    given = [line.partition(" ")[0] for line in (*made.reports, *made.records, *made.passages)]
    made.known = {label: lines[label][0] for label in given if label in kinds}
    made.chunks = {label: passages[label].chunk_id for label in given if label in passages}
    return made


def _lines(records: Sequence[Record]) -> dict[str, tuple[Record, str]]:
    counts = dict.fromkeys(LETTERS, 0)
    lines: dict[str, tuple[Record, str]] = {}
    for record in records:
        if record.kind in LETTERS:
            counts[record.kind] += 1
            label = f"{LETTERS[record.kind]}{counts[record.kind]}"
            lines[label] = record, " ".join(f"{record.title}: {record.text}".split())
    return lines


def _passage(hit: Hit) -> str:
    return " ".join(f"{hit.title}: {hit.text}".split())


def _fitting(lines: Mapping[str, str], room: int) -> tuple[list[str], int]:
    """Return labelled lines, in order, as many as fit, the last one cut; and their tokens."""
    kept, left = [], room
    for label, text in lines.items():
        if left < SHORTEST:
            break
        line = truncate_tokens(text, left - model_calls.LABEL_TOKENS)
        kept.append(f"{label} {line}")
        left -= count_tokens(line) + model_calls.LABEL_TOKENS
    return kept, room - left
