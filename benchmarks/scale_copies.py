"""The copies that a large workspace is made of: how each spells names, which ids and rows it has.

See ``scale_rows``.
"""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from psycopg.types.json import Jsonb

from ingestion.models.communities import other_topics_id
from ingestion.resolution.keys import entity_id, link_id

RARE: Final = 3
"""A word in at most so many documents, always with a capital, is a rare name."""
# Their rows without a document concern the whole workspace, and are in the first copy only.
OF_DOCUMENTS: Final = frozenset(
    {
        "ingestion_ingestionjob",
        "ingestion_summarynode",
        "ingestion_summarytree",
        "ingestion_summarylayout",
    }
)
# Columns and values of JSON whose texts are codes, not words of the documents.
CODES: Final = frozenset(
    "type kind state stage source fingerprint method language parser encoding media_type sha256"
    " part written_by writer via leased_by situated_by blob digest strategy".split()
)

_WORD: Final = re.compile(r"(?<![^\W\d_])[A-Za-z]{3,}(?![^\W\d_])")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VOWELS: Final = "aeiouy"
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"

Value = Callable[[Any], Any]


@dataclass(frozen=True)
class Rows:
    """What the base has of one table."""

    name: str
    kinds: Mapping[str, str]
    rows: Sequence[Sequence[Any]]

    @property
    def records(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.kinds, row, strict=True)) for row in self.rows)

    def index(self, column: str) -> int:
        return list(self.kinds).index(column)


@dataclass
class Copy:
    """One copy: its spelling and its ids; ``left_out`` are ids of the base without a row in it,
    ``owned`` the entities and relationships of the base that no earlier copy has."""

    number: int
    workspace_id: uuid.UUID
    spelling: Mapping[str, str]
    ids: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    left_out: set[uuid.UUID] = field(default_factory=set)
    owned: set[uuid.UUID] = field(default_factory=set)
    sizes: Counter[uuid.UUID] = field(default_factory=Counter)

    def id(self, one: uuid.UUID) -> uuid.UUID:
        known = self.ids.get(one)
        if known is not None:
            return known
        text = b"%d " % self.number + one.bytes
        return uuid.UUID(bytes=blake2b(text, digest_size=16, key=self.workspace_id.bytes).digest())

    def text(self, text: str) -> str:
        return _WORD.sub(self._respelt, text) if self.spelling else text

    def json(self, value: Any) -> Any:
        if isinstance(value, str):
            if _ID.fullmatch(value):
                return str(self.id(uuid.UUID(value)))
            return self.text(value)
        if isinstance(value, list):
            return [self.json(one) for one in value]
        if isinstance(value, dict):
            return {
                self.json(key) if _ID.fullmatch(key) else key: one
                if key in CODES
                else self.json(one)
                for key, one in value.items()
            }
        return value

    def value(self, column: str, kind: str) -> Value:
        """Return what makes a copy's value of the base's."""
        if column == "workspace_id":
            return lambda _: self.workspace_id
        if kind == "uuid":
            return self.id
        if kind == "jsonb":
            return lambda value: Jsonb(self.json(value))
        if kind == "timestamp with time zone":
            later = timedelta(seconds=self.number)
            return lambda value: value + later
        if column in CODES:
            return lambda value: value
        if kind in ("text", "character varying"):
            return self.text
        if kind in ("text[]", "character varying[]"):
            return lambda value: [self.text(one) for one in value]
        return lambda value: value

    def _respelt(self, match: re.Match[str]) -> str:
        word = match[0]
        letters = self.spelling.get(word.lower())
        if letters is None:
            return word
        pairs = zip(word, letters, strict=True)
        return "".join(new.upper() if old.isupper() else new for old, new in pairs)


