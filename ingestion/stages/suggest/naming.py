"""Compare the names of two entities that may be two spellings of one.

Every function takes two entities and returns why their names may mean one thing, or None. Words are
compared in a standard spelling (``features.written_out``) and, like keys, without accents, case and
punctuation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein, Prefix

from ingestion.extractors.extraction import PERSON, PLACE
from ingestion.stages.suggest.features import (
    SMALL,
    TITLES,
    UNTYPED,
    VESSELS,
    Candidate,
    Reason,
    bare,
    numbering,
)


@dataclass(frozen=True, slots=True)
class Common:
    """How many entities have a word in their name, and how many may be shortened to initials."""

    words: Mapping[str, int] = field(default_factory=dict)
    initials: Mapping[str, int] = field(default_factory=dict)


ACRONYM: Final = "acronym"
SHORTEST_SPELLED: Final = 5
LONG: Final = 8
# Words in at least this many names are words of their own, not misspellings.
COMMON: Final = 3
SHORTEST_NAME: Final = 3
LONGEST_INITIALS: Final = 4
ALIKE: Final = 92.0
LONGEST: Final = 12
"""Words of the longest name that is compared word by word."""


def may_be_one(one: Candidate, other: Candidate) -> bool:
    """Whether any of ``BY_NAME`` can apply, told in a fraction of their time: mostly, none does."""
    if one.aliases or other.aliases or one.is_initials or other.is_initials:
        return True
    left, right = one.spelt, other.spelt
    if len(left) == len(right):
        differing = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
        if len(differing) <= 2 and all(_near(*pair) for pair in differing):
            return True
        if len(differing) == 1 and _is_cut_off(*sorted(differing[0], key=len)):
            return True
    if one.core[-1] == other.core[-1] or one.letters == other.letters:
        return True
    few, many = set(one.distinctive), set(other.distinctive)
    return few <= many or many < few or bool(_likeness(one, other))


def _name(weight: float, words: str) -> Reason:
    return Reason("name", weight, words, is_of_names=True)


def spelt_differently(one: Candidate, other: Candidate, _common: Common) -> Reason | None:
    """The same words with different spacing, or one of them abbreviated in the usual way."""
    left, right = one.spelt, other.spelt
    if left == right:
        return _name(5.5, "the same name with a word spelt differently")
    if one.letters == other.letters:
        return _name(5.5, "the same name apart from spaces")
    return None


def without_forms(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """The same name once titles, honours and legal forms are removed."""
    left, right = one.core, other.core
    if left != right or one.words == other.words:
        return None
    gone = _without(one, left) or _without(other, right)
    both = _without(one, left) and _without(other, right)
    names = [word for word in left if word not in numbering(left)]
    weight = 4.5 if len(names) != 1 else _single(names[0], common)
    if not VESSELS.isdisjoint({*one.words[:1], *other.words[:1]}):
        weight -= 2.0  # ships are named after people
    return _name(weight - (2.0 if both else 0), f"same name {gone}")


def _without(entity: Candidate, kept: Sequence[str]) -> str:
    left_out = [word for word in entity.spelt if word not in kept]
    shown = {word.strip(".,()").lower(): word.strip(",()") for word in entity.name.split()}
    return f"after removing {' '.join(shown.get(w, w) for w in left_out)}" if left_out else ""


def _single(word: str, common: Common) -> float:
    """Weight of a surname alone: the more names have it, the less it says."""
    return 3.2 - math.log(max(1, common.words.get(word, 1)))


def reordered(one: Candidate, other: Candidate, _common: Common) -> Reason | None:
    """The same words in another order, apart from small ones: University of X, X University."""
    left, right = one.distinctive, other.distinctive
    if len(left) < 2 or one.core == other.core:
        return None
    if left == right:
        return _name(3.5, "the same name apart from small words")
    if sorted(left) == sorted(right):
        return _name(4.0, "the same words in a different order")
    return None


def fuller(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """One name in full: an extra middle name, or initials spelt out."""
    left, right = one.core, other.core
    if not _may_be_people(one, other) or min(len(left), len(right)) < 2 or left == right:
        return None
    if not _fits(left, right):
        return None
    shorter, longer = sorted((left, right), key=len)
    last = max(1, common.words.get(longer[-1], 1))
    weight = 3.8 - 0.6 * math.log(last)
    if shorter[0] == longer[0] and len(shorter[0]) > 1:
        return _name(weight, "one name has an extra middle name")
    return _name(weight, "the initials match the other's first names")


def _may_be_people(one: Candidate, other: Candidate) -> bool:
    types = {one.type, other.type}
    return PERSON in types or types <= UNTYPED


def _fits(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two people's names match: the same last name, and no first name in conflict.

    >>> _fits(("jrr", "tolkien"), ("john", "ronald", "reuel", "tolkien"))
    True
    >>> _fits(("j", "tolkien"), ("john", "ronald", "tolkien"))
    True
    >>> _fits(("jane", "tolkien"), ("john", "tolkien"))
    False
    """
    if one[-1] != other[-1] or len(one[-1]) < SHORTEST_NAME:
        return False
    left, right = (_given(side[:-1], rest[:-1]) for side, rest in ((one, other), (other, one)))
    short, long_ = sorted((left, right), key=len)
    if not short or not _one_is(short[0], long_[0]):
        return False
    return _in_order(short, long_)


