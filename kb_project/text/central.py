"""The sentences that say most of what a text says, without saying it twice.

Centrality is LexRank (Erkan and Radev, "LexRank: Graph-based Lexical Centrality as Salience in Text
Summarization", 2004): a walk from sentence to sentence by the cosine of their weighted terms, which
now and then begins again. Here it begins again near the top of a text (as in biased LexRank,
Otterbacher and others 2009), since documents say early what they are about: the position value of
MEAD (Radev and others 2004). Diversity is maximal marginal relevance (Carbonell and Goldstein
1998).

The walk needs no matrix of all pairs: with rows of length one, it is two sparse products a step, so
time grows with the number of words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.text.terms import terms

RESTART: Final = 0.3
"""How often the walk begins again. The paper has 0.15 with even chances; here the top counts."""
STEPS: Final = 30
RELEVANCE: Final = 0.7
"""What centrality counts against likeness to what is chosen; the MMR paper's λ."""
TOO_LIKE: Final = 0.6
"""A sentence of this cosine to one that is chosen repeats it."""
SHORTEST: Final = 40
LONGEST: Final = 320
"""Characters, a Chinese one counting for three."""

Numbers = NDArray[np.float64]
Indexes = NDArray[np.int64]

_WIDE: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_WHOLE: Final = regex.compile(
    r"^[\"'“‘«「『]?[\p{Lu}\p{Lo}\p{Lt}\p{N}].*[.!。！][\"'”’»」』)）]*$", regex.DOTALL
)
# What needs the sentence before it, speaks to the reader or is spoken.
_LEANS: Final = regex.compile(
    r"^(?:he|she|it|they|this|that|these|those|his|her|their|its|such|but|and|or|so|then|thus|also"
    r"|however|therefore|moreover|furthermore|instead|otherwise|hence|nevertheless|here|there|see"
    r"|note|if so|yes|no|for example|for instance|in (?:this|that|addition|both|such)|as such"
    r"|as a result|on the other hand|finally|similarly|likewise|still|yet|meanwhile|another|both)\b"
    r"|\b(?:I|me|my|you|your|yours|I['’]\w+)\b|[“”\"‘]|\b(?:above|below|following|aforementioned)\b"
    r"|^(?:他|她|它|这|那|但|而|因此|所以|然而|此外|另外|并且|于是|其|例如|同时|不过|后来|随后)|[「」『』我你您]",
    regex.IGNORECASE,
)
_LEANING: Final = 0.3
"""What a sentence counts that cannot well be read alone."""


def is_quotable(said: str) -> bool:
    """Whether a sentence is whole, and neither a few words nor half a page.

    >>> is_quotable("The light of Skarrow was built in 1866 by Ada."), is_quotable("See below.")
    (True, False)
    """
    size = len(said) + 2 * len(_WIDE.findall(said))
    return SHORTEST <= size <= LONGEST and _WHOLE.match(said) is not None


def stands_alone(said: str) -> bool:
    """Whether it is understood without the sentence before it.

    >>> stands_alone("The light burned oil."), stands_alone("It burned oil.")
    (True, False)
    """
    return _LEANS.search(said) is None


class Central:
    """Sentences in the order of their text, compared with each other.

    ``places`` are their numbers in it where some are left out.
    """

    def __init__(self, sentences: Sequence[str], places: Sequence[int] | None = None) -> None:
        self._count = len(sentences)
        self._rows, self._columns, self._weights, self._width = _vectors(sentences)
        order = np.arange(self._count) if places is None else np.asarray(places)
        alone = np.array([1.0 if stands_alone(one) else _LEANING for one in sentences])
        self.scores = self._walk(1 / np.sqrt(1.0 + order)) * alone

    def best(self, most: int) -> list[int]:
        """The numbers of at most ``most`` sentences, best first, none like another."""
        chosen: list[int] = []
        relevance = self.scores / max(float(self.scores.max(initial=0.0)), 1e-12)
        likeness = np.zeros(self._count)
        free = relevance > 0
        while free.any() and len(chosen) < most:
            worth = RELEVANCE * relevance - (1 - RELEVANCE) * likeness
            one = int(np.argmax(np.where(free, worth, -np.inf)))
            chosen.append(one)
            likeness = np.maximum(likeness, self._likeness_to(one))
            free &= likeness < TOO_LIKE
            free[one] = False
        return chosen

    def _walk(self, chances: Numbers) -> Numbers:
        """How often each sentence is come by; ``chances`` are where it begins again."""
        start: Numbers = chances / max(chances.sum(), 1e-12)
        degrees = np.maximum(self._times(self._across(np.ones(self._count))), 1e-12)
        found = start
        for _ in range(STEPS):
            moved = self._times(self._across(found / degrees))
            found = RESTART * start + (1 - RESTART) * moved
        return found

    def _likeness_to(self, one: int) -> Numbers:
        alone = np.zeros(self._count)
        alone[one] = 1.0
        return self._times(self._across(alone))

    def _across(self, of_rows: Numbers) -> Numbers:
        """By term, the sum over sentences."""
        return _sums(self._columns, self._weights * of_rows[self._rows], self._width)

    def _times(self, of_terms: Numbers) -> Numbers:
        """By sentence, the sum over its terms."""
        return _sums(self._rows, self._weights * of_terms[self._columns], self._count)


def _vectors(
    sentences: Sequence[str],
) -> tuple[Indexes, Indexes, Numbers, int]:
    """Sparse rows of length one: tf · ln(1 + n/df)."""
    counted = [Counter(terms(one)) for one in sentences]
    spread = Counter(term for one in counted for term in one)
    column = {term: number for number, term in enumerate(spread)}
    rows = np.repeat(np.arange(len(counted)), [len(one) for one in counted])
    columns = np.array([column[term] for one in counted for term in one], np.int64)
    often = np.array([number for one in counted for number in one.values()], np.float64)
    holding = np.array(list(spread.values()), np.float64)
    weights = often * np.log1p(len(counted) / holding)[columns] if len(columns) else often
    lengths = np.sqrt(np.bincount(rows, weights**2, len(counted)))
    return rows, columns, weights / np.maximum(lengths, 1e-12)[rows], len(spread)


def _sums(groups: Indexes, values: Numbers, count: int) -> Numbers:
    """The sum of the values of each group from 0 to ``count``."""
    found: Numbers = np.bincount(groups, values, count).astype(np.float64)
    return found
