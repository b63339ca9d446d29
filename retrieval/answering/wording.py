"""Word the questions that a document answers as a person would ask them.

Made from what sentences state (who did it, when, how many, what something is) and from headings.
Uses only forms that a pattern can turn into a question: other sentences yield none, which is no
loss, since a document has many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import regex

from kb_project.text.languages import HAN, MONTHS
from kb_project.text.names import normalise_name
from kb_project.text.words import terms


class Form(IntEnum):
    """Kinds of question, the best to start with first."""

    ASKED = 0
    """A heading that is itself a question."""
    FACT = 1
    DEFINITION = 2
    SECTION = 3


@dataclass(frozen=True, slots=True)
class Wording:
    question: str
    form: Form


PERSON: Final = "person"
SHORTEST, LONGEST = 8, 320
"""Characters of a sentence to make a question from."""
LONGEST_HEADING: Final = 90
LONGEST_TITLE: Final = 50
MOST_WORDS: Final = 7
"""Words of a heading used as a subject."""
MOST_OBJECT: Final = 10
"""Words of the object of what someone did."""

_ARTICLE: Final = regex.compile(r"^(?:The|A|An) (?=\S)")
# What a subject must not begin with: it would not stand on its own.
_NOT_A_SUBJECT: Final = regex.compile(
    r"\b(?:he|she|it|they|we|i|you|his|her|its|their|our|my|your|this|that|these|those|there|here|such"
    r"|both|another|others?|one|each|what|who|which|when|where|how|if|in|on|at|by|for|with|from|as"
    r"|after|before|since|during|under|then|so|but|and|or|also|however|most|some|many|no|not|all)\b",
    regex.IGNORECASE,
)
_POINTING: Final = regex.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|we|us|our|i|my|me|you|your|this|that|these"
    r"|those|there|here|such|same|other|another|himself|herself|itself|themselves)\b",
    regex.IGNORECASE,
)
_ELSEWHERE: Final = regex.compile(
    r"\b(?:it|he|she|they|this|that|these|those|them|him)\b", regex.IGNORECASE
)
_SUBJECT: Final = r"(?P<subject>[^\s,;:()\[\]“”\"]+(?: [^\s,;:()\[\]“”\"]+){0,5}?)"
_BROKEN: Final = regex.compile(r"--|[.!?] ")
_LOOSE: Final = regex.compile(r"(?: (?:by|in|on|at|until|from|to|of|for|with|as|and|the|a|an))+$")
_OBJECT: Final = regex.compile(r"(?:the|a|an|all|both) |\p{Lu}|\d")
_IRREGULAR: Final = {
    "built": "built",
    "made": "made",
    "led": "led",
    "held": "held",
    "found": "found",
    "bought": "bought",
    "sold": "sold",
    "won": "won",
    "lost": "lost",
    "set up": "set up",
    "written": "wrote",
    "drawn": "drew",
    "given": "gave",
    "chosen": "chose",
    "begun": "began",
    "lit": "lit",
    "kept": "kept",
    "born": "",
    "broken": "broke",
}
_PARTICIPLE: Final = rf"(?P<verb>\p{{Ll}}{{3,}}ed|{'|'.join(_IRREGULAR)})"
_PAST: Final = (
    r"(?P<verb>\p{Ll}{3,}ed|built|made|led|held|found|bought|sold|won|lost|wrote|drew|gave|chose|began"
    r"|lit|kept|broke|became|took over|took|ran|set up|drove)"
)
_MONTHS: Final = f"(?:{'|'.join(month.capitalize() for month in MONTHS)})"
_DATE: Final = (
    rf"(?:in|on) (?:early |late |mid-)?(?:the (?:spring|summer|autumn|winter) of )?"
    rf"(?:\d{{1,2}} )?(?:{_MONTHS},? ?)?(?:\d{{1,2}}(?:st|nd|rd|th)?,? ?)?(?:of )?(?:1\d|20)\d\d\b"
)
_NUMBER: Final = (
    r"(?:(?:about|around|some|over|more than|only|nearly|almost) )?(?:\d[\d,.]*|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\p{Ll}+)?)"
)
_NAME_END: Final = (
    r"(?=[,.;:!?)]|$| (?:and|but|which|who|that|when|where|while|because|after|before)\b)"
)

_PASSIVE_WHEN: Final = regex.compile(
    rf"^{_SUBJECT} (?P<be>was|were) (?P<how>first |finally |officially )?{_PARTICIPLE}"
    rf"(?P<rest>(?: [\p{{L}}'’-]+){{0,4}}?) {_DATE}"
)
_PASSIVE_BY: Final = regex.compile(
    rf"^{_SUBJECT} (?:was|were) (?:first |originally )?{_PARTICIPLE} by (?:the )?"
    r"(?:\p{Ll}+ )?(?P<agent>\p{Lu}[\p{L}'’.-]+(?: \p{Lu}[\p{L}'’.-]*){1,3})"
)
_AGENT: Final = r"(?P<agent>\p{Lu}[\p{L}'’.-]+(?: \p{Lu}[\p{L}'’.-]*){1,3})"
_DID: Final = regex.compile(rf"^{_AGENT} {_PAST} (?P<what>.+?)(?= {_DATE}|{_NAME_END})")
_ROLE: Final = regex.compile(
    rf"^{_AGENT} (?P<verb>is|was|became) (?P<what>the [^,;:()]+? (?:of|at|for) .+?){_NAME_END}"
)
_HAS: Final = regex.compile(
    rf"^{_SUBJECT} (?P<verb>has|have|\p{{Ll}}{{3,}}s) {_NUMBER} "
    r"(?P<what>(?:\p{Ll}[\p{Ll}-]+ ){0,2}(?:\p{Ll}{2,}[^s\W]s|people|men|women|children|members))"
    r"(?=[,.;:]| (?:in|at|on|and|that|which|with|for|from|to)\b|$)"
)
_IS: Final = regex.compile(
    rf"^{_SUBJECT} (?P<be>is|are|was|were) "
    r"(?P<what>(?:an?|the|one of the) \p{L}[^,.;:]{0,40})"
)
_NUMBERING: Final = regex.compile(
    r"^(?:(?:chapter|section|part|appendix|stave)\s+)?(?:\d+(?:\.\d+)*[.:)]?|[A-Z](?:\.\d+)+[.:)]?"
    r"|[IVXLC]+[.:]|[一二三四五六七八九十]+、|第[一二三四五六七八九十\d]+[章节条])\s*",
    regex.IGNORECASE,
)
_GENERIC: Final = regex.compile(
    r"(?:the |an? )?(?:introduction|overview|summary|preface|foreword|prologue|epilogue|contents"
    r"|acknowledge?ments?|appendi\w+|index|references|notes?|conclusions?|abstract|background|about.*"
    r"|welcome|see also|further reading|bibliography|glossary|chapter|section|part|stave|changelog"
    r"|licen[cs]e|copyright.*|credits|examples?|figures?|tables?|warning|tip|caution|important|other.*"
    r"|miscellaneous|everything.*|next(?: steps)?|general|features|purpose|rationale"
    r"|requirements|(?:specific )?options|usage"
    r"|概[况述]|前言|引言|总结|结论|摘要|目录|附录|参考.*|简介|其他)\W*",
    regex.IGNORECASE,
)
_HOW_IS: Final = regex.compile(
    r"^How (?P<what>.+?) (?P<be>is|are|was|were|can|should|must) (?P<rest>.+)$"
)
_HOW_TO: Final = regex.compile(r"^How to (?P<what>.+)$", regex.IGNORECASE)
_PLURAL: Final = regex.compile(
    r"^(?:The )?(?P<before>(?:(?!\p{L}+ing\b)\p{L}[\p{L}-]+ )?\p{L}{2,}[^s\W]s)"
    r" (?P<rest>(?:that|who|which|of|for|in|from)\b.+)$"
)
_QUESTION: Final = regex.compile(
    r"^(?:(?:on|in|from|at|to|for|with) )?(?:who|what|when|where|which|why|how|can|could|do|does"
    r"|did|is|are|was|were|will|should|may|must|has|have)\b[^.!?]*\?$|\p{Han}[^。！？?]*[？?]$",
    regex.IGNORECASE,
)
_EMPHASIS: Final = regex.compile(r"\*+|`|(?<!\w)_+|_+(?!\w)")
_BESIDE: Final = regex.compile(r"^.* (?:--|–|—|\|) ")

_HAN_SUBJECT: Final = (
    r"(?!双方|[他她它我你这那该此其本])"
    r"(?P<subject>[^，。；：、的是在（）“”\s]{2,20}?)(?:（[^）]{1,40}）)?"
)
_HAN_DATE: Final = (
    r"(?:公元)?(?:\d{2,4}|[一二三四五六七八九十〇零]{2,6})年(?:\d{1,2}月)?(?:\d{1,2}日)?"
)
_HAN_EVENT: Final = (
    r"(?P<verb>成立|创办|建立|创建|创立|建成|诞生|出生|去世|逝世|发布"
    r"|竣工|开业|启用|开通|签订|即位)"
)
_HAN_WHEN: Final = regex.compile(
    rf"^{_HAN_SUBJECT}(?:{_HAN_EVENT}于{_HAN_DATE}|于{_HAN_DATE}{_HAN_EVENT})"
)
_HAN_BY: Final = regex.compile(
    rf"^{_HAN_SUBJECT}由[^，。；：]{{2,20}}?(?P<verb>建造|设计|创办|创建|创立|领导|编写|撰写|发明|提出)"
)
_HAN_HAS: Final = regex.compile(
    rf"^{_HAN_SUBJECT}(?<!没)(?:现|共|只|一共|目前)?有(?:\p{{Han}}{{0,2}}?)(?:\d+|[一二两三四五六七八九十百千万]+)"
    r"(?P<what>[个名位座块条种项件本艘][^，。；：、：]{1,8})(?=[，。；：])"
)
_HAN_IS: Final = regex.compile(rf"^{_HAN_SUBJECT}是(?!否|不|由|在|因|为)")


def of_sentence(said: str, known: Mapping[str, str]) -> Iterator[Wording]:
    """Yield the questions a sentence answers. ``known`` maps name keys (``normalise_name``) to
    types.

    >>> known = {"ada lind": "person"}
    >>> [one.question for one in of_sentence("Ada Lind founded the Society on 11 May 1987.", known)]
    ['Who founded the Society?']
    >>> [one.question for one in of_sentence("临江光学工坊创办于1958年。", {})]
    ['临江光学工坊是什么时候创办的？']
    """
    said = " ".join(_EMPHASIS.sub("", said).split())
    if not SHORTEST <= len(said) <= LONGEST:
        return
    if HAN.search(said[:20]):
        yield from _of_chinese_sentence(said, known)
        return
    for maker, form in _ENGLISH:
        if question := maker(said, known):
            yield Wording(question, form)


def of_heading(heading: str, title: str, known: Mapping[str, str]) -> Wording | None:
    """Return the question that the text below a document's heading answers.

    >>> of_heading("2.1 How do I file a bug?", "FAQ", {}).question
    'How do I file a bug?'
    >>> of_heading("Risks that keep us awake", "Handbook", {}).question
    'What are the risks that keep us awake?'
    >>> of_heading("Going to sea", "Staff handbook", {}).question
    'What does “Staff handbook” say about going to sea?'
    """
    said = _NUMBERING.sub("", " ".join(_EMPHASIS.sub("", heading).split())).strip(" .:：")
    if not 4 <= len(said) * (3 if HAN.search(said) else 1) <= LONGEST_HEADING:
        return None
    question = _asked_by(said, known)
    return Wording(question, Form.ASKED) if question else _of_section(said, title, known)


def _asked_by(said: str, known: Mapping[str, str]) -> str:
    """Return the question that a heading is or implies; '' if neither."""
    question = _BESIDE.sub("", said)
    if _QUESTION.search(question):
        is_whole = len(terms(question)) > 1 and not _ELSEWHERE.search(question)
        return question[0].upper() + question[1:] if is_whole else ""
    if match := _HOW_TO.match(said):
        verb, space, rest = match["what"].partition(" ")
        return f"How do I {_small(verb, known)}{space}{rest}?"
    if _POINTING.search(regex.sub(r"\b(?:us|that)\b", "", said)):
        return ""
    if match := _HOW_IS.match(said):
        return f"How {match['be']} {match['what']} {match['rest']}?"
    if (match := _PLURAL.match(said)) and not _GENERIC.fullmatch(said):
        return f"What are the {_small(match['before'], known)} {match['rest']}?"
    return ""


def _of_section(said: str, title: str, known: Mapping[str, str]) -> Wording | None:
    if _GENERIC.fullmatch(said) or _POINTING.search(said) or not 2 < len(title) <= LONGEST_TITLE:
        return None
    title = " ".join(_NUMBERING.sub("", title).split())
    if not regex.search(r"\s|\p{Han}", title) and regex.search(r"[\W\d_]", title):
        return None  # a file name
    if normalise_name(said) in normalise_name(title) or len(said.split()) > MOST_WORDS:
        return None
    if HAN.search(said):
        return Wording(f"关于{said}，《{title}》说了什么？", Form.SECTION)
    if not regex.fullmatch(r"\p{L}[\p{L}\p{N} ,'’/&+-]*", said) or said.isupper():
        return None
    return Wording(f"What does “{title}” say about {_lowered(said, known)}?", Form.SECTION)


def _when(said: str, known: Mapping[str, str]) -> str:
    match = _PASSIVE_WHEN.match(said)
    subject = _named(match["subject"], known) if match else ""
    if match is None or not subject or _POINTING.search(match["rest"]):
        return ""
    rest = _LOOSE.sub("", regex.sub(r" by .*$", "", match["rest"]))
    return f"When {match['be']} {subject} {match['how'] or ''}{match['verb']}{rest}?"


def _by_whom(said: str, known: Mapping[str, str]) -> str:
    match = _PASSIVE_BY.match(said)
    subject = _named(match["subject"], known) if match else ""
    if match is None or not subject or not _is_person(match["agent"], known):
        return ""
    verb = _IRREGULAR.get(match["verb"], match["verb"])
    return f"Who {verb} {subject}?" if verb else ""


def _who(said: str, known: Mapping[str, str]) -> str:
    match = _DID.match(said) or _ROLE.match(said)
    if match is None or not _is_person(match["agent"], known):
        return ""
    what = _LOOSE.sub("", match["what"])
    if len(what.split()) > MOST_OBJECT or _POINTING.search(what):
        return ""
    if not _OBJECT.match(what) or not _has_name(what, known):
        return ""
    return f"Who {match['verb']} {what}?"


def _how_many(said: str, known: Mapping[str, str]) -> str:
    match = _HAS.match(said)
    subject = _named(match["subject"], known) if match else ""
    if match is None or not subject:
        return ""
    verb = match["verb"]
    if verb in ("has", "have"):
        return f"How many {match['what']} {'does' if verb == 'has' else 'do'} {subject} have?"
    return f"How many {match['what']} does {subject} {_base(verb)}?"


def _what_is(said: str, known: Mapping[str, str]) -> str:
    match = _IS.match(said)
    if match is None or len(match["subject"].split()) > 5:
        return ""
    subject = _named(match["subject"], known)
    kind = known.get(normalise_name(match["subject"]), "").lower()
    if not subject or not (kind or _is_spelled(subject)) or _POINTING.search(match["what"]):
        return ""
    is_person = kind == PERSON and not _ARTICLE.match(match["subject"])
    if match["be"] in ("was", "were") and not is_person:
        return ""  # it may be a person not known as one
    return f"{'Who' if is_person else 'What'} {match['be']} {subject}?"


def _named(subject: str, known: Mapping[str, str]) -> str:
    """Return the subject as written mid-sentence; '' if it does not stand on its own."""
    bare = _ARTICLE.sub("", subject)
    first = bare.split()[0]
    if _NOT_A_SUBJECT.search(first) or not first[0].isalpha() or _BROKEN.search(subject):
        return ""
    if _POINTING.search(subject):
        return ""
    if not _has_name(subject, known):
        return ""
    return subject[0].lower() + subject[1:] if bare != subject else subject


def _has_name(text: str, known: Mapping[str, str]) -> bool:
    """Return whether the text has a name: a known one, or a capital or digit after its first
    word."""
    if normalise_name(text) in known:
        return True
    _, _, rest = text.partition(" ")
    return bool(regex.search(r"(?<![\p{L}\p{N}])(?:\p{Lu}|\d)[\p{L}\p{N}]", rest))


def _is_spelled(subject: str) -> bool:
    """Return whether every longer word is capitalised: *the Long Line*."""
    words = [word for word in subject.split() if len(word) > 3]
    return len(words) > 1 and all(word[0].isupper() for word in words)


def _is_person(name: str, known: Mapping[str, str]) -> bool:
    return known.get(normalise_name(name), "").lower() == PERSON


def _base(verb: str) -> str:
    """
    >>> _base("employs"), _base("carries"), _base("watches")
    ('employ', 'carry', 'watch')
    """
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if regex.search(r"(?:ch|sh|ss|x|z|o)es$", verb) else verb[:-1]


def _lowered(said: str, known: Mapping[str, str]) -> str:
    """Return the heading as written mid-sentence, keeping the capitals of names and titles."""
    if _ARTICLE.match(said):
        return said[0].lower() + said[1:]
    is_title = any(word[0].isupper() for word in said.split()[1:])
    return said if is_title else _small(said, known)


def _small(said: str, known: Mapping[str, str]) -> str:
    """Lower the case, unless the text or its first word is a name."""
    first = said.split()[0]
    is_name = {normalise_name(said), normalise_name(first)} & known.keys()
    return said if is_name or first[1:] != first[1:].lower() else said.lower()


def _of_chinese_sentence(said: str, known: Mapping[str, str]) -> Iterator[Wording]:
    for pattern, question in _CHINESE:
        if match := pattern.match(said):
            yield Wording(question.format(**match.groupdict()), Form.FACT)
    match = _HAN_IS.match(said)
    kind = known.get(normalise_name(match["subject"])) if match else None
    if match and kind is not None:
        who = "谁" if kind.lower() == PERSON else "什么"
        yield Wording(f"{match['subject']}是{who}？", Form.DEFINITION)


_ENGLISH: Final = (
    (_by_whom, Form.FACT),
    (_when, Form.FACT),
    (_who, Form.FACT),
    (_how_many, Form.FACT),
    (_what_is, Form.DEFINITION),
)
_CHINESE: Final = (
    (_HAN_WHEN, "{subject}是什么时候{verb}的？"),
    (_HAN_BY, "{subject}是由谁{verb}的？"),
    (_HAN_HAS, "{subject}有多少{what}？"),
)