def _given(given: Sequence[str], beside: Sequence[str]) -> list[str]:
    """First names, with joined initials split if the other's names begin with them."""
    initials = "".join(word[0] for word in beside)
    parts: list[str] = []
    for word in given:
        is_initials = len(word) <= LONGEST_INITIALS and word not in beside
        rest = iter(initials)
        runs_in = is_initials and all(letter in rest for letter in word)
        parts += list(word) if runs_in else [word]
    return parts


def _in_order(short: Sequence[str], long_: Sequence[str]) -> bool:
    rest = iter(long_)
    return all(any(_one_is(word, name) for name in rest) for word in short)


def _one_is(word: str, name: str) -> bool:
    """Whether a word is the same first name, or its initial."""
    return word == name or (1 in (len(word), len(name)) and word[0] == name[0])


def contained(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """One name is part of the other."""
    short, long_ = sorted((one, other), key=lambda side: len(set(side.distinctive)))
    few, many = short.distinctive, long_.distinctive
    if not set(few) < set(many) or len(many) > LONGEST or _is_no_name(few, long_):
        return None
    words = f"“{short.name}” is part of “{long_.name}”"
    is_last = tuple(many[-len(few) :]) == tuple(few)
    # NV Nia Vellacott.
    if is_last and many[: -len(few)] == ("".join(word[0] for word in few),):
        return _name(4.5, "the same name after its initials")
    if len(few) > 1:
        return _name(1.4 if is_last else 1.0, words)
    is_name = PERSON in (one.type, other.type) and long_.type in (PERSON, *UNTYPED)
    if not is_name or few[0] not in (many[0], many[-1]):
        return None
    # Fewer people share a last name than a first name.
    weight = _single(few[0], common) - (0.6 if few[0] == many[-1] else 1.4)
    weight += 0.6 if short.words[0] in TITLES else 0.0
    return _name(weight, words)


def _is_no_name(few: Sequence[str], long_: Candidate) -> bool:
    """A rank that many have (2nd Earl), or a place of origin (Tuscany, Guy of Tuscany)."""
    if all(word in TITLES or word in numbering(tuple(few)) for word in few):
        return True
    first = long_.spelt.index(few[0])
    return first > 0 and long_.spelt[first - 1] in SMALL


def shortened(one: Candidate, other: Candidate, _common: Common) -> Reason | None:
    """The same word by word, but one is cut off: Univ, Co-op."""
    left, right = one.spelt, other.spelt
    if len(left) != len(right) or len(left) < 2:
        return None
    differing = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    if len(differing) != 1:
        return None
    if not _is_cut_off(*sorted(differing[0], key=len)):
        return None
    return _name(3.0, "one name abbreviates a word")


def _is_cut_off(short: str, long_: str) -> bool:
    return len(short) >= 2 and len(long_) >= len(short) + 3 and long_.startswith(short)


def misspelt(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """The same word by word, apart from a letter or two in words that are not both common."""
    left, right = one.spelt, other.spelt
    if len(left) != len(right) or len(left) > LONGEST:
        return None
    differing = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    if not 0 < len(differing) <= 2 or not all(_near(a, b) for a, b in differing):
        return None
    return _misspelt(differing, left, common, one, other)


def _misspelt(
    differing: Sequence[tuple[str, str]],
    words: Sequence[str],
    common: Common,
    one: Candidate,
    other: Candidate,
) -> Reason:
    if all(a + "s" == b or b + "s" == a for a, b in differing):
        # There is one Solomon, and one Korea.
        is_one = len(words) == 1 and not {PERSON, PLACE}.isdisjoint({one.type, other.type})
        return _name(0.8 if is_one else 2.4, "one name is the other's plural")
    weight = 3.4 if len(words) > len(differing) else 1.5
    weight += 0.4 if all(min(len(a), len(b)) >= LONG for a, b in differing) else 0.0
    weight -= 1.2 * (len(differing) - 1)
    # Two given names, or two words, that many names have: Austrian is not a misspelt Australian.
    counts = common.words
    weight -= sum(1.8 for pair in differing if min(counts.get(a, 1) for a in pair) >= COMMON)
    weight -= sum(0.8 for a, b in differing if a[0] != b[0])
    # Stalinist is no misspelt Stalinism, nor Korean a Korea.
    weight -= 1.0 if len(words) == 1 and any(_inflects(*pair) for pair in differing) else 0.0
    if one.type == PERSON and differing[0][0] == words[0]:
        weight -= 0.6
    return _name(weight, "the names differ by a letter or two")


def _inflects(one: str, other: str) -> bool:
    """Whether words differ only in their last letter."""
    return Prefix.similarity(one, other) >= max(len(one), len(other)) - 1


def _near(one: str, other: str) -> bool:
    """Whether words differ by one letter (at least five letters), or two (at least nine)."""
    if not (one.isascii() and other.isascii()):
        return False
    shortest = min(len(one), len(other))
    if shortest < SHORTEST_SPELLED - 1 or max(len(one), len(other)) < SHORTEST_SPELLED:
        return False
    most = 2 if shortest > LONG else 1
    return DamerauLevenshtein.distance(one, other, score_cutoff=most) <= most


def alike(one: Candidate, other: Candidate, _common: Common) -> Reason | None:
    """Letters in much the same order, whatever words they form."""
    score = _likeness(one, other)
    if not score or one.words == other.words:
        return None
    return _name(1.2, f"the names are {score:.0f} % alike")


def _likeness(one: Candidate, other: Candidate) -> float:
    if min(len(one.key), len(other.key)) < LONG:
        return 0.0
    return fuzz.ratio(one.key, other.key, score_cutoff=ALIKE)


def acronym(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """One consists of the first letters of the other's words.

    Only for a short name in capitals: "who" is a word.
    """
    for short, long_ in ((one, other), (other, one)):
        if short.is_initials and short.key in acronyms(long_.words):
            weight = {2: 2.2, 3: 3.2}.get(len(short.key), 3.8)
            weight -= math.log(max(1, common.initials.get(short.key, 1)))
            weight -= 1.0 if long_.type == PERSON and len(short.key) > 2 else 0.0
            words = f"“{short.name}” are the initials of “{long_.name}”"
            return Reason(ACRONYM, weight, words, is_of_names=True)
    return None


def acronyms(words: tuple[str, ...]) -> frozenset[str]:
    """The initials that a name of several words may be shortened to.

    >>> sorted(acronyms(("world", "health", "organization")))
    ['who']
    >>> sorted(acronyms(("office", "of", "coastal", "lights")))
    ['ocl', 'oocl']
    """
    kept = [bare(words), words]
    without_small = [tuple(word for word in row if word not in SMALL) for row in kept]
    rows = [row for row in (*kept, *without_small) if 2 <= len(row) <= LONGEST]
    return frozenset("".join(word[0] for word in row) for row in rows)


def alias(one: Candidate, other: Candidate, common: Common) -> Reason | None:
    """One entity's name is also an alias of the other, or they share an alias."""
    for called, named in ((one, other), (other, one)):
        if called.key not in named.aliases:
            continue
        if called.spelt[0] not in named.spelt or not _is_no_name(called.spelt, named):
            words = f"documents also call “{named.name}” “{called.name}”"
            return Reason("alias", _by_alias(called.key, common), words, is_of_names=True)
    shared = sorted(set(one.aliases) & set(other.aliases))
    if not shared:
        return None
    words = f"both are called “{one.aliases[shared[0]]}”"
    return Reason("alias", _by_alias(shared[0], common) - 1.0, words, is_of_names=True)


def _by_alias(key: str, common: Common) -> float:
    words = key.split()
    return 4.0 if len(words) > 1 else _single(words[0], common)


BY_NAME: Final[tuple[Callable[[Candidate, Candidate, Common], Reason | None], ...]] = (
    spelt_differently,
    without_forms,
    reordered,
    fuller,
    contained,
    shortened,
    misspelt,
    alike,
    acronym,
    alias,
)
"""All ways in which two names may be one. They overlap, so only the weightiest counts."""
