"""Candidates, the statements of passages, and their features: evidence that a statement answers a
question, in numbers.

Words and vectors each know half: BM25 and how much of the question is covered (rarity is the
workspace's own), the cosine of the sentence and of its heading, the rank of its passage, whether it
has the kind of thing asked for, and the names it shares. Their weights are fitted (``ranking``),
never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from uuid import UUID

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.text.languages import HAN
from kb_project.text.regions import Region, bare
from kb_project.text.sentences import begins_with_pronoun, breaks_off
from kb_project.text.statements import Statement, StatementKind, says_something, statements
from kb_project.text.values import SPELT_OTHERWISE
from kb_project.text.words import one_line, terms
from retrieval.search.answer_kinds import UNNAMED, counts, named_kinds
from retrieval.search.query_features import QuestionFeatures
from retrieval.search.results import Hit
from retrieval.search.sentences import Cosines

PASSAGES_CACHED: Final = 1_000
"""Passages whose statements are cached: successive questions find the same ones."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement of a passage. ``start`` and ``end`` are offsets in the document's text.

    ``rank`` is its passage's, from 0; ``path`` the headings above it; ``before`` the text before it
    in the passage; ``place`` the number of statements before it in its section. ``group``
    identifies the list or table it is part of.
    """

    hit: Hit
    rank: int
    statement: Statement
    path: tuple[str, ...] = ()
    before: str = ""
    place: int = 0

    @property
    def said(self) -> str:
        return self.statement.said

    @property
    def kind(self) -> StatementKind:
        return self.statement.kind

    @property
    def start(self) -> int:
        return self.hit.start + self.statement.start

    @property
    def end(self) -> int:
        return self.hit.start + self.statement.end

    @property
    def group(self) -> tuple[UUID, int] | None:
        return None if self.kind is StatementKind.LEAD else self._list

    @property
    def stands_alone(self) -> bool:
        """Whether it says something without what follows, and without its list's other entries."""
        if self.kind is StatementKind.ENTRY and not says_something(self.said):
            return False
        # A row may end with any word: *serviced: May*.
        may_end_so = self.kind in (StatementKind.LEAD, StatementKind.ROW)
        return may_end_so or not breaks_off(self.said)

    def adds_to(self, asked: Collection[str]) -> bool:
        """Whether it has more than the terms asked for: a row may be only *name: Ada Lind*."""
        if self.kind is not StatementKind.ROW:
            return True
        return not set(terms(self.values)) <= set(asked)

    @property
    def values(self) -> str:
        """What it says; of a row, without the columns' names."""
        return _LABELS.sub("", self.said) if self.kind is StatementKind.ROW else self.said

    @property
    def labels(self) -> str:
        """The columns' names of a row."""
        return "".join(_LABELS.findall(self.said)) if self.kind is StatementKind.ROW else ""

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.said.rstrip("\"'”’ ").endswith(("?", "？"))

    @property
    def introduces(self) -> tuple[UUID, int] | None:
        """The list or table that the statement introduces: *The keepers were:*"""
        return self._list if self.kind is StatementKind.LEAD else None

    @property
    def _list(self) -> tuple[UUID, int] | None:
        number = self.statement.group
        return None if number < 0 else (self.hit.chunk_id, number)

    @property
    def key(self) -> tuple[UUID, int, int]:
        """The statement's position, the same whichever of two overlapping passages it was read
        from."""
        return self.hit.document_id, self.start, self.end

    @property
    def vector_key(self) -> tuple[UUID, int, int]:
        return self.hit.chunk_id, self.statement.start, self.statement.end


def candidates(hits: Sequence[Hit]) -> list[Candidate]:
    """Return the passages' statements in order, each once even if passages overlap."""
    found: dict[tuple[UUID, int, int], Candidate] = {}
    for rank, hit in enumerate(hits):
        for one in _of(hit, rank):
            found.setdefault(one.key, one)
    return list(found.values())


def groups_of(found: Sequence[Candidate]) -> Mapping[tuple[UUID, int], list[Candidate]]:
    """Group candidates by the list or table they are part of, in text order."""
    groups: dict[tuple[UUID, int], list[Candidate]] = {}
    for one in found:
        if one.group is not None:
            groups.setdefault(one.group, []).append(one)
    return groups


@lru_cache(maxsize=PASSAGES_CACHED)
def _statements(text: str, regions: tuple[Region, ...]) -> tuple[Statement, ...]:
    return tuple(statements(text, regions))


