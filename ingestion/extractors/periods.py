"""When a sentence says that something holds: dates and periods, in English and Chinese.

Rules, not a model: the same words always give the same period. A date has the precision of the text
(``1902``, ``2019-03``, ``2019-03-05``). What could as well be a number, a name or an origin is left
out, because a wrong date hides a fact and a missing one hides nothing: a year counts only after a
word of time (*in*, *since*, *until*, …) or in a range; *before*, *by* and *around* give nothing.

A point in time starts and ends with the same date, whether the verb is an event (*built in 1823*)
or a state (*was director in 1990*): either holds within that year, as far as the text says.
``begins_state`` names the verbs whose point in time opens a period (*became director in 1990*).
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

from kb_project.text.words import lazy_pattern

LONGEST_SENTENCE: Final = 2_000
Span = tuple[int, int]
Ends = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Period:
    """A period in the words ``text[quote_start:quote_end]``; an open end is ''."""

    start: str
    end: str
    quote_start: int
    quote_end: int

    @property
    def is_point(self) -> bool:
        return self.start == self.end


_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_MONTH: Final = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?"
    r"|sept(?:ember|\.)?|sep\.?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)"
)
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
# What a date may begin with. Looked at first: to try every form of a date at every word took half
# of the time in which names were resolved.
_BEGINS_DATE: Final = (
    r"\b(?=\d|(?:the\s+)?(?:\d|year|spring|summer|autumn|fall|winter)|early|mid|late"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
# Nothing beside a year may make it a longer number or a name: 1,902, 1902.5, ISO-1902, 1902A.
_FREE: Final = _BEGINS_DATE + r"(?<![\w.,#$£€¥§/:+@&=-]|\d[ \u00a0])"
_ENDED: Final = r"(?![\w/@=+%°$£€]|[.,:]\d|[-–—]\w|['’]s?\w|\s?[%°$£€])"
_MAYBE: Final = regex.compile(r"\d{3}|年")
# Numbers below and above are more often something else.
_YEAR: Final = r"1\d{3}|20\d\d|2100"


def _date(name: str) -> str:
    """A pattern of a date; its groups are named after ``name``."""
    return (
        rf"(?:(?P<{name}_iso>(?:{_YEAR})-\d\d-\d\d)(?:T[\d:]+Z?)?"
        rf"|(?:the\s+)?(?P<{name}_day>{_DAY})\s+(?:of\s+)?(?P<{name}_m1>{_MONTH}),?\s+"
        rf"(?P<{name}_y1>{_YEAR})"
        rf"|(?P<{name}_m2>{_MONTH})\s+(?P<{name}_day2>{_DAY}),?\s+(?P<{name}_y2>{_YEAR})"
        rf"|(?P<{name}_ym>(?:{_YEAR})-(?:0[1-9]|1[0-2]))(?!-)"
        rf"|(?:(?:early|mid|late)[ -])?(?P<{name}_m3>{_MONTH}),?\s+(?:of\s+)?(?P<{name}_y3>{_YEAR})"
        r"|(?:(?:the\s+)?(?:year|spring|summer|autumn|fall|winter)\s+(?:of\s+)?"
        r"|(?:early|mid|late)[ -])?"
        rf"(?P<{name}_y>{_YEAR}))"
    )


# A date that says its year elsewhere in the range: *from March to May 2019*, *3 to 7 May 2019*.
_SHORT: Final = (
    rf"(?:(?P<a_sd>{_DAY})(?:\s+(?P<a_sdm>{_MONTH}))?|(?P<a_sm>{_MONTH})(?:\s+(?P<a_smd>{_DAY}))?)"
)
_NOW: Final = r"(?:(?:the\s+)?present(?:\s+day)?|today|now|date)\b"
_DASH: Final = r"\s?[-–—]\s?"
_TO: Final = rf"(?:\s+(?:until|to|till|til|through)\s+|{_DASH})"
_A: Final = _date("a")
_B: Final = _date("b")
_FLAGS: Final = regex.IGNORECASE | regex.VERSION1


def _compiled(pattern: str) -> regex.Pattern[str]:
    return lazy_pattern(pattern, _FLAGS)


def _all_compiled(*patterns: tuple[str, str]) -> tuple[tuple[str, regex.Pattern[str]], ...]:
    return tuple((kind, _compiled(pattern)) for kind, pattern in patterns)


# In order: the first pattern that fits a place takes it. The name says what the dates are.
_ENGLISH: Final = _all_compiled(
    (
        "years",
        rf"\bin\s+(?P<years>(?:{_YEAR})(?:,\s*(?:{_YEAR}))*,?\s+and\s+(?:{_YEAR})){_ENDED}",
    ),
    (
        "range",
        rf"\bfrom\s+{_A}\s+(?:to|until|till)\s+(?:his|her|its|their|the)\s+(?:\w+\s+){{1,3}}in\s+(?:{_B}){_ENDED}",
    ),
    ("range", rf"\bfrom\s+(?:{_A}|{_SHORT}){_TO}(?:{_B}){_ENDED}"),
    ("range", rf"\bbetween\s+(?:{_A}|{_SHORT})(?:\s+and\s+|{_DASH})(?:{_B}){_ENDED}"),
    ("since", rf"\b(?:from\s+|{_FREE}){_A}{_TO}{_NOW}"),
    (
        "since",
        rf"\b(?:since|starting\s+(?:in|from|on)|beginning\s+(?:in|on)"
        rf"|with\s+effect\s+from|effective(?:\s+(?:as\s+of|from))?)\s+{_A}{_ENDED}",
    ),
    ("since", rf"\b(?:from|as\s+of)\s+{_A}{_ENDED}\s+(?:on|onwards?|forward)\b"),
    ("range", rf"{_FREE}(?:{_A}){_TO}(?:{_B}){_ENDED}"),
    ("short", rf"{_FREE}(?P<a_y>{_YEAR})[–—/](?P<b_two>\d\d){_ENDED}"),
    ("range", rf"{_FREE}{_SHORT}{_TO}(?:{_B}){_ENDED}"),
    ("until", rf"\b(?:until|till|up\s+(?:to|until))\s+{_A}{_ENDED}"),
    ("from", rf"\bfrom\s+{_A}{_ENDED}"),
    (
        "decade",
        r"\b(?P<word>in|during|throughout|since|until)\s+the\s+"
        r"(?:(?:early|mid|late)[ -])?(?P<a_decade>1\d\d0|20\d0)['’]?s\b(?!\s+(?:and|or)\b)",
    ),
    (
        "point",
        rf"\b(?:in|during|throughout|as\s+of|as\s+at|on|at\s+the\s+(?:end|beginning|start)\s+of)"
        rf"\s+{_A}{_ENDED}",
    ),
    ("full", rf"{_FREE}{_A}{_ENDED}"),
)
# What turns a date into something else: *before 3 May 2019*, *about 1890*, *pp. 1902–11*.
_NOT_BEFORE: Final = _compiled(
    r"(?:\b(?:before|after|by|about|around|circa|ca?\.?|until|till|prior\s+to|pp?\.?|pages?|lines?"
    r"|nos?\.?|numbers?|verses?|rooms?|tel\.?|phone|fax|issn|isbn|sections?|articles?|rev(?:ision)?\.?|version|v\.?"
    r"|not|roughly|approximately|accessed|retrieved|published|updated|copyright|©|\(c\)|dated|of|to)"
    r"\s*|[$£€¥#~])$"
)
# *Did not begin until 1834* says when it began.
_NOT_UNTIL: Final = _compiled(r"(?:\b(?:not|never|no|nor|only)\b|n['’]t\b)[^,;.]*$")
_NUMBER_AFTER: Final = _compiled(
    r"\s?(?:bce?\b|b\.c\.)|[\s-](?:m|km|cm|mm|kg|g|ft|hp|cc|mhz|ghz|mb|gb|kb|tb|metres?|meters?|miles?|feet"
    r"|yards?|acres?|hectares?|tons?|tonnes?|people|persons?|men|women|children|cases|copies|words|pages"
    r"|cities|countries|stores|locations|votes|points|units|dollars|euros|pounds|years|days|hours"
    r"|minutes|seconds|times|percent|per\s+cent|million|billion|thousand|bits?|bytes?|entries"
    r"|(?:square|cubic)\s|(?:and|or)\s+\d)\b|:\s+(?:a|an|the)\s+\p{Lu}"
)
_PLURAL_AFTER: Final = regex.compile(
    r"\s(?!was\b|is\b|has\b|his\b|this\b|its\b|as\b|does\b|thus\b)\p{Ll}{2,}s\b"
)

_BEGINS: Final = _compiled(
    r"\b(?:became|become|becoming|(?:was|were|been|is|being|got)\s+(?:\w+\s+)?(?:appointed|elected|named|promoted"
    r"|made|installed|sworn|crowned|chosen|nominated|hired|admitted)|appointed|elected|took\s+(?:over|office)"
    r"|took\s+up|assumed|succeeded(?!\s+in\b)|joined|joins|moved\s+to|began\s+(?:as|working|serving)|started\s+(?:as|at|working))\b"
    r"|就任|出任|当选|成为|接任|升任|上任|加入|调任|当上"
)


def begins_state(words: str) -> bool:
    """Whether an event leaves something that holds from then on.

    >>> begins_state("became director of"), begins_state("was built in"), begins_state("出任")
    (True, False, True)
    """
    return _BEGINS.search(words) is not None


def periods_in(text: str, names: Iterable[Span] = ()) -> list[Period]:
    """The periods of a sentence, in order. ``names`` are spans whose years are part of a name.

    >>> [(one.start, one.end) for one in periods_in("He led it from March 2019 to 2021.")]
    [('2019-03', '2021')]
    >>> [(one.start, one.end) for one in periods_in("since 1902; on 30 February 1990")]
    [('1902', '')]
    >>> [(one.start, one.end) for one in periods_in("自1998年3月起任校长")]
    [('1998-03', '')]
    >>> periods_in("Blade Runner 2049 took 1,902 days")
    []
    """
    if len(text) > LONGEST_SENTENCE or not _MAYBE.search(text):
        return []
    taken = [False] * len(text)
    named = list(names)
    found = []
    for start, end, period in _candidates(text):
        if any(taken[start:end]):
            continue
        taken[start:end] = [True] * (end - start)
        if period and not any(one < end and start < other for one, other in named):
            found.append(Period(*period, start, end))
    return sorted(found, key=lambda one: one.quote_start)


@lru_cache(maxsize=256)
def _candidates(text: str) -> tuple[tuple[int, int, Ends | None], ...]:
    """Every match, with no period where it is no date: its place is taken all the same.

    Kept, since a sentence that relates several names is asked for each of them.
    """
    chinese = _chinese(text) if "年" in text else ()
    english = (
        (match.start(), match.end(), _read(kind, match, text))
        for kind, pattern in _ENGLISH
        for match in pattern.finditer(text)
    )
    return (*chinese, *english)


def _read(kind: str, match: regex.Match[str], text: str) -> Ends | None:
    if _is_number(kind, match, text) or not _is_meant(kind, match, text):
        return None
    groups = match.groupdict()
    first = _iso(groups, "a")
    if kind == "years":
        return _consecutive([int(year) for year in regex.findall(_YEAR, groups["years"])])
    if kind == "range":
        return _ordered(_elided(groups) if first is None else first, _iso(groups, "b"))
    if kind == "short":
        return _ordered(first, groups["a_y"][:2] + groups["b_two"])
    if kind == "decade":
        return _decade(groups["word"].lower(), int(groups["a_decade"]))
    return _from_one(kind, first) if first else None


def _from_one(kind: str, date: str) -> Ends | None:
    """The period that one date gives; alone, without a word of time, only a day counts."""
    if kind == "full" and len(date) < len("2019-03-05"):
        return None
    ends = {"since": (date, ""), "from": (date, ""), "until": ("", date)}
    return ends.get(kind, (date, date))


def _is_meant(kind: str, match: regex.Match[str], text: str) -> bool:
    """Whether *until* and *from* say when something holds."""
    if kind == "until":
        return _NOT_UNTIL.search(text[: match.start()]) is None
    return kind != "from" or _is_adverb(match, text)


def _is_number(kind: str, match: regex.Match[str], text: str) -> bool:
    """Whether what surrounds a date makes it a quantity, a reference or a vague time."""
    before, after = text[max(0, match.start() - 24) : match.start()], text[match.end() :]
    if kind in ("full", "range", "short") and _NOT_BEFORE.search(before):
        return not match.group().lower().startswith(("from", "between"))
    if _NUMBER_AFTER.match(after):
        return True
    return match.group().endswith("00") and _PLURAL_AFTER.match(after) is not None


def _is_adverb(match: regex.Match[str], text: str) -> bool:
    """*From 1990, …* and *was director from 1990*, unlike *a letter from 1990*."""
    return not match.start() or text[match.start() - 2 : match.start()] in (", ", "; ", "( ")


def _iso(groups: Mapping[str, str | None], name: str) -> str | None:
    """The date of a pattern's groups; '' for one that does not exist, None if there is none."""

    def group(part: str) -> str:
        return groups.get(f"{name}_{part}") or ""

    if group("iso"):
        return _day(*group("iso").split("-"))
    if group("ym") or group("y"):
        return group("ym") or group("y")
    for year, month, day in (("y1", "m1", "day"), ("y2", "m2", "day2")):
        if group(year):
            return _day(group(year), _month(group(month)), group(day))
    return f"{group('y3')}-{_month(group('m3'))}" if group("y3") else None


