"""Title topics after what sets them apart: their headings and chief names.

A heading is better the more of the topic's mentions are under it, and the fewer of its siblings'; a
name, the more of the topic's relationships it has, and the fewer outside. Each is scored by the
harmonic mean of the two shares: like class-based tf-idf (BERTopic), it weighs what is here against
what is elsewhere. A heading over many others, such as a manual's title, says little, and so does
one that stands in many places. Siblings are titled together and never share a title.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, combinations, count
from operator import attrgetter
from typing import Final
from uuid import UUID

import regex

from kb_project.text.names import normalise_name
from kb_project.text.regions import unshouted
from kb_project.text.words import one_line, terms

UNNAMED: Final = "Unnamed topic"
MOST_WORDS: Final = 6
FEWEST_WORDS: Final = 2
MOST_CHARACTERS: Final = 60
MOST_UNSPACED: Final = 14
"""Characters of a label in a script without spaces; two count as a word."""
MOST_LABELS: Final = 8
"""Candidate labels for a topic's title."""
TITLED: Final = 0.75
NAMED: Final = 0.8
NAMED_OF: Final[Mapping[str, float]] = {"person": 0.6, "place": 0.7, "group": 0.3, "language": 0.3}
"""Worth of a document's title and of a name relative to a heading, which an author chose to
describe what follows. By type, because a chapter is more often called after its subject than after
a place or person.
"""
SPREAD: Final = 0.25
"""A heading's score falls with this power of the number of headings below it in the topic. Measured
on manuals and a novel: half as many topics are called after a whole manual as without it; with
0.35, the topic of the whole novel is no longer called after it."""

REPEATED: Final = 0.5
"""A heading's score falls with this power of the number of places where it stands: *Authors* or
*Procedure* in each document or chapter names none of them."""
ASKING: Final = 0.6
"""Worth of a heading that asks (*How to distinguish*) relative to one that names."""
PROPER: Final = frozenset({"person", "place", "organization", "product", "event", "work"})
ALONE: Final = 0.6
"""Worth of a name of one word relative to more words, which say more."""
LOOKED_AT: Final = (1_000, 10_000)
"""Headings of a topic that are looked at before all of them are."""
JOINED: Final = 0.8
"""Worth of two labels together relative to one that says as much."""

# "9.11.", "Chapter 8:", "IV.", "Stave One:", "第三章".
_NUMBER: Final = regex.compile(
    r"""^(?:(?:chapter|section|part|appendix|book|volume|stave|act|lesson|unit|step|annex)\s+
          (?:[\dA-Z][\d.]*|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten)\b[.:)\s–—-]*
        | [\dA-Z]?\d*(?:\.\d+)+\.?\s+ | \d+[.):]?\s+ | [IVXLC]+[.):]\s+ | [A-Z][.)]\s+
        | 第[一二三四五六七八九十百\d]+[章节節部回卷]\s* | [一二三四五六七八九十]+[、.．]\s*
        )+""",
    regex.IGNORECASE | regex.VERBOSE,
)
_MARKS: Final = regex.compile(r"^[\s#*_>|•–—-]+|[\s#*_:：.,;，。–—-]+$")
_BREAK: Final = regex.compile(r"\s*[:：;(（\[|]\s*|\s+[–—-]+\s+|[)）\]]")
_JOINT: Final = regex.compile(r" and |(?<=\p{Han})与(?=\p{Han})")
_CODE: Final = regex.compile(r"[<>{}=\\$~^@_/`]|\.\w{1,4}$|\(\)|^-|\s--")
_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}'’.&+-]*")
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_ASKS: Final = regex.compile(
    r"(?:how|what|why|when|where|which|who|are|is|do|does|can|should)\b", regex.IGNORECASE
)
_INNER_CAPITAL: Final = regex.compile(r"[\p{Ll}\d]\p{Lu}|^\p{Lu}{3}")
_SAYING: Final = regex.compile(
    r"\p{L}\p{M}*\p{Ll}\p{L}|\p{Lu}{4}|[\p{Lo}]{2}|[\p{Han}]", regex.IGNORECASE
)
_GENERIC: Final = frozenset(
    "introduction overview summary conclusion conclusions contents preface foreword appendix"
    " background notes references abstract general miscellaneous other others index about"
    " home start intro untitled document report annex glossary bibliography acknowledgements"
    " acknowledgments author authors source sources"
    " note tip warning caution important rationale purpose requirements options"
    " question questions answer answers example examples details information description"
    " more further additional related see also links"
    " manual users' users’ user's user’s handbook documentation faq frequently asked readme"
    " literature bibliography list long procedure getting started putting it all together"
    " license licence legal"
    " 简介 引言 概述 总结 结论 目录 前言 附录 参考文献 其他".split()
)
"""A heading of these words alone says nothing: *Introduction*, *More information*."""


