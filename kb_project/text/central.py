"""Selects the sentences that convey most of a text, without repetition.

Centrality is LexRank (Erkan and Radev, "LexRank: Graph-based Lexical Centrality as Salience in Text
Summarization", 2004): a walk from sentence to sentence by the cosine of their weighted terms, with
random restarts. Restarts favour the top of a text (as in biased LexRank, Otterbacher and others
2009), since documents say early what they are about: the position value of MEAD (Radev and others
2004). Diversity is maximal marginal relevance (Carbonell and Goldstein 1998).

The walk needs no matrix of all pairs: with rows of length one, a step is two sparse products, so
time grows with the number of words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from kb_project.text.words import terms

RESTART: Final = 0.5
"""Restart probability. The paper has 0.15 with uniform restarts; here the top of the
text counts."""
STEPS: Final = 30
RELEVANCE: Final = 0.7
"""Weight of centrality against similarity to chosen sentences; the MMR paper's λ."""
TOO_SIMILAR: Final = 0.6
"""A sentence with this cosine to a chosen one repeats it."""
SHORTEST: Final = 40
LONGEST: Final = 320
"""Characters; a Chinese one counts as three."""

Numbers = NDArray[np.float64]
Indexes = NDArray[np.int64]

_WIDE: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_WHOLE: Final = regex.compile(
    r"^[\"'“‘«「『]?[\p{Lu}\p{Lo}\p{Lt}\p{N}].*[.!。！][\"'”’»」』)）]*$", regex.DOTALL
)
# Sentences that need the one before, address the reader, or are direct speech.
_NEEDS_CONTEXT: Final = regex.compile(
    r"^(?:he|she|it|they|this|that|these|those|his|her|their|its|such|but|and|or|so|then|thus|also"
    r"|however|therefore|moreover|furthermore|instead|otherwise|hence|nevertheless|here|there|see"
    r"|note|if so|yes|no|for example|for instance|in (?:this|that|addition|both|such)|as such"
    r"|as a result|on the other hand|finally|similarly|likewise|still|yet|meanwhile|another|both"
    r"|some|all of|each|others|additionally|first|second|let(?:['’]s| us))\b"
    r"|^.{,30}?\b(?:he|she|him|her|his|they|them|their|it)\b"
    r"|\b(?:I|me|my|you|your|yours|I['’]\w+)\b|\b(?:above|below|following)[.,:;)]"
    r"|\b(?:the|as) (?:above|following)\b"
    r"|\be\.g\.|https?://|www\.|\s--?\p{L}"
    r"|\b(?:in|see) (?:this |the )?(?:chapter|section|appendix|figure|table)\b"
    r"|\bhere\b"
    r"|^[\"'“‘「『]|[,!?，！？][\"”’'」』]"
    r"|^(?:他|她|它|这|那|但|而|因此|所以|然而|此外|另外|并且|于是|其|例如|同时|不过|后来|随后)|[我你您]",
    regex.IGNORECASE,
)
_VERB: Final = regex.compile(
    r"\b(?:am|is|are|was|were|be|been|has|have|had|do|does|did|can|could|may|might|must|will|would"
    r"|shall|should|became|began|came|fell|found|gave|got|held|kept|knew|led|left|lost|made|met"
    r"|put|ran|said|sat|saw|set|stood|told|took|went|won|wrote|\p{Ll}{2,}(?:ed|fies|izes|ises))\b"
    r"|[\p{Han}\p{Hiragana}\p{Hangul}\p{Thai}]"
)
_DO: Final = (
    r"(?:add|adjust|ask|avoid|build|call|change|check|choose|click|close|connect|copy|create|drag"
    r"|delete|do|don['’]t|edit|ensure|enter|find|follow|give|go|hold|insert|install|keep|look|make"
    r"|move|never|open|pick|place|press|put|read|remember|remove|repeat|replace|run|save|select"
    r"|set|start|stop|switch|take|try|turn|type|use|verify|wait|write)"
)
_STEP: Final = regex.compile(
    rf"(?:please )?{_DO}\b(?! (?:of|is|are|was|were|has|had|in|and|or|by|for|can)\b)(?!['’]s)"
    rf"|to \p{{Ll}}+ .+?,? {_DO} (?:the|an?|your|to)\b",
    regex.IGNORECASE,
)
_ABOUT: Final = regex.compile(
    r"(?:This|The) (?:document|guide|book|manual|paper|standard|report|article|handbook|text"
    r"|tutorial|policy|story|novel)\b|(?:本|这)(?:文|书|报告|手册|文件|指南)"
)
_DEPENDENT: Final = 0.3
"""Factor for a sentence that cannot stand alone, has no verb, such as a caption, or tells the
reader what to do."""
_INTRODUCES: Final = 1.5
"""Factor for a sentence that says what the text is."""


