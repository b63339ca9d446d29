"""The terms of reports, so that a question's words are looked up and never searched through."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from kb_project.text.terms import terms

SATURATION: Final = 1.2
LENGTH: Final = 0.75
"""k1 and b of BM25, as passages are ranked with."""

Part = tuple[int, int]
"""Place of a report, and of a part in it: 0 is its heading, from 1 on are its statements."""


class WordIndex:
    """``reports`` are the parts of each report as text."""

    def __init__(self, reports: Iterable[Sequence[str]]) -> None:
        # Place, part and count, one after the other: as tuples they would take ten times the room.
        self._held: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        self._lengths: list[array[int]] = []
        for place, parts in enumerate(reports):
            self._lengths.append(array("I"))
            for number, text in enumerate(parts):
                counts = Counter(terms(text))
                self._lengths[place].append(counts.total())
                for term, count in counts.items():
                    self._held[term].extend((place, number, count))

    def scores(
        self, wanted: Sequence[str], shown: Mapping[int, frozenset[int]]
    ) -> tuple[dict[int, float], dict[Part, float]]:
        """BM25 of reports, and of their parts, as far as they are ``shown``: parts by place.

        What is not shown adds nothing, not even to the statistics.
        """
        lengths = {
            place: sum(self._lengths[place][number] for number in parts)
            for place, parts in shown.items()
        }
        mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
        whole: defaultdict[int, float] = defaultdict(float)
        parts: defaultdict[Part, float] = defaultdict(float)
        for term in wanted:
            found = self._found(term, shown)
            counts: Counter[int] = Counter()
            for place, _, count in found:
                counts[place] += count
            rarity = math.log(1 + (len(shown) - len(counts) + 0.5) / (len(counts) + 0.5))
            for place, count in counts.items():
                whole[place] += rarity * _saturated(count, lengths[place] / mean)
            for place, number, count in found:
                parts[place, number] += rarity * _saturated(count, 1.0)
        return dict(whole), dict(parts)

    def _found(self, term: str, shown: Mapping[int, frozenset[int]]) -> list[tuple[int, int, int]]:
        held = self._held.get(term, ())
        triples = zip(held[0::3], held[1::3], held[2::3], strict=True)
        return [one for one in triples if one[1] in shown.get(one[0], ())]


def _saturated(count: int, length: float) -> float:
    norm = 1 - LENGTH + LENGTH * length
    return count * (SATURATION + 1) / (count + SATURATION * norm)
