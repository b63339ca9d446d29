"""A word index of reports, so that a question's words are looked up rather than searched for."""

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
"""k1 and b of BM25."""

Part = tuple[int, int]
"""Index of a report, and of a part in it: 0 is its heading, its statements start at 1."""


class WordIndex:
    """``reports`` are the parts of each report as text."""

    def __init__(self, reports: Iterable[Sequence[str]]) -> None:
        # Flat sequences of place, part and count: tuples would take ten times the memory.
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
        """Return the BM25 scores of reports and of their parts, for ``shown`` parts by place.

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
