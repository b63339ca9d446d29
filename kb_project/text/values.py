"""Values that statements give: dates, quantities, names, negations, and whether two of them agree.

A value's key identifies it wherever it is written: *3 May 1950* and *1950-05-03* have one key.

ISO 8601 dates of any precision (2019, 2019-05, 2019-05-03) sort as text: a shorter one comes before
all it contains, and with ``~`` behind it, after them. So a period is compared with a date without
knowing the precision of either.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from typing import Final, Self

import regex

from kb_project.text.languages import MONTHS
from kb_project.text.words import terms

_NUMBER: Final = regex.compile(r"\p{Nd}+(?:[.,\u00a0\u202f']\p{Nd}+)*")
_THOUSANDS: Final = regex.compile(r"(?<=\d)[,.\u00a0\u202f'](?=\d{3}(?:\D|$))")
_LISTED: Final = regex.compile(r"^\s*\p{Nd}{1,3}[.)]\s+")
_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {"twice": "2", "dozen": "12", "hundred": "100", "thousand": "1000"}
SPELT_OTHERWISE: Final = {
    spelt: other
    for word, number in list(_WORDS.items())[2:21]
    for spelt, other in ((terms(word)[0], number), (number, terms(word)[0]))
}
"""Index terms of small numbers in words and figures, by each other; *one* is mostly no number."""
_MONTHS: Final = {name: str(number) for number, name in enumerate(MONTHS, start=1)}
_SHORT_MONTHS: Final = {name[:3]: number for name, number in _MONTHS.items()}
_MONTH: Final = (
    rf"(?:{'|'.join(MONTHS)}"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?!\p{L})\.?"
)
_DATE: Final = regex.compile(
    rf"(?<!\p{{N}})(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})(?:,?\s+(?P<y1>[12]\d{{3}}))?"
    rf"|(?<!\p{{L}})(?P<m2>{_MONTH})(?:\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(?P<y2>[12]\d{{3}}))?"
    r"|(?P<y3>[12]\d{3})[-/年](?P<m3>\d{1,2})[-/月](?P<d3>\d{1,2})日?"
    r"|(?P<y4>[12]\d{3})(?![.,]?\p{N}))(?!\p{N})",
    regex.IGNORECASE,
)
_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_HAN_NUMBER: Final = regex.compile(r"[〇零一二三四五六七八九十百千万亿两]")
_CAPITALISED: Final = regex.compile(
    r"(?<![\p{L}\p{N}_])(?:\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’\-]\p{L}+)*)"
)
_BEGINS: Final = regex.compile(r"(?:^|[.!?:;…]\s|\n)[\s\"'“‘«(*_>\-–—•]*$")
_NOT: Final = regex.compile(
    r"\b(?:not|never|no|nor|neither|none|without|cannot|nobody|nothing)\b|n['’]t\b|[不没沒未无無非]",
    regex.IGNORECASE,
)
_NOUNS_ARE_CAPITALISED: Final = regex.compile(
    r"\b(?:der|die|das|und|ist|ein|eine|einen|dem|den|nicht|wurde|mit)\b", regex.IGNORECASE
)


def denies(text: str) -> bool:
    """Return whether the text has a negation."""
    return _NOT.search(text) is not None


def numbers_in(text: str) -> frozenset[str]:
    """
    >>> sorted(numbers_in("On 05.11. it cost 1,200.50 or 3?"))
    ['1200.50', '3', '5.11']
    """
    bare = _LISTED.sub("", text)
    return frozenset(_plain(match.group()) for match in _NUMBER.finditer(bare))


def numbers_mentioned(text: str) -> frozenset[str]:
    """Return all numbers in the text, including parts of numbers, number words and months."""
    mentioned = set(numbers_in(text))
    for number in _NUMBER.findall(text):
        mentioned |= {part.lstrip("0") or "0" for part in regex.split(r"\D", number) if part}
    for word in _WORD.findall(text.lower()):
        number = _WORDS.get(word) or _MONTHS.get(word) or _SHORT_MONTHS.get(word)
        if number:
            mentioned.add(number)
    return frozenset(mentioned)


def missing_numbers(sentence: str, source: str) -> frozenset[str]:
    """Return the sentence's numbers that the source does not have."""
    if _HAN_NUMBER.search(source) and not _NUMBER.search(source):
        return frozenset()
    return numbers_in(sentence) - numbers_mentioned(source)


def missing_names(sentence: str, source: str) -> frozenset[str]:
    """Return terms of capitalised words that the source lacks.

    Returns none if nouns are capitalised too or the source is in another script.

    >>> sorted(missing_names("The keeper Ada Lind left Orran.", "Ada Lind left Skarrow."))
    ['orran']
    """
    letters = _WORD.findall(source)
    cased = sum(len(word) for word in letters if word.lower() != word.upper())
    if _NOUNS_ARE_CAPITALISED.search(sentence) or cased * 3 < sum(map(len, letters)):
        return frozenset()
    held, numbers = frozenset(terms(source)), numbers_mentioned(source)
    # As spelled there: a name may be part of a word that yields other terms.
    written = frozenset(_CAPITALISED.findall(source))
    found: set[str] = set()
    for name in (name for name in _names(sentence) if name not in written):
        month = _MONTHS.get(name.lower())
        if month is None or month not in numbers:
            own = terms(name)
            found.update(own[:1] if own and held.isdisjoint(own) else ())
    return frozenset(found)


