"""Compare two versions of a document, by facts and by paragraphs: plain values, no rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

MOST_LISTED: Final = 200
"""Entries listed of each kind; totals count the rest too."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A relationship that a sentence states, or a claim; ``start`` to ``end`` is its place.

    ``predicate`` is a claim's type; ``text`` is a model's wording, or ''.
    """

    kind: str
    source_id: str
    source: str
    target_id: str
    target: str
    predicate: str
    text: str
    start: int
    end: int
    quote: str

    @property
    def key(self) -> Key:
        """Identifies the fact wherever it is stated: models reword relationships each time."""
        text = self.text if self.kind == "claim" else ""
        return self.kind, self.source_id, self.target_id, self.predicate, text

    @property
    def sentence(self) -> str:
        """
        >>> StatedFact("relationship", "1", "Ada", "2", "the light", "keeps", "", 0, 9, "").sentence
        'Ada keeps the light'
        """
        if self.kind == "claim":
            return self.text or " ".join(filter(None, (self.source, self.predicate, self.target)))
        return " ".join(filter(None, (self.source, self.predicate or "–", self.target)))


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity, with the first place where its version names it."""

    id: str
    name: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Statements:
    """What passages of a version say: facts, and entities named."""

    facts: Sequence[StatedFact] = ()
    named: Sequence[NamedEntity] = ()


