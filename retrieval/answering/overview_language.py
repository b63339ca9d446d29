"""The questions that ask for an overview, in English and Chinese, and the names by which they mean
documents and sections.

An overview is of everything, of some documents, or of a section. *What is X about?* and *Summarise
X* ask for one only if X is a document or a heading; any other X is searched for like every
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath
from typing import Final, TypeVar
from uuid import UUID

import regex

from kb_project.text.languages import HAN
from kb_project.text.regions import bare
from kb_project.text.words import terms
from retrieval.answering.overview_described import KINDS

MOST_TARGETS: Final = 5
"""Documents of the same title included in one overview."""
LONGEST_ASKED: Final = 300
"""In characters. A longer question asks for something else."""
NEAR: Final = 0.5
"""Lowest Dice coefficient of the subject's and a title's terms for the title to be meant …"""
ALONE: Final = 0.3
"""… and the same if no other title has all the subject's terms."""
MOST_NAMESAKES: Final = 3
"""Most titles that may contain the subject's only word; in more, it is a common word, not a
title."""

_ADVERB: Final = r"(?:all|mainly|mostly|basically|really|actually|generally|together)"
_SUMMARY: Final = (
    r"(?:(?:(?:brief|short|quick|general|rough|high-level|concise|complete|one-page) )?"
    r"(?:overview|summary|outline|synopsis|gist|recap|digest|résumé|run-?down|highlights)"
    r"|(?:short|brief) version|(?:main|key|most important|bullet) (?:points|takeaways|messages))"
)
_BRIEFLY: Final = r"in (?:short|brief|a nutshell)|briefly|quickly|roughly"
_POLITE: Final = regex.compile(
    r"^(?:(?:please|pls|(?:can|could|would|will) (?:you|someone|anyone|somebody|anybody)"
    r"|(?:can|could|may) i (?:have|get)|i need|i want|i'd like|i would like|let me have"
    rf"|show me|tell me|give me|write|make|provide|to know|to see|do you know|{_BRIEFLY}"
    r"|请|请你|帮我|给我|能否|可以|麻烦你?|告诉我|简单|简要|大概|大致)[ ,:，：]*)+"
    r"|[ ,]*(?:please|pls)$",
    regex.IGNORECASE,
)
_HERE: Final = regex.compile(
    rf" (?:in )?(?:here|this workspace|total)$|[ ,:]+(?:{_BRIEFLY})$", regex.IGNORECASE
)
_SUM_UP: Final = (
    rf"(?:summari[sz]e|sum up|outline|recap|(?:an?|the)? ?{_SUMMARY} (?:of|about|on|for|from)"
    r"|(?:the )?tl;?dr:?(?: (?:of|for|on))?|(?:walk|talk|take|run) (?:me|us) through"
    r"(?! how | \p{L}+ing )|brief (?:me|us) on) (?P<what>.+)"
)
_ASKS: Final = [
    regex.compile(pattern, regex.IGNORECASE)
    for pattern in (
        _SUM_UP,
        rf"(?P<what>.+?)[,:]? (?:{_BRIEFLY}|{_SUMMARY}|tl;?dr)",
        rf"what(?:'s| is| are| was| were) (?P<what>.+?) {_ADVERB}? ?about(?: in general)?",
        rf"what (?P<what>.+?) (?:is|are) {_ADVERB}? ?about",
        rf"what (?:does|do) (?P<what>.+?) {_ADVERB}? ?(?:cover|contain|deal with|discuss|talk about"
        r"|treat|address|consist of|include)",
        r"(?:what|which) (?:(?:main|major|key|general) )?(?:topics|subjects|themes|areas)"
        r" (?:are )?(?:do |does )?(?:covered |discussed |treated |there )?(?:in |by )?(?P<what>.+?)"
        r"(?: cover| discuss| contain| treat| deal with)?",
        r"what(?:'s| is| are) the (?:contents?|(?:main|major|key|central|overall) (?:topics?"
        rf"|themes?|ideas?|subjects?|points?)|{_SUMMARY})(?: (?:of|in|from|across) (?P<what>.+))?",
        r"what(?:'s| is) (?:in|there in) (?P<everything>.+)",
        r"what (?:kind|sort|type)s? of (?:documents|files|papers) are (?P<everything>.+)",
        r"what (?:does|do) (?P<everything>.+?) (?:say|tell(?: us| me)?|describe|explain)",
        rf"(?:(?:an?|the)? ?{_SUMMARY}|summari[sz]e|sum up)(?: of)?",
        r"what (?:can i|do we|do i|is there to) (?:find|learn|read|have|know|see)"
        r"(?: (?:in|from|about))? (?P<everything>.+)",
        r"(?:what (?:do we|have we|is there)|is there|do we have)(?: already)? ?(?:have|got|know"
        r"|anything|something|information|info|material|documents?)? (?:on|about) (?P<what>.+)",
        r"what (?:was|were|has been|did (?:we|they)) (?:decided?|agreed?(?: on| to)?|discuss(?:ed)?"
        r"|talk(?:ed)? about|said?) (?:in|at|during) (?P<what>(?:(?! about ).)+)",
        rf"what(?:'s| is| does| do) (?P<what>(?=.*\b(?:{KINDS})\b).+?)"
        r" (?:say(?:ing)?|describe|explain|tell (?:me|us))",
        rf"what(?:'s| is) in (?P<what>(?=.*\b(?:{KINDS})\b)(?:(?! about ).)+)",
        r"what (?:can|do) you (?:know|say|tell (?:me|us)) (?:about|of) (?P<everything>.+)",
        r"(?:概述|概括|总结|简述|归纳|综述|介绍)(?:一下|下)?(?P<what>.*)",
        r"(?P<what>.+?)(?:主要|大概|大致|都|究竟|到底|是)*(?:介绍|讨论|涉及|包含|包括|讲述|描述)"
        r"(?:了|的是|的)?(?:些)?(?:什么|哪些)(?:内容|主题|话题|东西|方面)?",
        r"(?P<what>.+?(?:文件|文档|资料|材料|文章|报告|手册|书|章|节|》|\.\w{2,5})|这里|这些)"
        r"(?:主要|大概|大致|都|究竟|到底|是)*(?:讲|说|写|谈)(?:了|的是|的)?(?:些)?什么(?:内容)?",
        r"(?P<what>.+?)(?:主要|大概|大致|都|究竟|到底)*是?(?:关于|有关)(?:什么|哪些)(?:的|内容|方面)*",
        r"(?P<what>.+?)(?:的)?(?:主要内容|内容|大意|概要|摘要|梗概|概述|主题)(?:是什么|有哪些)?",
    )
]
_EVERYTHING: Final = regex.compile(
    r"(?:(?:all|each|every|both)(?: of)? ?)?(?:(?:the|these|those|this|our|my|your) ?)?"
    r"(?:(?:uploaded|added|whole|entire|available|different|following|other|new|various) )?"
    r"(?:(?:collection|set|selection|group|bunch|pile|body) of )?"
    r"(?:documents?|files?|texts?|sources|papers|articles|materials?|corpus|collection|archive"
    r"|library|workspace|knowledge base|folder|contents?)(?: (?:here|together|i (?:added|uploaded)"
    r"|in (?:here|this workspace|the workspace)))?|everything(?: here)?|(?:in )?here|it|it all|this"
    r"|these|all(?: of)? (?:it|this|these|them|that)|all"
    r"|(?:这|那|所有|全部|整个|我们?的?|上传|已有|的|些|个|里|批|份)*(?:文件|文档|资料|材料|文章|报告|知识库"
    r"|工作区|资料库|内容|全部|所有|这里|这些)(?:里|中|都)?",
    regex.IGNORECASE,
)
_ASKS_WHERE: Final = regex.compile(
    r"(?:in )?(?:what|which)(?: of (?:the|my|our))? (?:documents?|files?|papers?|texts?|sources?"
    r"|articles?|reports?) (?:(?:all )?(?:mentions?|names?|cites?|covers?|contains?|discuss(?:es)?"
    r"|refers? to|speaks? (?:of|about)|talks? about|deals? with|(?:is|are) about(?! to\b)"
    r"|says? (?:some|any)thing about)(?: the (?:words?|phrase))? (?P<what>.+)"
    r"|(?:is|are) (?P<named>.+) (?:mentioned|named|discussed))"
    r"|where (?:is|are|was|were) (?P<where>.+) (?:mentioned|named|discussed)"
    r"|(?:哪些|哪几[份个篇]|什么)(?:文件|文档|资料|材料|文章|报告)[中里]?都?(?:提[到及]|[讲谈]到|涉及)"
    r"[了过]?(?P<chinese>.+)",
    regex.IGNORECASE,
)
_PART_OF: Final = regex.compile(
    r"(?P<part>(?:the )?(?:chapter|section|part|appendix)\b.*?) (?:of|in|from) (?P<whole>.+)"
    r"|(?P<whole>.+?)的?(?P<part>第.{1,4}[章节部篇])",
    regex.IGNORECASE,
)
_OF_FILES: Final = regex.compile(
    r"\b(?:this|these|those|the|of|some|all|your|my|our) (?:documents|files|papers|texts)\b",
    regex.IGNORECASE,
)
_THEY: Final = regex.compile(r"\b(?:they|them|it)\b")
_QUOTES: Final = " \t\"'“”‘’«»《》「」『』`*"
_END: Final = regex.compile(r"[\s?？!！.。…]+$")
_WORD: Final = regex.compile(r"\p{Han}+|[\p{Latin}\p{N}]+|\p{L}+")
# Words for a document or a part, as opposed to its name.
_KINDS: Final = frozenset(
    terms(
        "document file text article paper report book guide manual handbook story novel chapter"
        " section part page paragraph pdf epub html docx markdown tutorial called titled named"
        " about mail email e-mail message letter thread presentation deck slides sheet spreadsheet"
        " workbook essay documentation booklet brochure leaflet thesis readme"
    )
) | {"文件", "文档", "文章", "报告", "手册", "一书", "这本", "本书", "一章", "章节"}


Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Named:
    """A document's names and headings: ``(level, title, start)``."""

    document_id: UUID
    title: str
    name: str
    headings: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """``start`` is the heading's offset in its document's text."""

    document_id: UUID
    start: int