# --- spelling -------------------------------------------------------------------------------------
def rare_names(texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the rare names of some documents, and all their words, in small letters."""
    seen: dict[str, set[int]] = defaultdict(set)
    small: set[str] = set()
    for number, text in enumerate(texts):
        for word in _WORD.findall(text):
            seen[word.lower()].add(number)
            if word[0].islower():
                small.add(word)
    return {word for word, places in seen.items() if len(places) <= RARE} - small, set(seen)


def respelt(rare: Iterable[str], taken: set[str], number: int) -> dict[str, str]:
    """Spell rare names with other letters, vowels for vowels; never as another word of the texts.

    >>> sorted(respelt({"skarrow"}, {"skarrow"}, 1)) == ["skarrow"]
    True
    >>> respelt({"skarrow"}, {"skarrow"}, 0)
    {}
    """
    if number == 0:
        return {}
    chance = random.Random(number)
    letters = _VOWELS + _CONSONANTS
    others = "".join("".join(chance.sample(kind, len(kind))) for kind in (_VOWELS, _CONSONANTS))
    table = str.maketrans(letters, others)
    made = {word: word.translate(table) for word in rare}
    return {word: new for word, new in made.items() if new not in taken}


# --- ids ------------------------------------------------------------------------------------------
def copies_of(
    base: Mapping[str, Rows], base_id: uuid.UUID, workspace_id: uuid.UUID, copies: int
) -> list[Copy]:
    """Decide the spelling, the ids and the rows of each copy."""
    texts = [str(version["text"]) for version in base["ingestion_documentversion"].records]
    rare, taken = rare_names(texts)
    entities = {one["id"]: one for one in base["ingestion_entity"].records}
    links = list(base["ingestion_relationship"].records)
    made, seen = [], set[uuid.UUID]()
    for number in range(copies):
        copy = Copy(number, workspace_id, respelt(rare, taken, number))
        refs = {id_: (copy.text(one["key"]), one["sense"]) for id_, one in entities.items()}
        copy.ids = {id_: entity_id(workspace_id, *ref) for id_, ref in refs.items()}
        for link in links:
            ends = refs[link["source_id"]], refs[link["target_id"]]
            copy.ids[link["id"]] = link_id(workspace_id, *ends)
        copy.ids[other_topics_id(base_id)] = other_topics_id(workspace_id)
        copy.owned = {one for one, new in copy.ids.items() if new not in seen}
        seen.update(copy.ids.values())
        _leave_out(copy, base, other_topics_id(base_id))
        made.append(copy)
    for copy in made[1:]:
        made[0].sizes[other_topics_id(base_id)] += copy.sizes[other_topics_id(base_id)]
    return made


def _leave_out(copy: Copy, base: Mapping[str, Rows], other_topics: uuid.UUID) -> None:
    """Leave out topics without members of their own, and what belongs to the whole workspace."""
    for member in base["ingestion_communitymember"].records:
        copy.sizes[member["community_id"]] += member["entity_id"] in copy.owned
    topics = [one["id"] for one in base["ingestion_community"].records]
    copy.left_out |= {one for one in topics if not copy.sizes[one]}
    if copy.number:
        copy.left_out.add(other_topics)
        for name in OF_DOCUMENTS:
            rows = base[name].records
            copy.left_out |= {one["id"] for one in rows if one["document_id"] is None}
    for name in ("ingestion_communityreport", "ingestion_finding"):
        column = "community_id" if name == "ingestion_communityreport" else "report_id"
        rows = base[name].records
        copy.left_out |= {one["id"] for one in rows if one[column] in copy.left_out}


class Totals:
    """Counts of entities and relationships over all copies, by their ids there."""

    def __init__(self, base: Mapping[str, Rows], copies: Sequence[Copy]) -> None:
        self.mentions: Counter[uuid.UUID] = Counter()
        self.chunks: Counter[uuid.UUID] = Counter()
        self.evidence: Counter[uuid.UUID] = Counter()
        self.weight: defaultdict[uuid.UUID, float] = defaultdict(float)
        events = base["ingestion_historyevent"].records
        self.sequence = max((one["sequence"] for one in events), default=0)
        entities = list(base["ingestion_entity"].records)
        links = list(base["ingestion_relationship"].records)
        places: dict[uuid.UUID, int] = {}
        pairs: set[tuple[int, int]] = set()
        for copy in copies:
            for one in entities:
                id_ = copy.ids[one["id"]]
                places.setdefault(id_, len(places))
                self.mentions[id_] += one["mention_count"]
                self.chunks[id_] += one["chunk_count"]
            for one in links:
                id_ = copy.ids[one["id"]]
                self.evidence[id_] += one["evidence_count"]
                self.weight[id_] += one["weight"]
                if one["id"] in copy.owned:
                    a = places[copy.ids[one["source_id"]]]
                    b = places[copy.ids[one["target_id"]]]
                    pairs.add((min(a, b), max(a, b)))
        ends = np.fromiter((end for pair in pairs for end in pair), dtype=np.int64)
        degrees = np.bincount(ends, minlength=len(places)).tolist()
        self.degree = dict(zip(places, degrees, strict=True))
