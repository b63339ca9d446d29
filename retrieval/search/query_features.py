"""Read from a question what an answer must contain: its telling terms, its names, its kind.

Pure rules for English and Chinese; other languages get terms and names, but no kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

from kb_project.text.scripts import HAN, MONTHS
from kb_project.text.terms import terms
from kb_project.text.words import words
from retrieval.search import routing_features as signs


class Kind(StrEnum):
    """The sort of thing asked for."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    NUMBER = "number"
    OPEN = "open"


# The first match decides. English question words begin a clause; Chinese ones may be anywhere.
_KINDS: Final = tuple(
    (kind, regex.compile(pattern, regex.IGNORECASE))
    for kind, pattern in (
        (
            Kind.NUMBER,
            r"\bhow (?:much|many|often|far|long|old|tall|large|big|high|deep|heavy|fast)\b"
            r"|\bby how\b|\bwhat (?:is |was |are |were )?(?:the )?(?:number|amount|price|cost"
            r"|total|share|percentage|population|allowance|budget|expenditure)\b"
            r"|\bwhat did .{1,80} cost\b"
            r"|多少|几[个名位人块条年次天月岁座本]|多[大高长远久重]",
        ),
        (
            Kind.DATE,
            r"\bwhen\b|\b(?:what|which) (?:date|day|year|month|century|time)\b|\bhow recently\b"
            r"|何时|什么时候|哪[一]?[年天月日]|几[月日号]|何年",
        ),
        (
            Kind.PLACE,
            r"\bwhere\b|\b(?:what|which) (?:place|city|town|country|county|state|harbour|harbor"
            r"|port|village|island|region|river|street|building|room)\b"
            r"|哪里|哪儿|何处|何地|什么地方|哪[个座][国城省市县岛]",
        ),
        (
            Kind.PERSON,
            r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|man|woman)\b|谁|何人|哪[位个]人",
        ),
    )
)
# Words that ask or place in time, which an answer need not contain.
_ASKING: Final = regex.compile(
    # The forms of suggested questions.
    r"\bwhat do the documents say about\b|\blinked to\b|文件里说了什么|有什么关系"
    r"|\b(?:how (?:much|many|often|far|long|old|tall|large|big|high|deep|heavy|fast)|by how much"
    r"|during|after|before|about|according to|please|(?:the )?names? of"
    # Words that ask or only support another: the rest of the question says what "come out" means.
    r"|(?:tell|give|show|list|name|remind) (?:me|us)|(?:is|are|was|were) there"
    r"|there (?:is|are|was|were)|c[oa]mes? (?:out|up with|about|in|with)"
    r"|(?:get|gets|got) (?:going|started|to)|(?:kinds?|sorts?|types?) of"
    r"|(?:do|does|did|can|could|should|shall|may|must|would) (?:i|we|you|one)"
    r"|(?:ha(?:ve|s|d)|need(?:s|ed)?|want(?:s|ed)?) to|used? to|at all|at least|as well|people)\b"
    r"|什么时候|的时候|什么|多少|为什么|名字",
    regex.IGNORECASE,
)
_CAPITALISED: Final = regex.compile(r"[\p{Lu}\p{Lt}]")
_MONTHS: Final = "|".join(month[:3] for month in MONTHS)
# Alone, *may* is a verb.
_MONTH_ALONE: Final = "|".join(month for month in MONTHS if month != "may")
_DATE: Final = regex.compile(
    r"\b(?:1\d|20)\d\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})[a-z]*\b"
    rf"|\b(?:{_MONTHS})[a-z]*\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\b(?:{_MONTH_ALONE}"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|o'clock|century|centuries|\d0s)\b"
    r"|[\d一二三四五六七八九十〇零]+(?:世纪|[年月日])",
    regex.IGNORECASE,
)
_NUMBER: Final = regex.compile(
    r"\p{N}[\p{N}.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundreds?|thousands?|millions?|billions?|dozens?|half|third|quarters?|twice|once|none"
    r"|several|many|few|no)\b"
    r"|[一二两三四五六七八九十百千万亿半]+\s?[\p{Han}]",
    regex.IGNORECASE,
)
_NAME: Final = regex.compile(
    r"(?<![\p{L}\p{N}])\p{Lu}(?:[\p{L}\p{M}\p{N}'’.-]*[\p{L}\p{M}\p{N}])?|\p{Han}{2,}"
)
_NAMED: Final = {
    Kind.DATE: _DATE,
    Kind.NUMBER: _NUMBER,
    Kind.PERSON: _NAME,
    Kind.PLACE: _NAME,
}
_DIGIT: Final = regex.compile(r"\p{N}")
# Chinese characters that ask and join but rarely name: a pair with one of them that no document
# contains says nothing.
_FUNCTION: Final = frozenset(
    "的了是在和与及吗呢吧啊哪谁何什么怎样几多少为因以于之其这那有被把由从到向跟就都也又还很一共个"
)


@dataclass(frozen=True, slots=True)
class Sought:
    """``names`` are those of the ``terms`` that belong to a name or a number."""

    text: str
    terms: tuple[str, ...]
    names: frozenset[str]
    kind: Kind


def read(question: str) -> Sought:
    """
    >>> sought = read("When was Old Bob found?")
    >>> sought.terms, sorted(sought.names), sought.kind.value
    (('old', 'bob', 'found'), ['bob', 'old'], 'date')
    """
    subject = _ASKING.sub(" ", signs.beside_change(signs.beside_whole(question)))
    return Sought(
        text=question,
        terms=tuple(dict.fromkeys(terms(subject))),
        names=frozenset(_names(question)),
        kind=kind_of(question),
    )


def named_kinds(text: str, kind: Kind) -> frozenset[str]:
    """Return the index terms of what a text names of a kind: dates, numbers, or capitalised
    names.

    >>> sorted(named_kinds("Ada came to Orran in 1866.", Kind.DATE))
    ['1866']
    >>> sorted(named_kinds("Ada came to Orran in 1866.", Kind.PLACE))
    ['ada', 'orran']
    """
    found: set[str] = set()
    for start, end in spans_of_kind(text, kind):
        found.update(terms(text[start:end]) or [text[start:end].lower()])
    return frozenset(found)


def spans_of_kind(text: str, kind: Kind) -> list[tuple[int, int]]:
    """Return where a text names something of a kind, in order."""
    pattern = _NAMED.get(kind)
    return [] if pattern is None else [match.span() for match in pattern.finditer(text)]


def kind_of(question: str) -> Kind:
    """
    >>> kind_of("朱元璋的父亲是谁？").value
    'person'
    """
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), Kind.OPEN)


def is_filler(term: str) -> bool:
    """Return whether a pair of Chinese characters probably straddles words.

    >>> is_filler("璋的"), is_filler("父亲"), is_filler("father")
    (True, False, False)
    """
    return HAN.search(term) is not None and not _FUNCTION.isdisjoint(term)


def _names(question: str) -> set[str]:
    """Return terms of words capitalised mid-sentence, or containing a digit."""
    found: set[str] = set()
    first = True
    for word in words(question):
        surface = question[word.start : word.end]
        if _DIGIT.search(surface) or (not first and _CAPITALISED.match(surface)):
            found.update(terms(surface))
        first = False
    return found