@dataclass(frozen=True, slots=True)
class Target:
    """The subject of an overview: documents, a section of one, the documents that mention a phrase,
    or, with none of these, everything."""

    documents: tuple[UUID, ...] = ()
    section: Section | None = None
    is_chinese: bool = False
    phrase: str = ""


def asked(question: str, titles: Sequence[Named]) -> Target | None:
    """Return what the question asks an overview of; None if it asks for something else.

    >>> asked("What are these documents about?", [])
    Target(documents=(), section=None, is_chinese=False, phrase='')
    >>> asked("What is the FHS?", []) is asked("Summarise the storm", []) is None
    True
    """
    is_chinese = HAN.search(question) is not None
    for subject in subjects(question):
        if _EVERYTHING.fullmatch(subject):
            return Target(is_chinese=is_chinese)
        section = _section_of(subject, titles)
        if section is None and (documents := _documents(subject, titles)):
            return Target(documents, is_chinese=is_chinese)
        if section := section or _section(subject, titles):
            return Target(section=section, is_chinese=is_chinese)
    phrase = sought_in_documents(question)
    return Target(phrase=phrase, is_chinese=is_chinese) if terms(phrase) else None


def subjects(question: str) -> Iterator[str]:
    """Yield the subject of the overview under each form that the question matches.

    >>> list(subjects("Could you summarise “A Christmas Carol”, please?"))
    ['A Christmas Carol']
    """
    if len(question) > LONGEST_ASKED:
        return
    said = _said(question)
    # With *here*, too: *What is in here?*
    for form, words in product(_ASKS, dict.fromkeys([said, _HERE.sub("", said)])):
        if found := form.fullmatch(words):
            groups = found.groupdict()
            subject = (groups.get("what") or "everything").strip(_QUOTES)
            if _EVERYTHING.fullmatch(groups.get("everything") or "everything"):
                yield subject or "everything"