@dataclass(frozen=True, slots=True)
class FactChanges:
    """``totals`` counts everything, including what the lists leave out."""

    gained: tuple[StatedFact, ...] = ()
    lost: tuple[StatedFact, ...] = ()
    altered: tuple[tuple[StatedFact, StatedFact], ...] = ()
    entities_gained: tuple[NamedEntity, ...] = ()
    entities_lost: tuple[NamedEntity, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> FactChanges:
        return cls(
            gained=tuple(StatedFact(**one) for one in row["gained"]),
            lost=tuple(StatedFact(**one) for one in row["lost"]),
            altered=tuple((StatedFact(**old), StatedFact(**new)) for old, new in row["altered"]),
            entities_gained=tuple(NamedEntity(**one) for one in row["entities_gained"]),
            entities_lost=tuple(NamedEntity(**one) for one in row["entities_lost"]),
            totals=row["totals"],
        )


def compare(
    before: Statements, after: Statements, *, facts: Collection[Key], named: Collection[str]
) -> FactChanges:
    """What ``after`` gained and lost compared with ``before``.

    ``facts`` and ``named`` are keys and ids from all other passages, which both versions have:
    those are neither gained nor lost.
    """
    gone, come = _by_key(before.facts), _by_key(after.facts)
    lost = [one for key, one in gone.items() if key not in come and key not in facts]
    gained = [one for key, one in come.items() if key not in gone and key not in facts]
    altered, lost, gained = _paired(lost, gained)
    were, are = {one.id for one in before.named}, {one.id for one in after.named}
    away = [one for one in before.named if one.id not in are and one.id not in named]
    there = [one for one in after.named if one.id not in were and one.id not in named]
    lists = {
        "gained": tuple(gained),
        "lost": tuple(lost),
        "altered": tuple(altered),
        "entities_gained": tuple(there),
        "entities_lost": tuple(away),
    }
    return FactChanges(
        **{name: found[:MOST_LISTED] for name, found in lists.items()},  # type: ignore[arg-type]  # each its own
        totals={name: len(found) for name, found in lists.items()},
    )


def _by_key(facts: Iterable[StatedFact]) -> dict[Key, StatedFact]:
    found: dict[Key, StatedFact] = {}
    for one in facts:
        found.setdefault(one.key, one)
    return found


def _paired(
    lost: list[StatedFact], gained: list[StatedFact]
) -> tuple[list[tuple[StatedFact, StatedFact]], list[StatedFact], list[StatedFact]]:
    """Pair facts that were altered: same ends, or same source and predicate with another target."""
    altered: list[tuple[StatedFact, StatedFact]] = []
    for key_of in (_ends, _beginning):
        waiting: dict[Key, list[StatedFact]] = {}
        for one in lost:
            waiting.setdefault(key_of(one), []).append(one)
        pairs = [(waiting[key_of(one)].pop(0), one) for one in gained if waiting.get(key_of(one))]
        altered += pairs
        paired = {id(one) for pair in pairs for one in pair}
        lost = [one for one in lost if id(one) not in paired]
        gained = [one for one in gained if id(one) not in paired]
    return altered, lost, gained


def _ends(fact: StatedFact) -> Key:
    kind_of_claim = fact.predicate if fact.kind == "claim" else ""
    return fact.kind, fact.source_id, fact.target_id, kind_of_claim


def _beginning(fact: StatedFact) -> Key:
    return fact.kind, fact.source_id, fact.predicate


# --- texts ----------------------------------------------------------------------------------------
SAME, GONE, NEW, CHANGED = "same", "gone", "new", "changed"
MOST_COMPARED: Final = 2000
"""Paragraphs compared with all others; beyond that, frequent ones are not used as anchors."""
MOST_WORDS: Final = 1500
"""Most words of two paragraphs that are compared word by word."""
MOST_REPEATED: Final = 100_000
"""Pairs of equal paragraphs: the time of a comparison grows with them, and with their square."""
MOST_WORK: Final = 100_000_000
"""Total work of all word-by-word comparisons, as computed by ``_work_of``: about a second.

Anyone who may read a document can request this. Beyond it, paragraphs are shown whole.
"""
# A number is one word with its points and commas: half of it in red reads as another number.
_WORD: Final = re.compile(r"\s+|\d+(?:[.,:]\d+)+|[^\W_]+|.", re.DOTALL)
LEAST_SIMILAR: Final = 0.4
"""Paragraphs less similar than this replaced each other; they are not one that changed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a changed paragraph: ``same``, ``gone`` or ``new``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TextChange:
    """One paragraph. ``start`` is its offset in the later text, or in the earlier if it is gone.

    ``skipped`` is the number of unchanged paragraphs that it stands for.
    """

    kind: str
    start: int
    pieces: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    start: int
    text: str


def text_changes(before: str, after: str, *, around: int = 1) -> list[TextChange]:
    """What changed, with ``around`` unchanged paragraphs on either side of each change."""
    old, new = paragraphs(before), paragraphs(after)
    texts, others = [one.text for one in old], [one.text for one in new]
    is_large = (
        min(len(old), len(new)) > MOST_COMPARED or _equal_pairs(texts, others) > MOST_REPEATED
    )
    codes = SequenceMatcher(None, texts, others, autojunk=is_large).get_opcodes()
    work = _Work()
    return [
        change
        for place, (tag, a, b, c, d) in enumerate(codes)
        for change in (
            _same(new[c:d], around, is_first=place == 0, is_last=place == len(codes) - 1)
            if tag == "equal"
            else _other(old[a:b], new[c:d], work)
        )
    ]


@dataclass(slots=True)
class _Work:
    """How much may still be compared word by word."""

    left: int = MOST_WORK

    def begin(self, amount: int) -> bool:
        self.left = max(0, self.left - amount)
        return self.left > 0


def _equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    before, after = Counter(old), Counter(new)
    return sum(number * after[text] for text, number in before.items())


def _work_of(before: Sequence[str], after: Sequence[str]) -> int:
    """Pairs of equal words, times the number of equal stretches each may be checked for."""
    words = [word for word in before if not word.isspace()]
    return _equal_pairs(words, after) * min(len(before), len(after))


def paragraphs(text: str) -> list[Paragraph]:
    """The non-blank lines: what is one line in the text may be a whole paragraph."""
    return [
        Paragraph(match.start(), match.group().rstrip()) for match in re.finditer(r"\S[^\n]*", text)
    ]


def _same(
    rows: Sequence[Paragraph], around: int, *, is_first: bool, is_last: bool
) -> Iterator[TextChange]:
    head = 0 if is_first else around
    tail = 0 if is_last else around
    shown = {*range(min(head, len(rows))), *range(max(0, len(rows) - tail), len(rows))}
    skipped = len(rows) - len(shown)
    for place, one in enumerate(rows):
        if place in shown:
            yield TextChange(SAME, one.start, (Piece(SAME, one.text),))
        elif skipped:
            yield TextChange(SAME, one.start, skipped=skipped)
            skipped = 0


def _other(old: Sequence[Paragraph], new: Sequence[Paragraph], work: _Work) -> Iterator[TextChange]:
    """Compare paragraphs pairwise as far as both sides have them."""
    pairs = min(len(old), len(new))
    for left, right in zip(old[:pairs], new[:pairs], strict=True):
        yield from _pair(left, right, work)
    for one in old[pairs:]:
        yield TextChange(GONE, one.start, (Piece(GONE, one.text),))
    for one in new[pairs:]:
        yield TextChange(NEW, one.start, (Piece(NEW, one.text),))


def _pair(left: Paragraph, right: Paragraph, work: _Work) -> Iterator[TextChange]:
    before = _WORD.findall(left.text) if work.left else []
    after = _WORD.findall(right.text) if work.left else []
    is_short = 0 < len(before) + len(after) <= MOST_WORDS
    if is_short and work.begin(_work_of(before, after)):
        matcher = SequenceMatcher(str.isspace, before, after, autojunk=False)
        if matcher.ratio() >= LEAST_SIMILAR:
            yield TextChange(CHANGED, right.start, tuple(_pieces(matcher, before, after)))
            return
    yield TextChange(GONE, left.start, (Piece(GONE, left.text),))
    yield TextChange(NEW, right.start, (Piece(NEW, right.text),))


def _pieces(
    matcher: SequenceMatcher[str], before: Sequence[str], after: Sequence[str]
) -> Iterator[Piece]:
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield Piece(SAME, "".join(after[c:d]))
            continue
        if a < b:
            yield Piece(GONE, "".join(before[a:b]))
        if c < d:
            yield Piece(NEW, "".join(after[c:d]))
