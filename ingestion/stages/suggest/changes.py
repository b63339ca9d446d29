"""Tell which entities changed since all were compared, and which others to compare them with.

In a large workspace, comparing all entities takes a minute, and a document changes a handful.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import NamedTuple

import numpy as np

from ingestion.stages.suggest import blocks
from ingestion.stages.suggest.features import WRITTEN_OUT, Candidate, written_out
from ingestion.stages.suggest.naming import Common, acronyms
from kb_project.graph.compact import NOWHERE, Ids, IdsByPlace, texts_of


@dataclass(frozen=True, slots=True)
class Names:
    """All entities: their ids, keys, and digests of what they are compared by."""

    ids: Sequence[uuid.UUID]
    keys: Sequence[str]
    digests: bytes

    def changed_since(self, digests: bytes) -> list[uuid.UUID]:
        """The entities that are new or other than when there were these digests, in any order."""
        is_known = np.isin(np.frombuffer(self.digests, np.int64), np.frombuffer(digests, np.int64))
        return [self.ids[place] for place in np.flatnonzero(~is_known).tolist()]

    def at(self, places: Iterable[int]) -> list[uuid.UUID]:
        return [self.ids[place] for place in sorted(set(places))]


class Digests(NamedTuple):
    """Digests by columns, of what has these ids; each id is sixteen bytes, each digest eight."""

    ids: bytes
    digests: bytes


def names_of(entities: Digests, lines: str, aliases: Digests) -> Names:
    """All entities with their keys, one on a line; the digests of their aliases are added up."""
    digests = np.frombuffer(entities.digests, ">u8").astype(np.uint64)
    places = Ids.of_bytes(entities.ids).places_packed(aliases.ids)
    is_known = places != NOWHERE
    added = np.frombuffer(aliases.digests, ">u8").astype(np.uint64)[is_known]
    np.add.at(digests, places[is_known], added)
    return Names(IdsByPlace(entities.ids), texts_of(lines, entities.ids), digests.tobytes())


def partners(changed: Collection[Candidate], keys: Sequence[str]) -> Iterator[int]:
    """Places of the keys that may be filed under a key of a changed entity (``blocks.keys_of``).

    They share a word, or a word but for a letter, or all letters, or one has the initials of the
    other; or they are adjacent when sorted.
    """
    names = {name for one in changed for name in (one.key, *one.aliases)}
    letters = {text.replace(" ", "") for text in names} | {one.letters for one in changed}
    words = _words_near(changed, keys)
    short = {initials for one in changed for initials in acronyms(one.words)}
    initials = {one.key for one in changed if one.is_initials}
    for place, key in enumerate(keys):
        parts = key.split()
        if (
            not words.isdisjoint(parts)
            or key in short
            or key.replace(" ", "") in letters
            or (initials and not initials.isdisjoint(acronyms(tuple(parts))))
        ):
            yield place
    for step in (1, -1):
        yield from _adjacent([one.key for one in changed], keys, step)


def _words_near(changed: Collection[Candidate], keys: Sequence[str]) -> set[str]:
    """The words of these entities but for small ones, and all words that are a letter away."""
    words = {word for one in changed for word in one.distinctive}
    words |= {short for short, full in WRITTEN_OUT.items() if full in words}
    spelled = {word for one in changed for word in blocks.spelled(one.spelt)}
    deleted = {part for word in spelled for part in blocks.deletes(word)}
    begun = {part[:3] for part in deleted}
    for word in blocks.spelled(set(chain.from_iterable(map(str.split, keys))) - words):
        # How a word begins without one of its letters rules most words out.
        a, b, c, d = word[:1], word[1:2], word[2:3], word[3:4]
        may_be = not begun.isdisjoint((a + b + c, b + c + d, a + c + d, a + b + d))
        if may_be and not deleted.isdisjoint(blocks.deletes(word)):
            words.add(word)
    return words


def _adjacent(wanted: Iterable[str], keys: Sequence[str], step: int) -> Iterator[int]:
    """Places of the keys beside these when sorted: forwards, or by their reversed letters.

    Not all are sorted: of those between two of ``wanted``, the first two and the last are enough.
    """
    turned = [key[::step] for key in keys]
    key_of = turned.__getitem__
    sought = [key[::step] for key in wanted]
    bounds = sorted(set(sought))
    between: list[list[int]] = [[] for _ in range(len(bounds) + 1)]
    for place, key in enumerate(turned):
        between[bisect_right(bounds, key)].append(place)
    order: list[int] = []
    for places in filter(None, between):
        last = max(reversed(places), key=key_of)
        order += dict.fromkeys((*nsmallest(2, places, key_of), last))
    for key in sought:
        at = bisect_left(order, key, key=key_of)
        yield from order[max(0, at - 1) : at + 2]


def common_in(keys: Iterable[str], among: Collection[Candidate]) -> Common:
    """Count in all names the words of ``among``, and the initials that one of them consists of."""
    short = {one.key for one in among if one.is_initials}
    first = {key[0] for key in short}
    wanted = {word for one in among for word in _words_of(one)}
    spelled_out = {short for short, full in WRITTEN_OUT.items() if full in wanted}
    may_be = wanted | spelled_out | ({"op", "operative"} if "cooperative" in wanted else set())
    words, initials = Counter[str](), Counter[str]()
    for key in keys:
        parts = tuple(key.split())
        if not may_be.isdisjoint(parts):
            words.update(wanted.intersection(written_out(parts)))
        if short and len(parts) > 1 and not first.isdisjoint(part[0] for part in parts):
            initials.update(acronyms(parts) & short)
    return Common(words, initials)


def _words_of(one: Candidate) -> Iterator[str]:
    yield from one.spelt
    for alias in one.aliases:
        yield from alias.split()


def pairs_of(
    changed: Container[uuid.UUID], compared: Iterable[Candidate], common: Common
) -> Iterator[tuple[Candidate, Candidate]]:
    """The pairs worth comparing that have one of the changed entities."""
    for one, other in blocks.candidates(compared, common):
        if one.id in changed or other.id in changed:
            yield one, other
