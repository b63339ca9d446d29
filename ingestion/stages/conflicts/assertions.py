"""Read from a sentence what it asserts of its subject: when something happened, how much, who.

Only plain sentences are read, whose subject is named first and whose value follows directly:
*The Great Lens was relit on 21 September 2024.* A sentence that hedges, denies, quotes others or
speaks of plans asserts nothing. Rules rather than a parser: a rule that finds little is worth more
here than one that finds what no one disputes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from ingestion.stages.conflicts import lexicon
from kb_project.text.values import NAME, Value, dates_in, names_in
from kb_project.text.words import lazy_pattern, terms

LIVES: Final = ("date born", "date died")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a sentence: its span there, the key and type of its entity."""

    start: int
    end: int
    key: str
    type: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a sentence says of its subject.

    ``about`` identifies the attribute, ``label`` says it. ``written`` is the value as written.
    ``names`` are other names in the clause, ``said`` the terms that qualify the value, and
    ``period`` the dates for which it holds. ``is_once`` if it can happen only once.
    """

    about: str
    label: str
    value: Value
    written: str
    names: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    period: frozenset[str] = frozenset()
    is_once: bool = True
    type: str = ""

    def disagrees(self, other: Assertion) -> bool:
        """Return whether both cannot hold."""
        if self.about != other.about or self.value.agrees(other.value):
            return False
        is_qualified_alike = (
            self.period == other.period
            and (self.said <= other.said or other.said <= self.said)
            and (self.names <= other.names or other.names <= self.names)
        )
        if not is_qualified_alike or self.type != other.type:
            return False
        return not self.is_of_another(other) and (
            self.is_once or self.value.is_close_day(other.value)
        )

    def is_of_another(self, other: Assertion) -> bool:
        """Return whether the two give dates of two people's lives."""
        is_of_lives = self.about == other.about and self.about in LIVES
        return is_of_lives and self.value.years_from(other.value) > lexicon.LIFETIME