def statements_of(hit: Hit) -> tuple[Statement, ...]:
    return _statements(hit.text, hit.regions)


def statement_of(hit: Hit, offset: int | None, wanted: regex.Pattern[str]) -> tuple[int, int, str]:
    """Return the start and end in the document of the statement that holds the offset, or the first
    that has the words wanted, better no heading; failing that, the passage's first line. Return
    what it says, too."""
    at = -1 if offset is None else offset - hit.start
    holding = [one for one in statements_of(hit) if one.start <= at < one.end]
    found = [*holding, *(one for one in statements_of(hit) if wanted.search(one.said))]
    if found:
        best = next((one for one in found if one.kind is not StatementKind.HEADING), found[0])
        return hit.start + best.start, hit.start + best.end, best.said
    line = hit.text.lstrip().partition("\n")[0]
    start = hit.start + hit.text.index(line)
    return start, start + len(line), one_line(line)


def _of(hit: Hit, rank: int) -> Iterator[Candidate]:
    place, before = 0, ""
    for one in _with_their_lists(statements_of(hit)):
        if one.kind is StatementKind.HEADING:
            place, before = 0, one.said
            continue
        inner = tuple(title for _, title in one.path)
        # Above a heading of the third level there are two at most: the passage may begin below a
        # heading that is not above this one.
        most = one.path[0][0] - 1 if one.path else len(hit.heading_path)
        outer = tuple(title for title in hit.heading_path[:most] if title not in inner)
        if one.states or one.group >= 0:
            yield Candidate(
                hit=hit,
                rank=rank,
                statement=one,
                path=(*outer, *inner),
                before=one.lead or before,
                place=place,
            )
            place += 1
        before = one.said


def _with_their_lists(found: Sequence[Statement]) -> Iterator[Statement]:
    """Give each line that introduces a list the list's number."""
    for place, one in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else one
        is_lead = one.kind is StatementKind.LEAD and following.lead == one.said
        yield replace(one, group=following.group) if is_lead else one


NAMES: Final = (
    "meaning",
    "words",
    "covers",
    "covers_around",
    "rank",
    "has_kind",
    "lacks_kind",
    "counts",
    "names",
    "heading_covers",
    "first",
    "length",
    "pronoun",
    "asks",
    "entry",
    "row",
)
"""In the order of the columns."""
SCALE: Final = 20.0
"""Cosines of sentences are close together: differences are counted in twentieths."""
NO_VECTOR: Final = -2.0
USUAL_WORDS: Final = 20.0
HAN_PER_WORD: Final = 1.7
TEXTS_CACHED: Final = 30_000
"""Statements whose terms are cached: about as many as a thousand passages have."""
K1: Final = 1.2
B: Final = 0.75