@dataclass(frozen=True, slots=True)
class Section:
    """A passage, or its part under one heading, with the headings above it.

    ``document`` is the document's title.
    """

    key: Hashable
    # The key tells passages apart: a hash of all headings took a second in a large workspace.
    headings: tuple[str, ...] = field(hash=False)
    document: str = field(hash=False)

    @property
    def all_headings(self) -> set[str]:
        return {self.document, *self.headings}


@dataclass(frozen=True, slots=True)
class Name:
    """A member of a topic, with the weight of its relationships: inside the topic, and in total."""

    text: str
    type: str
    inside: float = 0.0
    everywhere: float = 0.0


@dataclass(slots=True)
class TitleSubject:
    """A topic to be named.

    ``mentions`` counts those of its members in each section; ``names`` are its chief members, the
    weightiest first, and ``links`` the weight of all relationships among members.
    """

    id: UUID
    mentions: Counter[Section] = field(default_factory=Counter)
    names: Sequence[Name] = ()
    links: float = 0.0


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """How many mentions all siblings have under each heading, and in how many places it stands."""

    mentions: Mapping[str, int]
    places: Mapping[str, int]


def titles(siblings: Sequence[TitleSubject], taken: Iterable[str] = ()) -> dict[UUID, str]:
    """Title each of these sibling topics: no two the same, none of the ``taken``."""
    counts = {one.id: _headings(one.mentions) for one in siblings}
    of_heading: Counter[str] = Counter()
    for of_one in counts.values():
        of_heading.update(of_one)
    places = _places(chain.from_iterable(one.mentions for one in siblings))
    elsewhere = _Elsewhere(of_heading, {heading: len(of) for heading, of in places.items()})
    wanted = sorted(
        (
            (score, title, one.id)
            for one in siblings
            for score, title in _ranked(one, counts[one.id], elsewhere)
        ),
        key=lambda found: (-found[0], found[1], found[2]),
    )
    given: dict[UUID, str] = {}
    used = {_words_of(title) for title in taken}
    for _, title, id_ in wanted:
        key = _words_of(title)
        if id_ not in given and key not in used:
            given[id_] = title
            used.add(key)
    for one in siblings:
        if one.id not in given:
            given[one.id] = _at_worst(one, used)
            used.add(_words_of(given[one.id]))
    return given


def _at_worst(one: TitleSubject, used: Container[frozenset[str]]) -> str:
    """The topic's chief name, however it looks, with a number if it is taken."""
    name = next((name.text[:MOST_CHARACTERS] for name in one.names), UNNAMED)
    numbered = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(title for title in numbered if _words_of(title) not in used)


def _words_of(title: str) -> frozenset[str]:
    """Titles of the same words are the same to a reader: *Stars and Names*, *Name and star*."""
    names = chain.from_iterable(normalise_name(one).split() for one in parts_of(title)[-2:])
    return frozenset(terms(title)) or frozenset(names)