_WEEKDAY: Final = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s+)?"
_MONTH: Final = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE: Final = (
    rf"(?P<date>\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+[12]\d{{3}}"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+[12]\d{{3}}"
    rf"|{_MONTH},?\s+[12]\d{{3}}|[12]\d{{3}}-\d\d-\d\d|[12]\d{{3}})"
    # Not a decade, a range, or one of several.
    r"(?!\s*[-–—/]\s*\d|['’]?s\b|\.?\d|\s+(?:or|and|to|until)\s+(?:\p{Lu}\p{Ll}+\s+)?\d|\p{L})"
)
_ADVERBS: Final = rf"(?:(?:{lexicon.ADVERBS})\s+){{0,2}}"
_EVENT: Final = lazy_pattern(
    rf"(?P<be>(?:was|were|is|are|has been|had been)\s+)?{_ADVERBS}(?P<verb>\p{{Ll}}+)"
    r"(?P<between>(?:\s+(?:by|at|in|near|to|as|with|under|for|before|into|off|from|for the first"
    r" time)\s+(?:[^,;:()\n]|(?<=\d):(?=\d)){1,60}?){0,3}?)"
    rf"\s+(?:in|on)\s+(?:the\s+)?{_WEEKDAY}{_DATE}"
)
_UNDATED: Final = lazy_pattern(
    rf"(?P<be>(?:was|were|has been|had been)\s+)?{_ADVERBS}(?P<verb>\p{{Ll}}+)(?=\s|$)"
)
_LEADING_DATE: Final = lazy_pattern(rf"^\W{{0,3}}(?:In|On)\s+{_WEEKDAY}{_DATE},?\s+(?:the\s+)?$")
_AGENT: Final = lazy_pattern(
    rf"(?:was|were|is|are)\s+{_ADVERBS}(?P<verb>\p{{Ll}}+)\s+(?P<by>by|in|at)\s+(?:the\s+)?"
)
_UNIT: Final = "|".join(sorted(map(regex.escape, lexicon.UNITS), key=len, reverse=True))
_NUMBERS: Final = "|".join(sorted(lexicon.NUMBERS, key=len, reverse=True))
_AMOUNT: Final = (
    r"(?P<sign>[€$£]\s?)?(?P<amount>\d+(?:[.,\u00a0\u202f]\d+)*"
    rf"|{_NUMBERS})"
    r"(?:[\s-](?P<times>hundred|thousand|million|billion)\b)?"
    # Not a range, or one of several.
    r"(?!\s*[-–—/]\s*\d|\s+(?:or|to)\s+\d|\p{L}|[.,]?\d)"
)
_MEASURE: Final = lazy_pattern(
    rf"(?P<verb>is|was|are|were|measures|measured|weighs|weighed)\s+{_AMOUNT}"
    rf"[\s-]?(?P<unit>{_UNIT})\b\.?(?:\s+(?:in\s+)?(?P<how>{lexicon.DIMENSIONS})\b)?"
)
_COST: Final = lazy_pattern(
    rf"(?P<verb>costs?)\s+{_AMOUNT}(?:\s(?P<unit>euros?|EUR|dollars?|USD|GBP)\b)?"
)
_COUNT: Final = lazy_pattern(
    rf"(?P<verb>{lexicon.HAVE}|\p{{Ll}}{{3,}}(?:ed|s))\s+(?:a\s+total\s+of\s+|exactly\s+|just\s+)?{_AMOUNT}\s+"
    rf"(?P<noun>(?!(?:{lexicon.NO_NOUN})\b)\p{{Ll}}+(?:[\s-](?!(?:{lexicon.NO_NOUN})\b)\p{{Ll}}+){{0,2}})"
)
_HAS_A: Final = lazy_pattern(
    r"(?P<verb>has|had|have)\s+an?\s+(?P<noun>(?:\p{Ll}+\s+){1,3})"
    rf"of\s+{_AMOUNT}(?:[\s-]?(?P<unit>{_UNIT})\b)?"
)
_OF_IT: Final = regex.compile(r"(?:The|Its|the)\s+(?P<noun>(?:\p{Ll}+\s+){1,3})of\s+(?:the\s+)?$")
_IS_AMOUNT: Final = lazy_pattern(
    rf"\s+(?P<verb>is|was|are|were)\s+{_AMOUNT}(?:[\s-]?(?P<unit>{_UNIT})\b)?"
)
_IS_NAME: Final = regex.compile(r"\s+(?P<verb>is|was)\s+(?:the\s+)?")
_LIVED: Final = lazy_pattern(
    rf"\s*\(\s*(?:(?P<verb>born|died|b\.|d\.)\s+{_ADVERBS}(?:on\s+|in\s+)?{_DATE})"
)
_LIFE: Final = lazy_pattern(
    rf"\s*\(\s*{_DATE.replace('?P<date>', '?P<born>').partition('(?!')[0]}\s*[-–—]\s*"
    rf"{_DATE.replace('?P<date>', '?P<died>').partition('(?!')[0]}\s*\)"
)
_MADE: Final = lazy_pattern(
    rf"\p{{Lu}}\S+\s+{_ADVERBS}(?P<verb>founded|established|built|invented|composed|incorporated)"
    r"\s+(?:the\s+)?$"
)
_WHEN: Final = lazy_pattern(rf"[^,;:.()]{{0,40}}?,?\s+(?:in|on)\s+{_WEEKDAY}{_DATE}")
_BRACKETS: Final = regex.compile(r"\s*\([^()]*\)")
_ASIDE: Final = regex.compile(r",\s(?!and\b)[^,;:.()]{2,80},")
_JOINED: Final = regex.compile(r",?\s+and\s+(?:it\s+|he\s+|she\s+)?|,\s+")
_LEADS_IN: Final = regex.compile(
    r"(?:In|As of|By|On|Since|At the end of|During)\s+[^,;:]{2,30}(?:,|(?<=\d))\s+(?:the\s+)?"
)
_STARTS: Final = regex.compile(r"[\W\d_]{0,6}(?:The\s+)?")
_CLAUSE_END: Final = regex.compile(
    r"[;:.]\s|[;:.]$|,\s|\s+(?:and|but|while|when|where|which|who)\s"
)
_UNSURE: Final = lazy_pattern(lexicon.UNSURE, regex.IGNORECASE)
_SPACE: Final = regex.compile(r"\s+")


def assertions(sentence: str, subject: Name, names: Sequence[Name]) -> Iterator[Assertion]:
    """Yield what the sentence asserts of ``subject``, one of its ``names``."""
    if _UNSURE.search(sentence) or "?" in sentence:
        return
    before = sentence[: subject.start]
    lead = _LEADS_IN.match(before)
    noun = _OF_IT.search(before)
    rest = lead.end() if lead else 0
    period = dates_in(before)
    if noun and _STARTS.fullmatch(before[rest : noun.start()]):
        yield from _of_noun(sentence, noun["noun"], subject, names, period)
    elif made := _MADE.search(before):
        yield from _made(sentence, made["verb"], subject)
    elif _STARTS.fullmatch(before[rest:]):
        yield from _of_clauses(sentence, subject, names, period)


