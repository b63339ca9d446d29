"""Whether a quote speaks of what a fact connects: names both, or refers to what was named before.

A name counts by any of its words and by its initials, in the sentences that the quote belongs to.
What they do not name must be named earlier in the passage: each by a word that refers (*she*, *the
company*), or in the sentence before. What the passage never names, such as a translated name,
cannot be checked and passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex
from django.utils.functional import cached_property

from ingestion.extractors.mentions import stands_for
from ingestion.extractors.model.locate import Folded, Span, folded, occurs
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import is_unspaced

SHORTEST_WORD: Final = 3
"""Letters of a word that is taken for its name."""
_WORD: Final = regex.compile(r"[\p{L}\p{N}]+")
_SMALL: Final = frozenset("the and for with from into von van der den del des los las les".split())
_LETTERS: Final = regex.compile(r"(?<!\p{L})(?:\p{Lu}\.?){2,8}(?!\p{L})")
_REFERS: Final = regex.compile(
    r"\b(?:he|him|his|himself|she|hers?|herself|it|its|itself|they|them|theirs?|themselves"
    r"|who|whom|whose|which|that|this|these|those|such|one|both|each|former|latter|same|other"
    r"|another|i|me|my|mine|myself|we|us|ours?|yours?|you|there|here|the|said"
    # German, French and Spanish
    r"|er|ihn|ihm|sein\w*|sie|ihr\w*|es|d(?:er|ie|as|en|em)|dies\w*|jen\w*|ich|mein\w*|wir|uns\w*"
    r"|ils?|elles?|lui|leurs?|son|sa|ses|l[ea]s?|ce\w*|qui|je|nous|él|ell[ao]s?|sus?|el|los|que)\b",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class Passage:
    text: Folded

    @cached_property
    def sentences(self) -> Sequence[Span]:
        return sentence_spans(self.text.original)

    def supports(self, quote: Span, *ends: str) -> bool:
        """Whether the quote names the ends, or refers to those that it does not name."""
        start, end = self._sentences_of(quote)
        said = self.text.original[start:end]
        left = [one for one in ends if not is_named(one, said)]
        left = [one for one in left if is_named(one, self.text.original)]
        if not left:
            return True
        refers = is_unspaced(said[:1]) or len(_REFERS.findall(said)) >= len(left)
        before = self.text.original[0 if refers else self._sentence_before(start) : start]
        return all(is_named(one, before) for one in left)

    def _sentences_of(self, quote: Span) -> Span:
        touched = [one for one in self.sentences if one[0] < quote[1] and quote[0] < one[1]]
        return (touched[0][0], touched[-1][1]) if touched else quote

    def _sentence_before(self, start: int) -> int:
        return max((one[0] for one in self.sentences if one[1] <= start), default=start)


def is_named(name: str, text: str) -> bool:
    """Whether a text has the name, one of its words, or its initials.

    >>> is_named("Ebenezer Scrooge", "Old Scrooge sat busy."), is_named("Bo Strand", "He sold oil.")
    (True, False)
    >>> is_named("Magnus Okafor", "They asked M.O."), is_named("杭州联络处", "联络处成立于1999年。")
    (True, True)
    """
    plain = folded(text)
    if occurs(name, plain):
        return True
    if name and is_unspaced(name[0]):
        return any(name[place : place + 2] in text for place in range(len(name) - 1))
    words = (word for word in _WORD.findall(name) if len(word) >= SHORTEST_WORD)
    if any(word.lower() not in _SMALL and occurs(word, plain) for word in words):
        return True
    return stands_for(name, text) or any(
        stands_for(letters, name) for letters in _LETTERS.findall(text)
    )
