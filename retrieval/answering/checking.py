"""Check whether the spans that each sentence of an answer cites support it.

A word-for-word quotation is supported. Otherwise its numbers and names must occur in the spans, and
the sentence must be similar enough to them, by words or by the embedder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import regex

from kb_project.text.terms import terms
from retrieval.answering.citations.citing import Cited, Likeness, texts_of
from retrieval.answering.citations.spans import share, units, weights_of
from retrieval.answering.drafts import Check
from retrieval.answering.quantities import missing_names, missing_numbers
from retrieval.search.hits import Hit

BY: Final = "likeness"
VERDICTS: Final[tuple[str, ...]] = ("supported", "unsupported", "general", "conflict")
GENERAL: Final = Check("general", "marker", 0.0)
QUOTED: Final = Check("supported", "quote")
UNCITED: Final = Check("unsupported", BY, 0.0)

SAME_WORDS: Final = 0.5
"""Weighted share of the sentence that its spans must hold …"""
SOME_WORDS: Final = 0.2
"""… or this much, when the embedder's similarity, from 0 to 1, is at least this …"""
ALIKE: Final = 0.45
ALIKE_BY_ITSELF: Final = 0.3
"""… or this similarity when no words are shared, as between two languages; lower, because sentences
that share a word but differ in meaning are more similar than translations of each other."""
WITHOUT_BEING_ASKED: Final = 0.7
"""Share of a sentence without a marker that a passage must hold to be cited for it."""

_DIGITS: Final = regex.compile(r"\p{N}+(?:[.,]\p{N}+)*")
_NOT: Final = regex.compile(
    r"\b(?:not|never|no|nor|neither|none|without|cannot|nobody|nothing)\b|n['’]t\b|[不没沒未无無非]",
    regex.IGNORECASE,
)
_TELLS_NOTHING: Final = regex.compile(
    r"\b(?:documents?|passages?|sources?|texts?|records?|material|data|context)\b.{0,60}"
    r"\b(?:not|no|nothing|nowhere|neither|never|silent)\b|n['’]t\b.{0,40}\b(?:say|tell|mention)"
    r"|\b(?:not|nowhere|never) (?:said|told|stated|mentioned|given|specified|known from)"
    r"|\b(?:dokumente?n?|quellen?|texte?n?)\b.{0,60}\b(?:nicht|kein\w*)\b"
    r"|(?:文档|文件|资料|材料|文中|原文).{0,20}(?:没有|未|不)",
    regex.IGNORECASE,
)


def check(cited: Cited, likeness: Likeness | None) -> Check | None:
    """Check a sentence; None for headings and for statements that the documents do not say."""
    said = cited.said
    if not said.is_statement:
        return None
    if not cited.places:
        if 0 in said.numbers:
            return GENERAL
        return None if _TELLS_NOTHING.search(said.text) else UNCITED
    text = said.text.strip()
    missing = is_missing(text, cited.places[0][1], cited)
    if cited.is_quote and not missing:
        return QUOTED
    return _by_likeness(text, cited, likeness, is_wrong=missing)


def is_missing(text: str, first: Hit, cited: Cited) -> bool:
    """Return whether the sentence has a number missing from its spans, a name missing from its
    passages, or a negation that its spans lack."""
    spans, headings = " ".join(texts_of(cited)), " ".join((first.title, *first.heading_path))
    passages = " ".join(
        f"{hit.title} {' '.join(hit.heading_path)} {hit.text}" for _, hit, _ in cited.places
    )
    return bool(
        missing_numbers(text, f"{spans} {headings}")
        or missing_names(text, passages)
        or (_NOT.search(text) and not _NOT.search(spans))
    )


def likely_place(text: str, hits: Mapping[int, Hit]) -> int:
    """Return the number of the passage that clearly supports a sentence without a marker, else
    0."""
    weights = weights_of(text, [own for hit in hits.values() for _, own in units(hit.text)])
    best = max(
        ((_best_share(weights, hit), -number) for number, hit in hits.items()), default=(0.0, 0)
    )
    return -best[1] if best[0] >= WITHOUT_BEING_ASKED else 0


def to_compare(cited: Iterable[Cited]) -> list[str]:
    """Return the texts to compare by embedding: sentences that are not quotes, and their spans; all
    sentences of a passage if words do not show which one is meant."""
    found: list[str] = []
    for one in cited:
        if one.is_quote or not one.places:
            continue
        found += [one.said.text.strip(), *texts_of(one)]
        for _, hit, located in one.places:
            if located.share < SOME_WORDS:
                found += [hit.text[start:end] for (start, end), _ in units(hit.text)]
    return found


def counts(checks: Sequence[Check | None]) -> dict[str, int]:
    """Count the sentences of each verdict."""
    found = [one.verdict for one in checks if one is not None]
    return {name: found.count(name) for name in VERDICTS}


def _by_likeness(text: str, cited: Cited, likeness: Likeness | None, *, is_wrong: bool) -> Check:
    spans = texts_of(cited)
    held = frozenset(terms(" ".join(spans)))
    around = frozenset(
        term
        for _, hit, _ in cited.places
        for term in terms(" ".join((hit.title, *hit.heading_path)))
    )
    # Numbers were already compared, in whatever form they are written.
    bare = _DIGITS.sub(" ", text)
    weights = weights_of(bare, [own for _, hit, _ in cited.places for _, own in units(hit.text)])
    words = share(weights, held | around)
    alike = max((likeness(text, span) for span in spans), default=0.0) if likeness else 0.0
    score = min(1.0, max(words, alike))
    if share(weights, held) > 0:
        is_like = words >= SAME_WORDS or (words >= SOME_WORDS and alike >= ALIKE)
    else:
        is_like = alike >= ALIKE_BY_ITSELF
    if is_like and not is_wrong:
        return Check("supported", BY, score)
    return Check("unsupported", BY, min(score, 0.49))


def _best_share(weights: Mapping[str, float], hit: Hit) -> float:
    titled = frozenset(terms(hit.title))
    return max((share(weights, own | titled) for _, own in units(hit.text)), default=0.0)