def continued(sentence: str, key: str, kind: str) -> Name | None:
    """Return the pronoun that a sentence begins with, as a name of the subject before it."""
    match = lexicon.PRONOUN.match(sentence)
    return Name(match.start(1), match.end(1), key, kind) if match else None


def _of_clauses(
    sentence: str, subject: Name, names: Sequence[Name], period: frozenset[str]
) -> Iterator[Assertion]:
    at, before = subject.end, sentence[: subject.start]
    yield from _of_brackets(sentence, at)
    for skipped in (_BRACKETS, _ASIDE):
        if match := skipped.match(sentence, at):
            at = match.end()
    while at < len(sentence) and (gap := _SPACE.match(sentence, at)):
        clause = _CLAUSE_END.search(sentence, gap.end())
        end = clause.start() if clause else len(sentence)
        yield from _of_clause(sentence, gap.end(), end, names, period, before)
        joined = _JOINED.match(sentence, end)
        if joined is None:
            return
        at, before = joined.end() - 1, ""


def _made(sentence: str, verb: str, subject: Name) -> Iterator[Assertion]:
    """Yield when the subject was founded: *Agnes Tulloch founded the Society on 11 May 1987.*"""
    if match := _WHEN.match(sentence, subject.end):
        yield _event(verb, match["date"])


def _of_brackets(sentence: str, at: int) -> Iterator[Assertion]:
    """Yield what stands behind a name: (born 12 May 1903), (1903 – 1980)."""
    if match := _LIFE.match(sentence, at):
        for verb in ("born", "died"):
            yield _event(verb, match[verb])
    elif match := _LIVED.match(sentence, at):
        verb = "born" if match["verb"].startswith("b") else "died"
        yield _event(verb, match["date"])


def label_of(verb: str) -> str:
    """
    >>> label_of("born"), label_of("relit")
    ('date of birth', 'when it was relit')
    """
    was = "" if verb in lexicon.ACTIVE else "was "
    return lexicon.LABELS.get(verb, f"when it {was}{verb}")


def _event(verb: str, written: str) -> Assertion:
    [date] = sorted(dates_in(written), key=len)[-1:]
    return Assertion(f"date {verb}", label_of(verb), Value.date(*date.split()), written)


def _of_clause(
    sentence: str, start: int, end: int, names: Sequence[Name], period: frozenset[str], before: str
) -> Iterator[Assertion]:
    clause = sentence[start:end]
    inside = frozenset(one.key for one in names if start <= one.start < end)
    if match := _EVENT.match(clause):
        yield from _happened(match, clause, inside)
    elif (match := _UNDATED.match(clause)) and (date := _LEADING_DATE.search(before)):
        yield from _happened(match, clause, inside, date["date"])
    for pattern in (_MEASURE, _COST, _HAS_A, _COUNT):
        if match := pattern.match(clause):
            found = match.groupdict() | ({"verb": ""} if pattern is _HAS_A else {})
            yield from _amount(found, clause[match.end() :], period)
            return
    if match := _AGENT.match(clause):
        yield from _by_whom(match, start, end, names, sentence)


def _happened(
    match: regex.Match[str], clause: str, names: frozenset[str], written: str = ""
) -> Iterator[Assertion]:
    written = written or match["date"]
    verb, is_passive = match["verb"], bool(match["be"])
    is_verb = verb in lexicon.ONCE or (is_passive and lexicon.PARTICIPLE.fullmatch(verb))
    if not is_verb or (not is_passive and verb not in lexicon.ACTIVE) or verb in lexicon.REPEATED:
        return
    [date] = sorted(dates_in(written), key=len)[-1:] or [""]
    if date:
        qualified = names_in(clause[match.end("verb") :]) if verb in lexicon.REGIONAL else names
        yield Assertion(
            f"date {verb}",
            label_of(verb),
            Value.date(*date.split()),
            written,
            names=frozenset(qualified) if verb not in lexicon.REGIONAL else frozenset(),
            said=frozenset(qualified) if verb in lexicon.REGIONAL else frozenset(),
            is_once=verb in lexicon.ONCE,
        )


