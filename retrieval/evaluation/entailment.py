"""Decide whether a text states a claim, without a language model: by words, numbers and vectors.

A claim is compared with every window of up to ``WINDOW`` sentences. Words alone decide if nearly
all are there; if half of them are, the vectors must agree too. A name or number of the claim that
the text lacks, and a *not* on one side only, decide against it. Good enough to compare two systems
on one set; it knows nothing of synonyms, or of who did what to whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import regex

from kb_project.llm.ports import Embedder, Vectors
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms

WINDOW: Final = 2
ENOUGH: Final = 0.8
"""Share of the claim's terms that suffices alone."""
HALF: Final = 0.5
ALIKE: Final = 0.95
"""Cosine at which half of the terms suffice. With E5 vectors, sentences about other things have
0.8, those that say something else about the same thing up to 0.94, paraphrases 0.92 to 0.98."""
MOST_CLAIMS: Final = 20

_NUMBER: Final = regex.compile(r"\p{N}[\p{N}.,]*(?<=\p{N})")
_NOT: Final = regex.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without)\b|n['’]t\b|不|没|未|無|无",
    regex.IGNORECASE,
)
# Capitalised words, except a single one at the start of the text: it need not be a name.
_NAME: Final = regex.compile(r"(?<=\S\s+)\b\p{Lu}[\p{L}'’-]*|^\W*\p{Lu}\p{L}+(?:\s+\p{Lu}\p{L}+)+")
_CLAUSE: Final = regex.compile(r";\s+|；")
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text, reduced to what entailment compares."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    denies: bool


def claims_in(answer: str) -> list[str]:
    """Return the sentences, split at semicolons.

    >>> claims_in("It opened in 1890; it closed in 1950. Nobody knows why.")
    ['It opened in 1890', 'it closed in 1950.', 'Nobody knows why.']
    """
    sentences = (answer[start:end] for start, end in sentence_spans(answer))
    clauses = (" ".join(part.split()) for one in sentences for part in _CLAUSE.split(one))
    return [clause for clause in clauses if _WORD.search(clause)][:MOST_CLAIMS]


def windows(text: str) -> list[str]:
    """Return every run of one to ``WINDOW`` sentences.

    >>> windows("One. Two. Three.")
    ['One.', 'One. Two.', 'Two.', 'Two. Three.', 'Three.']
    """
    spans = sentence_spans(text)
    return [
        text[spans[first][0] : spans[last][1]]
        for first in range(len(spans))
        for last in range(first, min(first + WINDOW, len(spans)))
    ]


def said_in(text: str) -> Said:
    numbers = frozenset(found.replace(",", "") for found in _NUMBER.findall(text))
    names = frozenset(terms(" ".join(found[0] for found in _NAME.finditer(text))))
    return Said(text, frozenset(terms(text)), names, numbers, _NOT.search(text) is not None)


def coverage(claim: Said, window: Said) -> float:
    """Return the share of the claim's terms in the window; 0 if a name, number or *not* differs.

    >>> coverage(said_in("The lamp burns oil"), said_in("Whale oil burns in the lamp."))
    1.0
    >>> coverage(said_in("Ada Lind keeps the light"), said_in("Per Holm keeps the light."))
    0.0
    >>> coverage(said_in("It was lit in 1869"), said_in("It was lit in 1896"))
    0.0
    """
    is_other = claim.numbers - window.numbers or claim.names - window.terms
    if not claim.terms or is_other or claim.denies != window.denies:
        return 0.0
    return len(claim.terms & window.terms) / len(claim.terms)


def entailed(claims: Sequence[str], texts: Sequence[str], embedder: Embedder) -> list[list[bool]]:
    """Return for each claim whether each text entails it. Call outside transactions."""
    said = [said_in(claim) for claim in claims]
    shown = [[said_in(window) for window in windows(text)] for text in texts]
    open_pairs = [
        (row, column, window.text)
        for row, claim in enumerate(said)
        for column, inside in enumerate(shown)
        for window in inside
        if HALF <= coverage(claim, window) < ENOUGH
    ]
    alike = _likeness(claims, open_pairs, embedder)
    return [
        [
            any(coverage(claim, window) >= ENOUGH for window in inside)
            or alike.get((row, column), 0.0) >= ALIKE
            for column, inside in enumerate(shown)
        ]
        for row, claim in enumerate(said)
    ]


def _likeness(
    claims: Sequence[str], pairs: Sequence[tuple[int, int, str]], embedder: Embedder
) -> dict[tuple[int, int], float]:
    """Return each claim and text's best cosine over the windows that words leave undecided."""
    if not pairs:
        return {}
    places = {text: place for place, text in enumerate(dict.fromkeys(text for *_, text in pairs))}
    asked = sorted({row for row, *_ in pairs})
    vectors: Vectors = embedder.embed_passages([*places, *(claims[row] for row in asked)])
    own = {row: vectors[len(places) + place] for place, row in enumerate(asked)}
    found: dict[tuple[int, int], float] = {}
    for row, column, text in pairs:
        cosine = float(np.dot(own[row], vectors[places[text]]))
        found[row, column] = max(cosine, found.get((row, column), -1.0))
    return found