def is_quotable(sentence: str) -> bool:
    """Whether a sentence is complete, and neither a few words nor half a page.

    >>> is_quotable("The light of Skarrow was built in 1866 by Ada."), is_quotable("See below.")
    (True, False)
    """
    size = len(sentence) + 2 * len(_WIDE.findall(sentence))
    return SHORTEST <= size <= LONGEST and _WHOLE.match(sentence) is not None


def worth(sentence: str) -> float:
    """Return the value of a sentence to someone who reads nothing else.

    >>> worth("This guide tells of the lights."), worth("The light burned."), worth("It burned.")
    (1.5, 1.0, 0.3)
    """
    if _ABOUT.match(sentence):
        return _INTRODUCES
    states = _VERB.search(sentence) and not _STEP.match(sentence)
    return 1.0 if states and not _NEEDS_CONTEXT.search(sentence) else _DEPENDENT


class Central:
    """Sentences in text order, compared with each other.

    ``positions`` are their positions in it, or how many sentences have a better position.
    """

    def __init__(self, sentences: Sequence[str], positions: Sequence[float] | None = None) -> None:
        self._count = len(sentences)
        self._rows, self._columns, self._weights, self._width = _vectors(sentences)
        order = np.arange(self._count) if positions is None else np.asarray(positions)
        worths = np.array([worth(one) for one in sentences])
        self.scores = self._walk(1 / np.sqrt(1.0 + order)) * worths

    def best(self, most: int) -> list[int]:
        """Return the numbers of at most ``most`` sentences, best first, none similar to another."""
        chosen: list[int] = []
        relevance = self.scores / max(float(self.scores.max(initial=0.0)), 1e-12)
        similarity = np.zeros(self._count)
        free = relevance > 0
        while free.any() and len(chosen) < most:
            worth = RELEVANCE * relevance - (1 - RELEVANCE) * similarity
            one = int(np.argmax(np.where(free, worth, -np.inf)))
            chosen.append(one)
            similarity = np.maximum(similarity, self._similarity_to(one))
            free &= similarity < TOO_SIMILAR
            free[one] = False
        return chosen

    def _walk(self, chances: Numbers) -> Numbers:
        """Return how often the walk visits each sentence; ``chances`` is the restart
        distribution.
        """
        start: Numbers = chances / max(chances.sum(), 1e-12)
        degrees = self._of_others(np.ones(self._count))
        shares = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 1e-9)
        found: Numbers = start
        for _ in range(STEPS):
            found = RESTART * start + (1 - RESTART) * self._of_others(found * shares)
        return found

    def _of_others(self, values: Numbers) -> Numbers:
        """For each sentence, sum the other sentences' values, weighted by cosine."""
        found: Numbers = np.maximum(self._times(self._across(values)) - values, 0.0)
        return found

    def _similarity_to(self, one: int) -> Numbers:
        alone = np.zeros(self._count)
        alone[one] = 1.0
        return self._times(self._across(alone))

    def _across(self, of_rows: Numbers) -> Numbers:
        """Sum over sentences, for each term."""
        return _sums(self._columns, self._weights * of_rows[self._rows], self._width)

    def _times(self, of_terms: Numbers) -> Numbers:
        """Sum over terms, for each sentence."""
        return _sums(self._rows, self._weights * of_terms[self._columns], self._count)


def _vectors(
    sentences: Sequence[str],
) -> tuple[Indexes, Indexes, Numbers, int]:
    """Return sparse rows of length one: tf · ln(1 + n/df)."""
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
    """Sum the values of each group from 0 to ``count``."""
    found: Numbers = np.asarray(np.bincount(groups, values, count), np.float64)
    return found