_JOINED: Final = regex.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!,?\d)|(?<![\w-])\p{L}+-\p{L}+(?![\w-])"
)
_JOINTS: Final = regex.compile("[,-]")
_LABELS: Final = regex.compile(r"(?:^|(?<=; ))(?:[^;:.]{1,60}: )+")
"""The columns' names in a row: *name: Ada Lind; role: keeper*. The key of *funders.Ada Lind: 5* is
no such name."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weighed:
    """Terms with their weights."""

    weights: Mapping[str, float]
    total: float

    def share(self, held: Collection[str]) -> float:
        """Return the share of the total weight that the held terms have, from 0 to 1."""
        if not self.total:
            return 0.0
        return sum(weight for term, weight in self.weights.items() if term in held) / self.total

    def beyond(self, known: Collection[str]) -> Weighed:
        """Return the terms that are not known, or all if they are all known."""
        left = {term: weight for term, weight in self.weights.items() if term not in known}
        return Weighed(left, sum(left.values())) if left else self


@dataclass(frozen=True, slots=True)
class Rarity:
    """Term rarity in the workspace; ``frequencies`` count the chunks that contain each term.

    A number that no chunk has in words is as rare as in figures, and the other way round.
    """

    frequencies: Mapping[str, int]
    chunks: int

    def of(self, term: str) -> float:
        count = min(self._chunks_with(term), self.chunks)
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))

    def weighed(self, terms_: Collection[str]) -> Weighed:
        weights = {term: self.of(term) for term in terms_}
        return Weighed(weights, sum(weights.values()))

    def unknown(self, terms_: Collection[str]) -> float:
        """Return the share of the terms, weighted by rarity, that no chunk contains."""
        gone = [term for term in terms_ if not self._chunks_with(term)]
        return self.weighed(terms_).share(gone)

    def _chunks_with(self, term: str) -> int:
        other = SPELT_OTHERWISE.get(term, "")
        return self.frequencies.get(term) or self.frequencies.get(other, 0)


@dataclass(frozen=True, slots=True)
class Indexed:
    """A candidate with its index terms, computed once."""

    candidate: Candidate
    counts: Counter[str]
    around: frozenset[str]
    heading: frozenset[str]


def indexed(candidate: Candidate) -> Indexed:
    heading = candidate.path[-1] if candidate.path else ""
    if len(candidate.path) == 1 and bare(heading) == bare(candidate.hit.title):
        # The document's own name says as little of what stands right below it as of all else.
        heading = ""
    around = (candidate.hit.title, *candidate.path[-2:], candidate.before)
    return Indexed(
        candidate,
        _counts(candidate.said),
        frozenset().union(*(_counts(one).keys() for one in around)),
        frozenset(_counts(heading)),
    )


@lru_cache(maxsize=TEXTS_CACHED)
def _counts(text: str) -> Counter[str]:
    """How often a text has each term; small numbers count in words and in figures, large ones also
    without their commas, compounds without their hyphens."""
    joined = _JOINED.findall(text) if "," in text or "-" in text else ()
    found = Counter(terms(" ".join((text, *(_JOINTS.sub("", one).lower() for one in joined)))))
    spelt = {other: found[term] for term, other in SPELT_OTHERWISE.items() if term in found}
    return found + Counter(spelt)


def bm25(found: Sequence[Indexed], wanted: Collection[str], rarity: Rarity) -> list[float]:
    """Score candidates by BM25 (Robertson; k1 = 1.2, b = 0.75), counting a heading's words once."""
    counts = [one.counts + Counter(dict.fromkeys(one.heading, 1)) for one in found]
    lengths = [max(1, count.total()) for count in counts]
    mean = sum(lengths) / max(1, len(lengths))
    weighed = rarity.weighed(wanted)
    return [
        sum(
            weight * count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + B * length / mean))
            for term, weight in weighed.weights.items()
            if term in count
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def matrix(
    found: Sequence[Indexed],
    sought: QuestionFeatures,
    rarity: Rarity,
    cosines: Cosines,
    word_scores: Sequence[float],
) -> Matrix:
    """Build the matrix, of shape ``(len(found), len(NAMES))``; without a vector, meaning is
    ``NO_VECTOR``."""
    most = max(word_scores, default=0.0) or 1.0
    wanted, named = rarity.weighed(sought.terms), rarity.weighed(sought.names)
    rows = []
    for one, score in zip(found, word_scores, strict=True):
        cosine, meaning = cosines.of.get(one.candidate.vector_key), NO_VECTOR
        if cosine is not None and cosines.highest is not None:
            meaning = SCALE * (cosine - cosines.highest)
        rows.append([meaning, score / most, *_row(one, sought, wanted, named)])
    return np.array(rows, np.float64).reshape(len(rows), len(NAMES))


def _row(one: Indexed, sought: QuestionFeatures, wanted: Weighed, named: Weighed) -> list[float]:
    """Return the columns after those for meaning and words."""
    candidate = one.candidate
    own = one.counts.keys()
    asked = sought.kind not in UNNAMED
    has_kind = asked and bool(named_kinds(candidate.values, sought.kind) - set(sought.terms))
    return [
        wanted.share(own),
        wanted.share(one.around - own),
        1 / (1 + candidate.rank),
        float(has_kind),
        float(asked and not has_kind),
        float(counts(candidate.said, sought.counted)),
        named.share(own),
        wanted.share(one.heading - own),
        1 / (1 + candidate.place),
        math.log(max(length_of(candidate.said), 3.0) / USUAL_WORDS),
        float(begins_with_pronoun(candidate.said)),
        float(candidate.asks),
        float(candidate.kind is StatementKind.ENTRY),
        float(candidate.kind is StatementKind.ROW),
    ]


def length_of(said: str) -> float:
    """Return the length in words; a Chinese character counts as part of a word."""
    han = len(HAN.findall(said))
    return len(said.split()) + han / HAN_PER_WORD