def _headings(mentions: Mapping[Section, int]) -> Counter[str]:
    """How many mentions are under each heading."""
    counts: Counter[str] = Counter()
    for section, number in mentions.items():
        for heading in section.all_headings:
            counts[heading] += number
    return counts


def _places(mentions: Iterable[Section]) -> Mapping[str, set[tuple[str, str]]]:
    """Where each heading stands, whatever its number: in which document, under which other one."""
    places: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for section in mentions:
        above = last = ""
        for heading in section.headings:
            name = _unnumbered(heading)
            # Some formats repeat a heading under itself.
            if name != last:
                places[name].add((section.document, above))
            above, last = _MARKS.sub("", heading), name
    return places


def _paths_below(mentions: Iterable[Section]) -> Mapping[str, set[tuple[str, ...]]]:
    """The different paths of headings that each heading is in."""
    paths: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for section in mentions:
        for heading in section.all_headings:
            paths[heading].add(section.headings)
    return paths


@dataclass(frozen=True, slots=True)
class _Label:
    """A text that may be a title, with its score, 0 to 1.

    ``is_subject`` says that it is a name or a document's title, ``is_proper`` that it is surely a
    name: *Debian*, *PNG*, *GnuCash*.
    """

    score: float
    text: str
    is_subject: bool = False
    is_proper: bool = False


def _ranked(
    one: TitleSubject, counts: Mapping[str, int], elsewhere: _Elsewhere
) -> Iterator[tuple[float, str]]:
    """Acceptable titles, with their scores; ``counts`` are the mentions under each heading."""
    best = _best_labels(one, counts, elsewhere)
    for label in best:
        # A single word that is no name is only better than no title at all.
        alone = ALONE if label.is_proper else 0.001
        yield label.score * (alone if words_in(label.text) < FEWEST_WORDS else 1.0), label.text
    for label, other in combinations(best, 2):
        words, more = words_in(label.text), words_in(other.text)
        is_short = words < FEWEST_WORDS and words + more < MOST_WORDS
        # What the heading of a section says is no subject beside another: *The 2.x releases*.
        is_subject = more < FEWEST_WORDS or (other.is_subject and not _JOINT.search(other.text))
        if is_short and is_subject and not _overlap(label.text, other.text):
            yield JOINED * (label.score + other.score) / 2, joined(label.text, other.text)


def _best_labels(
    one: TitleSubject, counts: Mapping[str, int], elsewhere: _Elsewhere
) -> list[_Label]:
    """The labels that fit the topic best, and no other.

    Headings with most mentions come first: a large topic has a hundred thousand headings, and few
    can be among the best.
    """
    scored = _Scores(one, elsewhere)
    names, headings = scored.of_names(), Counter(counts).most_common()
    for many in (some for some in LOOKED_AT if some < len(headings)):
        best = _labels([*names, *map(scored.of_heading, headings[:many])])
        if scored.most(headings[many][1]) < _least(best):
            return best
    return _labels([*names, *map(scored.of_heading, headings)])


def _labels(texts: Iterable[_Label]) -> list[_Label]:
    """The labels of the best texts, of which few are read."""
    best: dict[str, _Label] = {}
    for one in sorted(texts, key=attrgetter("score"), reverse=True):
        if len(best) >= MOST_LABELS and one.score < [*best.values()][MOST_LABELS - 1].score:
            break
        for text in labels_of(one.text):
            best.setdefault(text, replace(one, text=text))
    return sorted(best.values(), key=lambda label: (-label.score, label.text))[:MOST_LABELS]


def _least(best: Sequence[_Label]) -> float:
    """The score that another label has to reach."""
    return best[-1].score if len(best) == MOST_LABELS else -1.0