def to_sum_up(question: str) -> str:
    """Return what the question asks to sum up, a document or not; empty for any other question.

    >>> to_sum_up("Sum up how the lamp is kept, please."), to_sum_up("How is the lamp kept?")
    ('how the lamp is kept', '')
    """
    found = _ASKS[0].fullmatch(_said(question)) if len(question) <= LONGEST_ASKED else None
    return str(found["what"]).strip(_QUOTES) if found else ""


def _said(question: str) -> str:
    """Return the question on one line, without courtesies and the mark at its end.

    >>> _said("I was given a pile of files. What do they deal with, please?")
    'What do these documents deal with'
    """
    said = _END.sub("", " ".join(question.replace("’", "'").split()))
    before, _, last = said.rpartition(". ")
    if _OF_FILES.search(before):
        said = _THEY.sub("these documents", last)
    asked_for: str = _END.sub("", _POLITE.sub("", said))
    return asked_for


def sought_in_documents(question: str) -> str:
    """Return *Ada Lind* of *Which documents mention Ada Lind?*; empty for any other question."""
    found = _ASKS_WHERE.fullmatch(_said(question))
    return next(filter(None, found.groups()), "").strip(_QUOTES) if found else ""


def beginnings(subject: str) -> list[str]:
    """Return prefixes of the subject's words, the same in all inflections, to match names by.

    >>> beginnings("the history of the lights")
    ['hist', 'ligh']
    """
    return [
        word[:2] if HAN.match(word) else word[:4]
        for word in _WORD.findall(subject)
        if set(terms(word)) - _KINDS
    ]