def _amount(
    found: Mapping[str, str | None], after: str, period: frozenset[str]
) -> Iterator[Assertion]:
    """Yield an amount; ``found`` are the groups of a pattern, ``after`` what follows it."""
    verb, noun, unit = (found.get(one) or "" for one in ("verb", "noun", "unit"))
    sign, how = (found.get("sign") or "").strip(), found.get("how") or ""
    factor, dimension = lexicon.UNITS.get(unit or sign, (1.0, unit or sign))
    if unit and not noun and not how and dimension not in lexicon.PLAIN:
        return
    dates = dates_in(after)
    written, times = str(found["amount"]), found.get("times") or ""
    amount, precision = number_of(written, times)
    about, label = _measured(verb, " ".join(noun.split()), lexicon.MEASURED.get(how or verb, how))
    yield Assertion(
        f"amount {about} {lexicon.TENSES.get(verb, '')}".strip(),
        label,
        Value.number(amount * factor, precision * factor, dimension, unit or sign),
        f"{sign}{' '.join(part for part in (written, times, unit) if part)}",
        said=frozenset(terms(after)) - {part for one in dates for part in one.split()},
        period=period | dates,
    )


def _measured(verb: str, noun: str, measured: str) -> tuple[str, str]:
    """Return what an amount is about, and that in words."""
    if measured or not verb:
        return " ".join(terms(measured or noun)), measured or noun
    stem = lexicon.STEMS.get(verb, verb)
    return " ".join((stem, *terms(noun))), f"number of {noun}" if noun else verb


def number_of(written: str, times: str = "") -> tuple[float, float]:
    """Return a number and its precision: that of its last digit that is not a zero.

    >>> number_of("1,200"), number_of("3.5", "million"), number_of("40")
    ((1200.0, 100.0), (3500000.0, 100000.0), (40.0, 1.0))
    """
    times_ = lexicon.TIMES.get(times, 1)
    if written in lexicon.NUMBERS:
        return float(lexicon.NUMBERS[written] * times_), float(times_)
    bare = regex.sub(r"(?<=\d)[,.\u00a0\u202f](?=\d{3}(?:\D|$))", "", written).replace(",", ".")
    whole, _, fraction = bare.partition(".")
    if fraction:
        return float(bare) * times_, 10.0 ** -len(fraction) * times_
    zeros = len(whole) - len(whole.rstrip("0")) if int(whole) >= lexicon.ROUND else 0
    return float(whole) * times_, 10.0**zeros * times_


def _of_noun(
    sentence: str, noun: str, subject: Name, names: Sequence[Name], period: frozenset[str]
) -> Iterator[Assertion]:
    """Yield what the sentence says of the subject's height, capital, …"""
    topic = terms(noun)
    if not topic or noun.split()[-1] in lexicon.NOT_ONE:
        return
    if match := _IS_AMOUNT.match(sentence, subject.end):
        clause = _CLAUSE_END.search(sentence, match.end())
        after = sentence[match.end() : clause.start() if clause else None]
        yield from _amount(match.groupdict() | {"noun": noun, "verb": ""}, after, period)
    elif match := _IS_NAME.match(sentence, subject.end):
        named = next((one for one in names if one.start == match.end()), None)
        if named:
            yield Assertion(
                f"name {' '.join(topic)} {match['verb']}",
                noun.strip(),
                Value(NAME, (named.key,)),
                sentence[named.start : named.end],
                period=period | dates_in(sentence[named.end :]),
                type=named.type,
            )


def _by_whom(
    match: regex.Match[str], start: int, end: int, names: Sequence[Name], sentence: str
) -> Iterator[Assertion]:
    verb, by = match["verb"], match["by"]
    if verb not in (lexicon.BY if by == "by" else lexicon.IN):
        return
    first = start + match.end()
    named = [one for one in names if first <= one.start < end]
    if not named or named[0].start != first or len(named) > 1 or end >= len(sentence):
        return
    if regex.match(r",\s*\p{Lu}|\s+and\s+\p{Lu}", sentence[end:]):
        return
    [one] = named
    yield Assertion(
        f"name {verb} {by}",
        f"{verb} {by}",
        Value(NAME, (one.key,)),
        sentence[one.start : one.end],
        period=dates_in(sentence[one.end : end]),
        type=one.type,
    )
