"""Compare what two versions of a document say: plain values, no rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

MOST_TOLD: Final = 200
"""Most entries listed of each kind; totals count the rest too."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
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
        >>> Fact("relationship", "1", "Ada", "2", "the light", "keeps", "", 0, 9, "").sentence
        'Ada keeps the light'
        """
        if self.kind == "claim":
            return self.text or " ".join(filter(None, (self.source, self.predicate, self.target)))
        return " ".join(filter(None, (self.source, self.predicate or "–", self.target)))


@dataclass(frozen=True, slots=True)
class Named:
    """An entity, with the first place where its version names it."""

    id: str
    name: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Said:
    facts: Sequence[Fact] = ()
    named: Sequence[Named] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """``totals`` counts everything, including what the lists leave out."""

    gained: tuple[Fact, ...] = ()
    lost: tuple[Fact, ...] = ()
    altered: tuple[tuple[Fact, Fact], ...] = ()
    entities_gained: tuple[Named, ...] = ()
    entities_lost: tuple[Named, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Difference:
        return cls(
            gained=tuple(Fact(**one) for one in row["gained"]),
            lost=tuple(Fact(**one) for one in row["lost"]),
            altered=tuple((Fact(**old), Fact(**new)) for old, new in row["altered"]),
            entities_gained=tuple(Named(**one) for one in row["entities_gained"]),
            entities_lost=tuple(Named(**one) for one in row["entities_lost"]),
            totals=row["totals"],
        )


def compare(
    before: Said, after: Said, *, facts: Collection[Key], named: Collection[str]
) -> Difference:
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
    return Difference(
        **{name: found[:MOST_TOLD] for name, found in lists.items()},  # type: ignore[arg-type]  # each its own
        totals={name: len(found) for name, found in lists.items()},
    )


def _by_key(facts: Iterable[Fact]) -> dict[Key, Fact]:
    found: dict[Key, Fact] = {}
    for one in facts:
        found.setdefault(one.key, one)
    return found


def _paired(
    lost: list[Fact], gained: list[Fact]
) -> tuple[list[tuple[Fact, Fact]], list[Fact], list[Fact]]:
    """Pair facts that were altered: same ends, or same source and predicate with another target."""
    altered: list[tuple[Fact, Fact]] = []
    for key_of in (_ends, _beginning):
        waiting: dict[Key, list[Fact]] = {}
        for one in lost:
            waiting.setdefault(key_of(one), []).append(one)
        pairs = [(waiting[key_of(one)].pop(0), one) for one in gained if waiting.get(key_of(one))]
        altered += pairs
        paired = {id(one) for pair in pairs for one in pair}
        lost = [one for one in lost if id(one) not in paired]
        gained = [one for one in gained if id(one) not in paired]
    return altered, lost, gained


def _ends(fact: Fact) -> Key:
    kind_of_claim = fact.predicate if fact.kind == "claim" else ""
    return fact.kind, fact.source_id, fact.target_id, kind_of_claim


def _beginning(fact: Fact) -> Key:
    return fact.kind, fact.source_id, fact.predicate