class _Scores:
    """How well headings and names fit a topic."""

    def __init__(self, one: TitleSubject, elsewhere: _Elsewhere) -> None:
        self._one, self._elsewhere = one, elsewhere
        self._documents = {section.document for section in one.mentions}
        self._below = _paths_below(one.mentions)
        self._total = one.mentions.total()

    def of_heading(self, counted: tuple[str, int]) -> _Label:
        heading, number = counted
        name, is_document = _unnumbered(heading), heading in self._documents
        worth = TITLED if is_document else 1.0
        worth /= len(self._below[heading]) ** SPREAD
        worth /= self._elsewhere.places.get(name, 1) ** REPEATED
        worth *= ASKING if _ASKS.match(name) else 1.0
        score = worth * 2 * number / (self._total + self._elsewhere.mentions[heading])
        return _Label(score, heading, is_subject=is_document)

    def most(self, number: int) -> float:
        """What a heading of so many mentions is scored at most: its siblings have these, too."""
        return 2 * number / (self._total + number)

    def of_names(self) -> list[_Label]:
        found = []
        for name in self._one.names:
            worth = NAMED_OF.get(name.type, NAMED)
            both = self._one.links + name.everywhere
            score = worth * 2 * name.inside / both if both else 0.0
            is_proper = name.type in PROPER or _INNER_CAPITAL.search(name.text) is not None
            found.append(_Label(score, name.text, is_subject=True, is_proper=is_proper))
        return found


def labels_of(text: str) -> list[str]:
    """The first part of a heading or a name that would do as a title; at most one.

    >>> labels_of("9.11. Hot Plugging: hotplug"), labels_of("STAVE ONE: MARLEY'S GHOST")
    (['Hot Plugging'], ["Marley's Ghost"])
    >>> [labels_of(one) for one in ("Chapter 8", "More information", "Who they are", "ls /etc")]
    [[], [], [], []]
    """
    parts = [text, *_BREAK.split(text)]
    for part in parts:
        label = _unnumbered(one_line(part))
        if _would_do(label):
            return [unshouted(label[:1].upper() + label[1:])]
    return []


@lru_cache(maxsize=50_000)
def _unnumbered(heading: str) -> str:
    name: str = _MARKS.sub("", _NUMBER.sub("", _MARKS.sub("", heading)))
    return name


def _would_do(label: str) -> bool:
    words = _WORD.findall(label)
    if not terms(label) or _CODE.search(label) or _BREAK.search(label) or not _SAYING.search(label):
        return False
    digits = sum(any(map(str.isdigit, word)) for word in words)
    saying = {word for word in label.lower().split() if terms(word)}
    if saying <= _GENERIC or 2 * digits >= len(words):
        return False
    return words_in(label) <= MOST_WORDS and len(label) <= MOST_CHARACTERS


def words_in(label: str) -> int:
    """Number of words; two characters of a script without spaces count as one."""
    unspaced = len(_UNSPACED.findall(label))
    if unspaced > MOST_UNSPACED:
        return MOST_WORDS + 1
    return len(_WORD.findall(_UNSPACED.sub(" ", label))) + (unspaced + 1) // 2


def _overlap(label: str, other: str) -> bool:
    one, two = (set(normalise_name(text).split()) for text in (label, other))
    return bool(one & two) or label in other or other in label


def parts_of(title: str) -> list[str]:
    """The title, and the two labels that it may be ``joined`` from.

    >>> parts_of("Scrooge and Bob Cratchit"), parts_of("Carol")
    (['Scrooge and Bob Cratchit', 'Scrooge', 'Bob Cratchit'], ['Carol'])
    """
    parts = _JOINT.split(title)
    return [title, *parts] if len(parts) == 2 else [title]


def joined(label: str, other: str) -> str:
    """
    >>> joined("Scrooge", "Bob Cratchit"), joined("朱元璋", "徐达")
    ('Scrooge and Bob Cratchit', '朱元璋与徐达')
    """
    is_unspaced = _UNSPACED.search(label) and _UNSPACED.search(other)
    return f"{label}与{other}" if is_unspaced else f"{label} and {other}"
