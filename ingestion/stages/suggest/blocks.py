"""Choose the entities worth comparing: those that share something few entities have.

Entities are not compared with all others. Each is filed under keys (its words in order, its
initials, each rare word with a letter left out, …), and compared with those under the same key; a
key that many share says nothing and is skipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, pairwise
from typing import Final

from ingestion.stages.suggest.features import Candidate, bare
from ingestion.stages.suggest.naming import SHORTEST_SPELLED, Common, acronyms, is_short

CROWD: Final = 16
"""A key with more entities than this is no reason to compare them."""
RARE: Final = 40
"""A word in more names than this is not a key on its own."""
LONGEST_WORD: Final = 20
MOST_WORDS: Final = 8


def common_in(entities: Iterable[Candidate]) -> Common:
    """Count the entities that have a word in their name, or may be shortened to some initials."""
    words, initials = Counter[str](), Counter[str]()
    for entity in entities:
        words.update(set(entity.spelt))
        initials.update(acronyms(entity.words))
    return Common(words, initials)


def candidates(entities: Iterable[Candidate], common: Common) -> list[tuple[Candidate, Candidate]]:
    """Pairs worth comparing, the lower id first; their number grows linearly with the entities."""
    rows = sorted(entities, key=lambda one: one.id)
    by_key = defaultdict[str, list[int]](list)
    for place, entity in enumerate(rows):
        for key in set(keys_of(entity, common)):
            by_key[key].append(place)
    # A word and its deletions mostly file the same entities.
    groups = {tuple(members) for members in by_key.values() if 1 < len(members) <= CROWD}
    pairs = set(chain.from_iterable(combinations(members, 2) for members in groups))
    pairs.update(_in_order(rows))
    return [(rows[one], rows[other]) for one, other in sorted(pairs)]


def keys_of(entity: Candidate, common: Common) -> Iterator[str]:
    """The keys an entity is filed under; the prefix tells the kind of key."""
    words = entity.spelt[:MOST_WORDS]
    yield "s:" + "".join(words)
    yield "w:" + " ".join(sorted(entity.distinctive))
    yield from (f"a:{alias}" for alias in {entity.key, *entity.aliases})
    yield from _initials(entity, words)
    yield from _word_keys(words, common)


def _initials(entity: Candidate, words: tuple[str, ...]) -> Iterator[str]:
    if len(words) == 1:
        if is_short(entity):
            yield f"i:{entity.key}"
        return
    yield from (f"i:{short}" for short in acronyms(words) if len(short) > 1)
    person = bare(words)
    yield f"p:{person[0][0]} {person[-1]}"
    yield f"f:{person[0]} {person[-1]}"


def _word_keys(words: tuple[str, ...], common: Common) -> Iterator[str]:
    for word in words:
        if common.words.get(word, 1) > RARE:
            continue
        yield f"r:{word}"
        if len(word) >= SHORTEST_SPELLED and word.isascii():
            yield from (f"d:{one}" for one in _deletes(word[:LONGEST_WORD]))


def _deletes(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters: words one letter apart share a key."""
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


def _in_order(rows: Sequence[Candidate]) -> Iterator[tuple[int, int]]:
    """Names that are adjacent when sorted forwards, or by their reversed letters."""
    for step in (1, -1):
        keys = [entity.key[::step] for entity in rows]
        places = sorted(range(len(rows)), key=keys.__getitem__)
        for one, other in pairwise(places):
            yield (one, other) if one < other else (other, one)