def _elided(groups: Mapping[str, str | None]) -> str | None:
    """The start of *3 to 7 May 2019* or *March to May 2019*: its year is the end's."""
    end = _iso(groups, "b") or ""
    year, month = end[:4], end[5:7]
    if groups.get("a_sd"):
        if len(end) < len("2019-03-05"):
            return ""
        own = groups.get("a_sdm")
        return _day(year, _month(own) if own else month, groups["a_sd"] or "")
    if groups.get("a_sm") and month:
        own_month, day = _month(groups["a_sm"] or ""), groups.get("a_smd")
        return _day(year, own_month, day) if day else f"{year}-{own_month}"
    return ""


def _month(name: str) -> str:
    return f"{next(n for n, one in enumerate(_MONTHS, 1) if one[:3] == name.lower()[:3]):02}"


def _day(year: str, month: str, day: str) -> str:
    """
    >>> _day("2020", "02", "29th"), _day("2019", "02", "30")
    ('2020-02-29', '')
    """
    number = int(regex.sub(r"\D", "", day))
    is_month = 1 <= int(month) <= 12
    exists = is_month and 1 <= number <= monthrange(int(year), int(month))[1]
    return f"{year}-{int(month):02}-{number:02}" if exists else ""


def _ordered(start: str | None, end: str | None) -> Ends | None:
    """A range that runs forwards, within a few centuries; anything else is not about time."""
    if not start or not end:
        return None
    precision = min(len(start), len(end))
    runs = start[:precision] <= end[:precision] and start != end
    return (start, end) if runs and int(end[:4]) - int(start[:4]) <= 400 else None


