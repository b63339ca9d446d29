"""Build the model's context: reports, records, summaries, points and passages within a budget.

Each section may use its share of the tokens; what it leaves goes to others, the larger share first.
All document text is inside a fence that it cannot close, one record per line, so that no text can
pass for a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import fenced
from retrieval.answering.citations.labels import Numbering, labels_in
from retrieval.search import as_of
from retrieval.search.results import Hit, ModeResult, Point, Record, RecordKind, Shares

LEAST: Final = 24
"""In tokens: a passage cut to less than this says nothing."""
_KINDS: Final = {
    "reports": (RecordKind.REPORT,),
    "records": (RecordKind.ENTITY, RecordKind.RELATIONSHIP, RecordKind.CLAIM),
    "summaries": (RecordKind.SUMMARY,),
}
_FENCES: Final = {
    RecordKind.ENTITY: "entity",
    RecordKind.RELATIONSHIP: "fact",
    RecordKind.CLAIM: "claim",
    RecordKind.REPORT: "report",
    RecordKind.SUMMARY: "summary",
}


@dataclass(frozen=True, slots=True)
class Item:
    """``labels`` are those the model may cite once it has seen the item; ``id`` is the row's."""

    name: str
    id: UUID | None
    text: str
    labels: tuple[str, ...]
    tokens: int


@dataclass(slots=True)
class Section:
    """``items`` in order, of which ``used`` fit; ``budget`` in tokens."""

    name: str
    items: list[Item]
    budget: int
    used: list[Item] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.used)

    def fill(self, room: int) -> int:
        """Take items while the next one fits; return the tokens they cost."""
        before = self.tokens
        for item in self.items[len(self.used) :]:
            if self.tokens - before + item.tokens > room:
                break
            self.used.append(item)
        return self.tokens - before


@dataclass(frozen=True, slots=True)
class Context:
    """``text`` goes into the prompt; ``tokens`` is its exact length."""

    text: str
    tokens: int
    sections: Sequence[Section]

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(
            label for one in self.sections for item in one.used for label in item.labels
        )


def build(
    found: ModeResult,
    numbering: Numbering,
    shares: Shares,
    budget: int,
    date: str = "",
    first: frozenset[str] = frozenset(),
) -> Context:
    """Build a context of at most ``budget`` tokens; points by score, the rest in the order
    found, what has one of the labels ``first`` before all else. With a ``date``, sentences of
    passages that do not hold then are left out."""
    sections = [
        *(_records(name, kinds, numbering) for name, kinds in _KINDS.items()),
        Section("points", [_point(one, numbering) for one in by_score(found.points)], 0),
        Section("passages", _passages(numbering.hits, found.reading, date), 0),
    ]
    for section in sections:
        section.items.sort(key=lambda item: first.isdisjoint(item.labels))
        section.budget = int(budget * getattr(shares, section.name))
    _fill(sections, budget)
    while True:
        text = "\n\n".join(item.text for section in sections for item in section.used)
        tokens = count_tokens(text)
        if tokens <= budget or not text:
            return Context(text, tokens, sections)
        last = max(sections, key=lambda one: (one.tokens > 0, one.name == "passages"))
        last.used.pop()


def by_score(points: Iterable[Point]) -> list[Point]:
    """Sort points by score as numbers, 100 before 99 before 9, dropping those worth nothing."""
    return sorted((one for one in points if one.score > 0), key=lambda one: -one.score)


def _fill(sections: Sequence[Section], budget: int) -> None:
    asked = [one for one in sections if one.budget and one.items]
    left = budget - sum(one.fill(one.budget) for one in asked)
    for section in sorted(asked, key=lambda one: -one.budget):
        left -= section.fill(left)
    if not any(one.used for one in asked):
        _cut_first(asked, left)


def _cut_first(sections: Sequence[Section], room: int) -> None:
    """If not even one item fits, use the beginning of the first item of the largest share."""
    for section in sorted(sections, key=lambda one: -one.budget)[:1]:
        first = section.items[0]
        head, _, closing = first.text.rpartition("\n")
        cut = truncate_tokens(head, room - count_tokens(closing) - 4)
        if count_tokens(cut) >= LEAST:
            text = f"{cut}\n{closing}"
            item = Item(first.name, first.id, text, first.labels, count_tokens(text) + 2)
            section.items[0] = item
            section.used.append(item)


def _records(name: str, kinds: Sequence[RecordKind], numbering: Numbering) -> Section:
    of_kind = [
        _record(label, record)
        for kind in kinds
        for label, record in numbering.records.items()
        if record.kind is kind
    ]
    return Section(name, of_kind, 0)


def _record(label: str, record: Record) -> Item:
    title, text = _line(record.title), record.text.strip()
    if record.kind not in {RecordKind.REPORT, RecordKind.SUMMARY}:
        text = _line(text)
    said = f"{title}\n{_unmarked(text)}" if title and text else title or _unmarked(text)
    return _item(f"[{label}]\n{fenced(said, _FENCES[record.kind])}", label, (label,), record.id)


def _point(point: Point, numbering: Numbering) -> Item:
    by_id = {record.id: label for label, record in numbering.records.items()}
    chunks = (str(number) for one in point.chunks if (number := numbering.number_of(one)))
    labels = (*(by_id[one] for one in point.records if one in by_id), *chunks)
    rests = "".join(f"[{label}]" for label in dict.fromkeys(labels))
    head = f"Point, importance {point.score:g} of 100, rests on {rests or 'no label'}:"
    return _item(f"{head}\n{fenced(_line(_unmarked(point.text)), 'point')}", "point", labels, None)


def _passages(hits: Sequence[Hit], reading: Sequence[UUID], date: str) -> list[Item]:
    """Return the passages with the numbers they are shown with, in reading order."""
    places = {chunk_id: place for place, chunk_id in enumerate(reading)}
    numbered = sorted(enumerate(hits, 1), key=lambda one: places.get(one[1].chunk_id, len(places)))
    return [_passage(number, hit, date) for number, hit in numbered]


def _passage(number: int, hit: Hit, date: str) -> Item:
    place = " > ".join(_line(one) for one in (hit.title, *hit.heading_path))
    inside = f"{place}\n{as_of.holding(hit.text, date)}"
    text = f"[{number}]\n{fenced(inside, 'passage')}"
    return _item(text, str(number), (str(number),), hit.chunk_id)


def _item(text: str, name: str, labels: Iterable[str], id_: UUID | None) -> Item:
    # Two for the blank line between items.
    return Item(name, id_, text, tuple(labels), count_tokens(text) + 2)


def _line(text: str) -> str:
    return " ".join(text.split())


def _unmarked(text: str) -> str:
    """Remove the labels by which a model cited other material when it wrote the text.

    >>> _unmarked("It burns oil [E1, R2]. So it is [sic].")
    'It burns oil. So it is [sic].'
    """
    parts = text.split("[")
    kept = parts[:1]
    for part in parts[1:]:
        inside, closes, after = part.partition("]")
        if closes and labels_in(f"[{inside}]".replace("R", "E")) is not None:
            kept[-1] = kept[-1].rstrip(" ") + after
        else:
            kept.append(part)
    return "[".join(kept)
