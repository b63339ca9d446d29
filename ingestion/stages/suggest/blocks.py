"""Choose the entities worth comparing: those that share something few entities have.

Entities are not compared with all others. Each is filed under keys (its words in order, its
initials, each rare word with a letter left out, …), and compared with those under the same key; a
key that many share says nothing and is skipped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ingestion.stages.suggest.features import Candidate, bare
from ingestion.stages.suggest.naming import SHORTEST_SPELLED, Common, acronyms

CROWD: Final = 16
"""A key with more entities than this is no reason to compare them."""
RARE: Final = 40
"""A word in more names than this is not a key on its own."""
LONGEST_WORD: Final = 20
AT_ONCE: Final = 100_000
MOST_WORDS: Final = 8

Places = NDArray[np.int32]


def common_in(entities: Iterable[Candidate]) -> Common:
    """Count the entities that have a word in their name, or may be shortened to some initials."""
    words, initials = Counter[str](), Counter[str]()
    for entity in entities:
        words.update(set(entity.spelt))
        initials.update(acronyms(entity.words))
    return Common(words, initials)


def candidates(
    entities: Iterable[Candidate], common: Common
) -> Iterator[tuple[Candidate, Candidate]]:
    """Pairs worth comparing, the lower id first; their number grows linearly with the entities.

    Entities have some twenty keys each. Their hashes and the pairs are numbers in arrays: as
    strings and tuples they would take gigabytes.
    """
    rows = sorted(entities, key=lambda one: one.id.int)
    keys, sizes = array("q"), array("i")
    for entity in rows:
        filed = set(keys_of(entity, common))
        keys.extend(map(hash, filed))
        sizes.append(len(filed))
    places = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
    pairs = [_under_one_key(np.frombuffer(keys, np.int64), places)]
    pairs += [_side_by_side(rows, step) for step in (1, -1)]
    # As one number each, pairs are sorted in a fraction of the time and memory.
    found = np.unique(np.concatenate([pair @ np.array([len(rows), 1]) for pair in pairs]))
    for start in range(0, len(found), AT_ONCE):
        for number in found[start : start + AT_ONCE].tolist():
            one, other = divmod(number, len(rows))
            yield rows[one], rows[other]


def _under_one_key(keys: NDArray[np.int64], places: Places) -> Places:
    """Pairs of places, the lower first, with a key that no more than ``CROWD`` have."""
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], places[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    sizes = np.diff(starts, append=len(places))
    found = [np.empty((0, 2), np.int32)]
    for size in range(2, CROWD + 1):
        groups = places[starts[sizes == size][:, None] + np.arange(size)]
        # A word and its deletions mostly file the same entities.
        groups = np.unique(groups, axis=0)
        found += [groups[:, list(pair)] for pair in combinations(range(size), 2)]
    return np.concatenate(found)


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
        if entity.is_initials:
            yield f"i:{entity.key}"
        return
    yield from (f"i:{short}" for short in acronyms(words) if len(short) > 1)
    person = bare(words)
    yield f"p:{person[0][0]} {person[-1]}"
    yield f"f:{person[0]} {person[-1]}"


def _word_keys(words: tuple[str, ...], common: Common) -> Iterator[str]:
    rare = [word for word in words if common.words.get(word, 1) <= RARE]
    yield from (f"r:{word}" for word in rare)
    yield from (f"d:{one}" for word in spelled(rare) for one in deletes(word))


def spelled(words: Iterable[str]) -> list[str]:
    """The words that may be misspelt: long ones, of Latin letters."""
    return [word for word in words if len(word) >= SHORTEST_SPELLED and word.isascii()]


def deletes(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters: words one letter apart share one."""
    word = word[:LONGEST_WORD]
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


def in_order(keys: Sequence[str], step: int) -> list[int]:
    """Places of the keys as sorted: forwards, or by their reversed letters."""
    turned = [key[::step] for key in keys]
    return sorted(range(len(keys)), key=turned.__getitem__)


def _side_by_side(rows: Sequence[Candidate], step: int) -> Places:
    """Places of names that are adjacent when sorted: forwards, or by their reversed letters."""
    order = np.array(in_order([entity.key for entity in rows], step), np.int32)
    return np.sort(np.stack([order[:-1], order[1:]], axis=1), axis=1)