def _consecutive(years: Sequence[int]) -> Ends | None:
    """*In 1990, 1991 and 1992*; years apart from each other are no period."""
    is_run = list(years) == list(range(years[0], years[0] + len(years)))
    return (str(years[0]), str(years[-1])) if is_run else None


def _decade(word: str, first: int) -> Ends:
    last = f"{first + 9}"
    return {"since": (str(first), ""), "until": ("", last)}.get(word, (str(first), last))


# --- Chinese --------------------------------------------------------------------------------------
_DIGITS: Final = str.maketrans("〇○零一二三四五六七八九", "000123456789")
_HAN_MONTH: Final = "十[一二]?|[一二三四五六七八九]"
_HAN_YEAR: Final = r"(?:1\d{3}|20\d\d|[一二][〇零○一二三四五六七八九]{3})"


def _han(name: str) -> str:
    return (
        rf"(?P<{name}_y>{_HAN_YEAR})\s?年(?![级版款度产生])"
        rf"(?:\s?(?P<{name}_m>1[0-2]|0?[1-9]|{_HAN_MONTH})\s?月(?![刊号])(?:\s?(?P<{name}_d>[12]\d|3[01]|0?[1-9])\s?[日号])?)?"
    )


_HAN_FREE: Final = r"(?<![\w.,#$£€¥-](?<![\p{Han}]))"
_HAN_TO: Final = r"\s?(?:至|到|—{1,2}|–|-|～|~|－)\s?"
_CHINESE: Final = _all_compiled(
    ("since", rf"(?:[自从]|{_HAN_FREE}){_han('a')}{_HAN_TO}(?:今|现在|目前)"),
    ("range", rf"(?:[自从]|{_HAN_FREE}){_han('a')}{_HAN_TO}{_han('b')}(?:间|期间|止)?"),
    (
        "months",
        rf"(?:[自从]|{_HAN_FREE}){_han('a')}{_HAN_TO}(?P<b_m>1[0-2]|0?[1-9]|{_HAN_MONTH})\s?月",
    ),
    (
        "range",
        rf"(?:[自从]|{_HAN_FREE})(?P<a_y>{_HAN_YEAR}){_HAN_TO}{_han('b')}(?:间|期间|止)?",
    ),
    ("since", rf"自从?{_han('a')}(?:起|以来|开始|之后|后)?"),
    ("since", rf"从?{_han('a')}(?:起|以来|开始)"),
    (
        "until",
        rf"(?:直到|直至|(?<=\p{{Han}})(?<!截)[至到]){_han('a')}(?!.{{0,8}}才)(?:为止|止)?",
    ),
    ("none", rf"{_han('a')}(?:以?前|之前|以?后|之后|左右|前后|版|年度)"),
    ("none", rf"(?:约|大约|大概|将近|近){_han('a')}"),
    ("point", rf"(?:截至|截止到?|在|于)?{_HAN_FREE}{_han('a')}"),
    ("decade", r"(?P<century>1\d|20|21)\s?世纪\s?(?P<tens>[1-9]0)\s?年代"),
)


