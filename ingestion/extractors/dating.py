"""Which period of a sentence belongs to which fact: pure functions over offsets.

A sentence may have several dates, and a date may be about something else in it. A period belongs to
a fact if nothing that starts another statement stands between it and the name the fact is about: no
subordinate clause, no *and* with a verb, no bracket. Of several, the closest does. A fact without a
verb, such as *X, director of Y from 1990 to 1995*, has only a period that directly follows. Only
what is stated has a period; names that merely occur together have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import regex

from ingestion.extractors.extraction import (
    ORGANIZATION,
    STATED,
    Extraction,
    FoundClaim,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.periods import Period, begins_state, periods_in
from kb_project.text.sentences import sentence_spans

NAME_SIGN: Final = "\ue000"
"""Stands for a character of a name: a private one, which no text uses."""
# What begins another statement.
_OTHER: Final = regex.compile(
    r"[;:；：。()（）\[\]]|\s[-–—]\s|——|\b(?:who|whom|whose|which|where|when|while|although|though|because|that"
    r"|after|before|until|later|then|having|if|whereas|but)\b|后来|随后|然后|之后|此后",
    regex.IGNORECASE,
)
# *and* that joins more than names: *and died*, unlike *and the Harbour Board*.
_AND: Final = regex.compile(
    rf"\b(?:and|or)\b,?\s*+(?!(?:(?:the|a|an|of|in|at|for)\s+)*{NAME_SIGN})"
)
_COMMA: Final = regex.compile(rf"[,，、](?!\s*(?:and\s+)?(?:the\s+)?{NAME_SIGN})")
_OPENS: Final = regex.compile(
    r"(?:^|[;:,，；。]|\b(?:and|but|while|that)\b)\W*(?:\p{L}+ly\s+|then\s+|later\s+|(?:and|but)\s+)?$",
    regex.IGNORECASE,
)
_BRACKET: Final = regex.compile(r"\s?[(（]\s?")
_VERB: Final = regex.compile(
    r"\b(?:is|are|was|were|be|been|being|has|had|have|\p{Ll}+ed|led|built|wrote|written|won|made|took|taken"
    r"|held|gave|given|became|become|began|begun|left|met|sold|bought|sent|went|came|ran|fell|lost|found"
    r"|grew|drew|flew|chose|chosen|fought|taught|brought|saw|seen|spoke|sang|shot|cut|cast|paid|laid"
    r"|stood|kept|told|broke|struck|born|leads|heads|chairs|runs|owns|serves|works|lives|directs)\b"
    r"|\p{Han}"
)
_KIN: Final = regex.compile(
    r"\b(?:son|daughter|brother|sister|father|mother|wife|husband|widow|child|cousin|nephew|niece"
    r"|grand\w+|born|married)\b"
)
_INNER_VERB: Final = regex.compile(
    r"\b(?:\p{Ll}{2,}ed|\p{Ll}{3,}ing|built|made|held|written|won)\b"
)
_AROUND_EVENT: Final = regex.compile(
    r"\b(?:prior|before|after|following|until)\b|^(?:located|situated)\b", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage whose text begins at ``start`` of its document, with what was found in it."""

    text: str
    start: int
    extraction: Extraction

    def of_relation(self, relation: FoundRelation) -> Period | None:
        """The period of a stated fact; its quote is counted from the passage's start."""
        if relation.kind != STATED or not self.text:
            return None
        mentions = self.extraction.mentions
        span = (relation.start, relation.end)
        found = self._nearest(span, mentions[relation.target], relation.predicate)
        return opened(found, relation.predicate)

    def dated(self, claim: FoundClaim) -> FoundClaim:
        """The claim, with the period of its quote where a model gave none."""
        if claim.period_start or claim.period_end or not self.text:
            return claim
        period = self.of_claim(claim)
        if period is None:
            return claim
        return replace(claim, period_start=period.start, period_end=period.end)

    def of_claim(self, claim: FoundClaim) -> Period | None:
        """The period of a claim; one without an object is about all of its quote."""
        span = (claim.start, claim.end)
        if claim.object is not None:
            about = self.extraction.mentions[claim.object]
            return opened(self._nearest(span, about, claim.description), claim.description)
        start, end = self._sentence(span)
        found = periods_in(self.text[start:end], self._names(start, end))
        return opened(_moved(found[0], start), claim.description) if len(found) == 1 else None

    def _nearest(
        self, span: tuple[int, int], target: FoundMention, predicate: str
    ) -> Period | None:
        start, end = self._sentence(span)
        sentence = self.text[start:end]
        found = periods_in(sentence, self._names(start, end))
        if not found or _AROUND_EVENT.search(predicate):
            return None
        masked = _masked(sentence, self._names(start, end))
        place = (target.start - self.start - start, target.end - self.start - start)
        if place[0] < 0 or place[1] > len(sentence):
            return _moved(found[0], start) if len(found) == 1 else None
        if _VERB.search(predicate):
            is_group = target.type == ORGANIZATION and not _KIN.search(predicate)
            fitting = [one for one in found if belongs(one, place, masked, is_group=is_group)]
        else:
            fitting = [one for one in found if follows(one, place, masked)]
        if not fitting:
            return None
        return _moved(min(fitting, key=lambda one: _distance(one, place)), start)

    def _sentence(self, span: tuple[int, int]) -> tuple[int, int]:
        """The whole sentences that a quote is from: a model may have quoted half of one."""
        start, end = span[0] - self.start, span[1] - self.start
        touched = [one for one in _sentences(self.text) if one[0] < end and start < one[1]]
        return (touched[0][0], touched[-1][1]) if touched else (start, end)

    def _names(self, start: int, end: int) -> list[tuple[int, int]]:
        first = self.start + start
        return [
            (max(one.start - first, 0), one.end - first)
            for one in self.extraction.mentions
            if one.start < self.start + end and first < one.end
        ]


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Kept, since a passage is asked for each of its relationships."""
    return tuple(sentence_spans(text))


def belongs(
    period: Period, name: tuple[int, int], sentence: str, *, is_group: bool = False
) -> bool:
    """Whether a period is said of what the name at these offsets is part of.

    The letters of names are masked in ``sentence``. Years in brackets are a membership's behind the
    name of an organisation (``is_group``); behind others they are a life's.
    """
    if period.quote_start >= name[1]:
        between = sentence[name[1] : period.quote_start]
        if _BRACKET.fullmatch(between):
            return is_group and max(len(period.start), len(period.end)) == len("1902")
        if _is_life(period, sentence):
            return False
        return not _parts(between.rstrip(" ,，")) and not _INNER_VERB.search(between)
    if _is_life(period, sentence):
        return False
    between = sentence[period.quote_end : name[0]]
    leads = _OPENS.search(sentence[: period.quote_start]) is not None
    return not (_parts(between, ignoring_commas=True) if leads else _parts(between))


def _is_life(period: Period, sentence: str) -> bool:
    """Whether it is, or is part of, *(Munich, 19 April 1722 – 6 August 1770)*."""
    opens = max(map(sentence[: period.quote_start].rfind, "(（"))
    closes = min((sentence + ")").find(")", period.quote_end), len(sentence))
    if opens < 0 or opens < max(map(sentence[: period.quote_start].rfind, ")）")):
        return False
    inside = sentence[opens : period.quote_start] + sentence[period.quote_end : closes]
    return not period.is_point or any(dash in inside for dash in "-–—")


def follows(period: Period, name: tuple[int, int], sentence: str) -> bool:
    """Whether a period with a beginning or an end directly follows a name: *of Y since 1990*."""
    between = sentence[name[1] : period.quote_start]
    return not period.is_point and period.quote_start >= name[1] and not between.strip(" ,")


def opened(period: Period | None, words: str) -> Period | None:
    """A state that began at a point in time holds from then on, unless the text says otherwise."""
    if period is None or not period.is_point or not begins_state(words):
        return period
    return Period(period.start, "", period.quote_start, period.quote_end)


def _parts(between: str, *, ignoring_commas: bool = False) -> bool:
    """Whether words begin another statement."""
    if _OTHER.search(between) or _AND.search(between):
        return True
    return not ignoring_commas and _COMMA.search(between) is not None


def _masked(sentence: str, names: Sequence[tuple[int, int]]) -> str:
    letters = list(sentence)
    for start, end in names:
        letters[start:end] = NAME_SIGN * (min(end, len(letters)) - start)
    return "".join(letters)


def _distance(period: Period, name: tuple[int, int]) -> int:
    return max(period.quote_start - name[1], name[0] - period.quote_end)


def _moved(period: Period, by: int) -> Period:
    return Period(period.start, period.end, period.quote_start + by, period.quote_end + by)
