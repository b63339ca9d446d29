"""The kind of thing a question asks for, and where a text names something of that kind.

Pure rules for English and Chinese; other languages have no kinds.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final

import regex

from kb_project.text.languages import MONTHS
from kb_project.text.words import lazy_pattern, terms


class Kind(StrEnum):
    """The sort of thing asked for."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    DURATION = "duration"
    FREQUENCY = "frequency"
    MONEY = "money"
    NUMBER = "number"
    PROCEDURE = "procedure"
    """How something is done: *click*, *you can*."""
    REASON = "reason"
    """Why something is so: *because*."""
    OPEN = "open"


# The first match decides. English question words begin a clause; Chinese ones may be anywhere.
_KINDS: Final = tuple(
    (kind, lazy_pattern(pattern, regex.IGNORECASE))
    for kind, pattern in (
        (Kind.FREQUENCY, r"\bhow (?:often|frequently)\b|多久一次|每隔多久"),
        (
            Kind.MONEY,
            r"\bhow much (?:money\b|(?:did|does|do|is|was|were|are|will|would) .{1,80}"
            r"\b(?:cost|earn|pay|paid|charged?|worth|sell|sold|spen[dt]|price|salary|wages?|fee"
            r"|rent)s?\b)|\bwhat (?:did|does|do) .{1,80}\b(?:cost|earn)s?\b"
            r"|\bwhat (?:is|was|are|were) (?:the |his |her |their )?(?:price|cost|salary|wages?|fee"
            r"|rent|fare|pay)\b|多少钱|多少元",
        ),
        (
            Kind.DURATION,
            # *How long is the bridge?* asks for a length.
            r"\bhow long (?:did|does|do|had|has|have|will|would|must|should|can|could|may|before"
            r"|until|after|ago)\b|\bhow long (?:is|was|were|are) .{2,60}\b(?:\w+ed|\w+ing|in|for"
            r"|after|since|valid|open|term)\b|多久|多长时间",
        ),
        (
            Kind.NUMBER,
            r"\bhow (?:much|many|often|far|long|old|tall|large|big|high|deep|heavy|fast)\b"
            r"|\bby how\b|\bwhat (?:is |was |are |were )?(?:the )?(?:number|amount|price|cost"
            r"|total|share|percentage|population|allowance|budget|expenditure)\b"
            r"|\b(?:what|which) (?:is |was |are |were )?(?:the )?(?:angle|capacity|distance"
            r"|frequency|height|pressure|speed|temperature|voltage|weight|width)s?\b"
            r"|\bwhat did .{1,80} cost\b"
            r"|多少|几[个名位人块条年次天月岁座本]|多[大高长远久重]",
        ),
        (
            Kind.DATE,
            # *What happened when she died?* asks for no date.
            r"(?:^|[,;:?.]\s*|\b(?:and|but|or|since|until|till|by|from|know|me|us)\s+)\W*"
            r"(?:exactly )?when\b|\b(?:what|which) (?:date|day|year|month|century|time)\b"
            r"|\bhow recently\b"
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
        (
            Kind.PROCEDURE,
            r"\bhow (?:do|can|could|should|must|may|might|would|shall)"
            r" (?:i|we|you|one|people|users?)\b|^\W*how to\b"
            r"|\bwhat (?:do|can|could|should|must|would|shall) (?:i|we|you|one) do\b",
        ),
        (Kind.REASON, r"^\W*why\b"),
    )
)
TOLD: Final = (Kind.PROCEDURE, Kind.REASON)
"""Kinds that a whole statement tells …"""
UNNAMED: Final = (Kind.OPEN, *TOLD)
"""… and all of which no words in it name."""
_MONTHS: Final = "|".join(month[:3] for month in MONTHS)
# Alone, *may* is a verb.
_MONTH_ALONE: Final = "|".join(month for month in MONTHS if month != "may")
_DATE: Final = lazy_pattern(
    r"\b(?:1\d|20)\d\d\b|\b\d{2,4}0s\b"
    r"|\b(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|\w+teenth|twentieth)[ -]centur(?:y|ies)\b"
    r"|\b\d{1,4} (?:BCE?|AD|CE)\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})[a-z]*\b"
    rf"|\b(?:{_MONTHS})[a-z]*\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\b(?:{_MONTH_ALONE}"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|o'clock|century|centuries|\d0s)\b"
    r"|[\d一二三四五六七八九十〇零]+(?:世纪|[年月日])",
    regex.IGNORECASE,
)
_NUMERALS: Final = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_NUMBER: Final = lazy_pattern(
    rf"\p{{N}}[\p{{N}}.,]*|\b(?:{_NUMERALS}"
    r"|hundreds?|thousands?|millions?|billions?|dozens?|half|third|quarters?|twice|once|none"
    r"|several|(?<!\bhow )many|few|no)\b"
    r"|[一二两三四五六七八九十百千万亿半]+\s?[\p{Han}]",
    regex.IGNORECASE,
)
_AMOUNT: Final = rf"(?:\p{{N}}[\p{{N}}.,]*|{_NUMERALS}|hundred|several|many|few|half|an?)"
_DURATION: Final = lazy_pattern(
    rf"\b{_AMOUNT}(?:[- ](?:and )?(?!of\b)\w+){{0,2}}?[- ](?:second|minute|hour|day|night|week"
    r"|month|year|decade|century|centurie)s?\b"
    r"|\b(?:from|between|since|until) (?:\w+ ){0,2}(?:1\d|20)\d\ds?\b"
    r"|[\d一二三四五六七八九十百两半数]+\s?个?多?(?:秒|分钟|小时|天|日|周|星期|月|年|世纪)",
    regex.IGNORECASE,
)
_FREQUENCY: Final = lazy_pattern(
    r"\b(?:once|twice|daily|weekly|monthly|quarterly|yearly|annually|hourly|nightly|rarely|seldom"
    r"|times (?:an?|per|each|every|in)|(?:every|each|per) (?:\w+ )?(?:second|minute|hour|day|night"
    r"|morning|evening|week|month|quarter|season|year|decade|century|time)s?)\b|每|次",
    regex.IGNORECASE,
)
_MONEY: Final = lazy_pattern(
    r"[$£€¥₹]\s?\p{N}[\p{N}.,]*(?: (?:thousand|million|billion))?"
    rf"|\b{_AMOUNT}(?:[- ](?:and )?\w+)?(?:[- ]a)?[- ](?:dollars?|pounds?|shillings?|pence|penny"
    r"|cents?|euros?|francs?|marks?|crowns?|guineas?|yen|yuan|rupees?|roubles?|sovereigns?|USD|EUR"
    r"|GBP)\b|[\d一二三四五六七八九十百千万亿两]+\s?(?:元|块|美元|英镑|欧元|两银|两白银|文)",
    regex.IGNORECASE,
)
_COUNTED: Final = lazy_pattern(
    r"\bhow many (?:[\p{L}'’-]+ ){0,3}?(?P<noun>[\p{L}'’-]+s|people|men|women|children)\b",
    regex.IGNORECASE,
)
# A number and the words that it counts, up to three.
_NUMBERED: Final = lazy_pattern(
    rf"(?<![\p{{L}}\p{{N}}.]){_AMOUNT}\+?(?P<rest>(?:[- ](?!(?:the|an?|and|or|of|by|in|on|at|to|for"
    r"|with|from|was|were|is|are|had|has)\b)[\p{L}'’-]+){1,3})",
    regex.IGNORECASE,
)
# The last row of a table names nobody.
_NAME: Final = lazy_pattern(
    r"(?<![\p{L}\p{N}])(?!(?:Sub)?[Tt]otal\b)"
    r"\p{Lu}(?:[\p{L}\p{M}\p{N}'’.-]*[\p{L}\p{M}\p{N}])?|\p{Han}{2,}"
)
_SOMEBODY: Final = frozenset(("i", "we", "he", "she", "they"))
_IMPERATIVES: Final = (
    "add|adjust|apply|ask|attach|boil|call|change|check|choose|clean|clear|click|close|connect|copy"
    "|create|cut|define|delete|describe|double-click|drag|draw|drop|edit|enable|ensure|enter|fill"
    "|find|follow|get|give|go|highlight|hit|hold|insert|install|keep|launch|leave|let|load|log|look"
    "|make|mark|measure|mix|move|navigate|open|pick|place|plug|point|pour|prepare|press|print|pull"
    "|push|put|read|register|release|remove|rename|repeat|replace|report|restart|right-click|run"
    "|save|scroll|select|send|set|specify|start|stir|stop|switch|take|tap|tell|tick|tighten|try|turn"
    "|type|uncheck|unplug|untick|update|upload|use|visit|wait|write"
)
_PROCEDURE: Final = lazy_pattern(
    rf"^\W*(?:(?:first|second|third|then|next|now|finally|just|simply|please|also|afterwards"
    rf"|otherwise|and)\b,? )*(?:{_IMPERATIVES})\b(?! (?:of|is|are|was|were|has|had|will|and)\b)"
    rf"|(?:[,;:→]|\b(?:and|then|or|simply|just|please|to)) (?:{_IMPERATIVES})\b"
    r"|\b(?:you|one|users?|we) (?:can|could|may|must|should|need to|needs to|have to|has to|will"
    r" (?:need|have) to|simply|just|then|first)\b"
    r"|\b(?:click|tick|press|select|choose|enter|type)(?:ing)?\b",
    regex.IGNORECASE,
)
_REASON: Final = lazy_pattern(r"\bbecause\b", regex.IGNORECASE)
_ARTICLE: Final = regex.compile(r"^(?:an?|the) ", regex.IGNORECASE)
MOST_DEFINED: Final = 4
"""Words of what a question asks to define."""
_DEFINED: Final = lazy_pattern(
    r"\W*(?:(?:what|who)(?:['’]s| is| are| was| were)|define|explain|describe"
    r"|tell me (?:more )?about)(?: (?:an?|the))? (?P<subject>[^?.!]+?)\W*"
    r"|\W*what (?:do|does|did)(?: (?:an?|the))? (?P<meant>[^?.!]+?) (?:mean|stand for)\W*"
    r"|\W*why (?:is|are|was|were) [^?.!]+? (?:called|known as|nicknamed|named)(?: (?:an?|the))?"
    r" (?P<called>[^?.!]+?)\W*",
    regex.IGNORECASE,
)
_CLASS_BEHIND: Final = regex.compile(
    r"(?<=\p{Lu}\S*) (?:app|command|company|organi[sz]ation|package|program(?:me)?|project|software"
    r"|system|team|tool|website)$"
)
_COMPARED: Final = lazy_pattern(
    r"\W*(?:what(?:['’]s| is| are) the differences? between|compare"
    r"|differences? between)(?: (?:an?|the))? (?P<one>[^?.!]+?),? (?:and|with|to)(?: (?:an?|the))?"
    r" (?P<other>[^?.!]+?)\W*",
    regex.IGNORECASE,
)
_USUALLY: Final = r"(?:usually|generally|often|simply|basically|essentially)"
_CLASS: Final = (
    r"(?:an?|the(?! only| same)|one|any|all|those|something|someone|when|where|what|how|used"
    r"|designed|intended|meant|known|called|defined)"
)
_MEANS: Final = (
    r"(?:means?(?! (?:more|less))|meant|refers? to(?! th(?:is|at|ese|em|e)\b)|denotes?|stands? for)"
)
_NO_PREPOSITION: Final = r"(?!(?:of|in|on|at|to|with|for|by|from|after|before|when|if|that|which) )"
# *The PNG name* is not about PNG. Without a tagger: auxiliaries, endings, the usual past forms.
_VERB: Final = (
    r"(?:is|was|are|were|has|have|had|can|could|may|might|must|shall|should|will|would|do|did"
    r"|became|began|bought|broke|brought|built|came|chose|cut|drew|fell|fought|found|gave|got|grew"
    r"|held|kept|knew|led|left|lost|made|met|paid|put|ran|rose|said|sank|sat|saw|sold|spent|spoke"
    r"|stood|taught|took|went|won|wrote|(?-i:\p{Ll}{2,}(?:ed|(?<![su])s)))"
)
_CALLED: Final = r"\b(?:called|known as|nicknamed|named|termed|dubbed)(?: (?:an?|the))?"
_NAMED: Final = {
    Kind.DATE: _DATE,
    Kind.DURATION: _DURATION,
    Kind.FREQUENCY: _FREQUENCY,
    Kind.MONEY: _MONEY,
    Kind.NUMBER: _NUMBER,
    Kind.PERSON: _NAME,
    Kind.PLACE: _NAME,
    Kind.PROCEDURE: _PROCEDURE,
    Kind.REASON: _REASON,
}


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
        word = text[start:end]
        # *ten* is a number without a term, *He* somebody named before; *The* is no name.
        is_nameless = kind is Kind.PERSON and word.lower() not in _SOMEBODY
        found.update(terms(word) or ([] if is_nameless else [word.lower()]))
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


def defined_in(question: str) -> list[str]:
    """Return what a question asks to define, to explain as a name or to tell apart, also without
    the word for its class.

    >>> [defined_in(one) for one in ("What is an entrance pupil?", "Who was Ada?", "Who fell?")]
    [['entrance pupil'], ['Ada'], []]
    >>> defined_in("What is the Lodestar project?"), defined_in("Why is the lens called Ada?")
    (['Lodestar project', 'Lodestar'], ['Ada'])
    >>> defined_in("What is the difference between a bill and an invoice?")
    ['bill', 'invoice']
    """
    if compared := compared_in(question):
        return compared
    asked = _DEFINED.fullmatch(question.strip())
    found = list(filter(None, asked.groups())) if asked else []
    found += [_CLASS_BEHIND.sub("", one) for one in found if _CLASS_BEHIND.search(one)]
    return [one for one in found if 0 < len(one.split()) <= MOST_DEFINED]


def compared_in(question: str) -> list[str]:
    """Return the things that a question asks to tell apart.

    >>> compared_in("What's the difference between a lamp, a lens and the light?")
    ['lamp', 'lens', 'light']
    >>> compared_in("What is a lamp?")
    []
    """
    compared = _COMPARED.fullmatch(question.strip())
    if not compared:
        return []
    found = [
        _ARTICLE.sub("", one.strip()) for group in compared.groups() for one in group.split(",")
    ]
    return [one for one in found if 0 < len(one.split()) <= MOST_DEFINED]


def defines(text: str, subject: str) -> bool:
    """Return whether a text says what the subject is.

    >>> said = ("A rollout is when it plays on.", "ROLLOUT, n. A game.", "Rollout: https://a.org")
    >>> [defines(one, "rollout") for one in said]
    [True, True, False]
    >>> [defines(one, "Old Bob") for one in ("The buoy, known as Old Bob, sank.", "Old Bob sank.")]
    [True, False]
    """
    return _patterns_for(subject)[0].search(text) is not None


def is_about(text: str, subject: str) -> bool:
    """Return whether a text begins with the subject and goes on to say something of it.

    >>> said = ("The Trust (MST) keeps three lights.", "Trust, 2024 to 2026", "Ask the Trust.")
    >>> [is_about(one, "Trust") for one in said]
    [True, False, False]
    """
    return _patterns_for(subject)[1].match(text) is not None


@lru_cache(maxsize=100)
def _patterns_for(subject: str) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    *first, last = (regex.escape(word) for word in subject.split())
    one = last.removesuffix("s") if len(last) > 3 else last
    words = [*first, rf"{one}(?:e?s)?"]
    name = r"[\"“'‘*_(]*\b" + r"[\s-]+".join(words) + r"\b[\"”'’*_)]*"
    aside = r"(?: \([^)]{1,60}\)|, [^,.]{1,60},)?"
    named = rf"(?:{name}{aside}|.{{1,60}}, or {name}(?: for short)?,)"
    is_what = rf"(?:(?:is|are|was|were) (?:{_USUALLY} )?{_CLASS}|{_MEANS})\b"
    defining = (
        rf"^\W*(?:{_NO_PREPOSITION}\S+ ){{0,4}}?{named} {is_what}"
        rf"|^\W*{name}(?:, (?:n|v|adj|adv)\.|\s*[:–—-]\s(?!\S+://)|, (?:an?|the|one of)\b)"
        rf"|{name},? (?:literally )?meaning\b"
        rf"|(?<!been ){_CALLED} {name}|{name}, (?:(?:our|its|an?|one of the) [^,.;:]{{3,60}}[,.;)]"
        r"|(?:who|which) (?:is|was|are|were)\b)"
        rf"|^\W*(?:this|that) (?!is|was).{{1,60}}? (?:is|was)(?: (?:an?|the))? {name}"
    )
    about = rf"\W*(?:(?:the|an?) )?{name}{aside} (?:\w+ly |also |now )?{_VERB}\b"
    return regex.compile(defining, regex.IGNORECASE), regex.compile(about, regex.IGNORECASE)


def counts(text: str, counted: frozenset[str]) -> bool:
    """Return whether a number is followed closely by what is counted.

    >>> counts("It was made by 12 volunteer keepers.", frozenset({"keeper"}))
    True
    >>> counts("In 1866 the keepers left.", frozenset({"keeper"}))
    False
    """
    return bool(counted) and any(
        counted.intersection(terms(match["rest"])) for match in _NUMBERED.finditer(text)
    )


def counted_in(question: str) -> list[str]:
    """Return the terms of what *how many* asks for."""
    asked = _COUNTED.search(question)
    return terms(asked["noun"]) if asked else []