def _chinese(text: str) -> Iterator[tuple[int, int, Ends | None]]:
    for kind, pattern in _CHINESE:
        for match in pattern.finditer(text):
            yield match.start(), match.end(), _read_chinese(kind, match.groupdict())


def _read_chinese(kind: str, groups: Mapping[str, str | None]) -> Ends | None:
    if kind == "decade":
        decade = (int(groups["century"] or 0) - 1) * 100 + int(groups["tens"] or 0)
        return _decade("", decade)
    first = _han_iso(groups, "a")
    if kind == "range":
        return _ordered(first, _han_iso(groups, "b"))
    if kind == "months":
        return _ordered(first[:7], f"{first[:4]}-{_han_month(groups['b_m'] or ''):02}")
    return _from_one(kind, first) if first and kind != "none" else None


def _han_iso(groups: Mapping[str, str | None], name: str) -> str:
    year = (groups.get(f"{name}_y") or "").translate(_DIGITS)
    month, day = groups.get(f"{name}_m"), groups.get(f"{name}_d")
    if not month:
        return year
    number = _han_month(month)
    return _day(year, str(number), day) if day else f"{year}-{number:02}"


def _han_month(text: str) -> int:
    """
    >>> _han_month("十一"), _han_month("三"), _han_month("05")
    (11, 3, 5)
    """
    if text.isascii():
        return int(text)
    return "一二三四五六七八九十".index(text[-1]) + 1 + (10 if len(text) > 1 else 0)