def names_in(text: str) -> frozenset[str]:
    """Return terms of capitalised words, except months."""
    names = (name for name in _names(text, with_first=True) if name.lower() not in _MONTHS)
    return frozenset(term for name in names for term in terms(name))


def dates_in(text: str) -> frozenset[str]:
    """Return dates as year, month and day as far as given, and years alone.

    >>> sorted(dates_in("Between 11 May 1987 and 1990-02-03 it may cost 20, in 2001 too."))
    ['1987 5 11', '1990 2 3', '2001']
    """
    dates = (_date(match) for match in _DATE.finditer(text))
    # A month alone may be a verb.
    return frozenset(
        " ".join(part for part in date if part) for date in dates if date[0] or date[2]
    )


def is_month(word: str) -> bool:
    return word.lower() in _MONTHS or word.lower() in _SHORT_MONTHS


def _date(match: regex.Match[str]) -> tuple[str, str, str]:
    """Return year, month, day; '' for parts not given."""
    found = {name: value for name, value in match.groupdict().items() if value}
    year = found.get("y1") or found.get("y2") or found.get("y3") or found.get("y4") or ""
    name = (found.get("m1") or found.get("m2") or "").lower()
    month = _MONTHS.get(name) or _SHORT_MONTHS.get(name[:3], "") if name else found.get("m3", "")
    day = found.get("d1") or found.get("d2") or found.get("d3") or ""
    return year, month.lstrip("0"), day.lstrip("0")


def _names(sentence: str, *, with_first: bool = False) -> list[str]:
    """Return capitalised words within the sentence; the first one only if the next is
    capitalised."""
    matches = list(_CAPITALISED.finditer(sentence))
    names = []
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        begins = _BEGINS.search(sentence, 0, match.start()) is not None
        is_followed = following is not None and following.start() == match.end() + 1
        if (
            not begins or is_followed or (with_first and terms(match.group()))
        ) and match.group() != "I":
            names.append(match.group())
    return names


def _plain(number: str) -> str:
    return _THOUSANDS.sub("", number).replace(",", ".").lstrip("0") or "0"


AFTER: Final = "~"
"""Sorts after every digit and hyphen: the end of what a date contains."""
_ISO: Final = regex.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


def is_date(text: str) -> bool:
    """Whether a text is a date that exists.

    >>> is_date("2020-02-29"), is_date("2019-02-29"), is_date("2019-5"), is_date("0000")
    (True, False, False, False)
    """
    found = _ISO.fullmatch(text)
    if found is None or not text.isascii():
        return False
    year, month, day = (int(part or 1) for part in found.groups())
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def holds_at(start: str, end: str, date: str) -> bool:
    """Whether a period holds at some time within a date; an open end is ''.

    >>> holds_at("1902", "1911", "1911-05"), holds_at("", "1911-03", "1911-05")
    (True, False)
    >>> holds_at("2019-03", "", "2019"), holds_at("", "", "2019")
    (True, True)
    """
    return (not start or start <= date + AFTER) and (not end or end + AFTER >= date)


DATE: Final = "date"
NUMBER: Final = "number"
NAME: Final = "name"
WORDS: Final = "words"
"""What can only be compared as a whole: a quote, true or false."""
CONVERTED: Final = 0.01
"""Share by which two quantities in different units may differ."""
MONTHS_CLOSE: Final = 1
DAY: Final = 3
"""Parts of a date that says the day."""


@dataclass(frozen=True, slots=True)
class Value:
    """``parts`` are year, month and day as far as given; or amount, its precision, its dimension
    and the unit as written; or the name's key; or words.

    >>> Value.of_key("date:1950-5-3").agrees(Value.of_key("date:1950"))
    True
    """

    kind: str
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.kind}:{'-'.join(self.parts) if self.kind == DATE else '|'.join(self.parts)}"

    @classmethod
    def of_key(cls, key: str) -> Self:
        kind, _, rest = key.partition(":")
        return cls(kind, tuple(rest.split("-" if kind == DATE else "|")))

    @classmethod
    def date(cls, year: str, month: str = "", day: str = "") -> Self:
        return cls(DATE, tuple(part for part in (year, month, day) if part))

    @classmethod
    def number(cls, amount: float, precision: float, dimension: str, unit: str = "") -> Self:
        return cls(NUMBER, (f"{amount:.10g}", f"{precision:.10g}", dimension, unit))

    def agrees(self, other: Value) -> bool:
        """Return whether both may be true: one may be less precise than the other."""
        if self.kind != other.kind:
            return True
        if self.kind == DATE:
            return all(one == its for one, its in zip(self.parts, other.parts, strict=False))
        if self.kind == NUMBER:
            return self._is_close(other)
        return self.parts == other.parts

    def _is_close(self, other: Value) -> bool:
        if self.parts[2] != other.parts[2]:
            return True
        one, its = float(self.parts[0]), float(other.parts[0])
        rounding = max(float(self.parts[1]), float(other.parts[1])) / 2
        is_converted = self.parts[3] != other.parts[3]
        return abs(one - its) <= rounding + CONVERTED * max(abs(one), abs(its)) * is_converted

    def is_close_day(self, other: Value) -> bool:
        """Return whether both are days at most a month apart."""
        if self.kind != DATE or len(self.parts) != DAY or len(other.parts) != DAY:
            return False
        months = [12 * int(one.parts[0]) + int(one.parts[1]) for one in (self, other)]
        return abs(months[0] - months[1]) <= MONTHS_CLOSE

    def years_from(self, other: Value) -> int:
        """Return by how many years two dates differ."""
        return abs(int(self.parts[0]) - int(other.parts[0]))