def _documents(subject: str, titles: Sequence[Named]) -> tuple[UUID, ...]:
    """Return the documents with that name."""
    for wanted in _wanted(subject):
        scored = [(_likeness(wanted, _called(one)), one.document_id) for one in titles]
        if meant := _meant(wanted, scored):
            return tuple(meant[:MOST_TARGETS])
    return ()


def _meant(wanted: frozenset[str], scored: Sequence[tuple[float, Thing]]) -> list[Thing]:
    """Return the exact matches, else the single closest one."""
    namesakes = sum(score > 0 for score, _ in scored)
    best = max((score for score, _ in scored), default=0.0)
    top = [thing for score, thing in scored if score == best]
    if best == 1.0:
        return top
    if len(wanted) == 1 and namesakes > MOST_NAMESAKES:
        return []
    enough = ALONE if namesakes == 1 else NEAR
    return top if len(top) == 1 and best >= enough else []


def _section_of(subject: str, titles: Sequence[Named]) -> Section | None:
    """Find *chapter 3 of the handbook*."""
    found = _PART_OF.fullmatch(subject)
    if found is None:
        return None
    meant = _documents(found["whole"], titles)
    return _section(found["part"], [one for one in titles if one.document_id in meant])


def _section(subject: str, titles: Sequence[Named]) -> Section | None:
    """Return the section with that heading; of several, the first of the highest level."""
    for wanted in _wanted(subject):
        scored = [
            (_likeness(wanted, [terms(bare(title)), terms(title)]), (level, one, start))
            for one in titles
            for level, title, start in one.headings
        ]
        if meant := _meant(wanted, scored):
            _, one, start = min(meant, key=lambda each: each[0])
            return Section(one.document_id, start)
    return None


def _wanted(subject: str) -> Iterator[frozenset[str]]:
    """Yield the subject's terms, then again without words for its kind."""
    every = frozenset(_terms_of_name(subject))
    if every:
        yield every
    if every & _KINDS and every - _KINDS:
        yield every - _KINDS


def _called(one: Named) -> list[list[str]]:
    """Return a document's names: its title, its file name, and that without extension and
    language."""
    path = PurePath(one.name)
    stem = path.name.removesuffix("".join(path.suffixes)) or path.stem
    return [*map(_terms_of_name, (bare(one.title), one.title, one.name, stem))]


def _terms_of_name(name: str) -> list[str]:
    """*ADR 0017* is called *ADR 17*, too."""
    return [term.lstrip("0") or term for term in terms(name)]


def _likeness(wanted: frozenset[str], called: Sequence[Sequence[str]]) -> float:
    """Return the Dice coefficient of the closest name; 0 if a wanted term is missing."""
    sets = [frozenset(each) for each in called]
    return max(
        (2 * len(wanted) / (len(wanted) + len(each)) for each in sets if wanted <= each),
        default=0.0,
    )
