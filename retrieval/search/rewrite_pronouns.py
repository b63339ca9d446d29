"""Resolve the pronouns of follow-up questions to names by rules, for the local tier.

Pure functions for English and Chinese. Careful rather than clever: a question that stands on its
own is left as it is, a name is only taken from what was recently asked and answered, and what is
added is visible. In other languages, names are only added to questions that have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

from kb_project.text.languages import HAN
from retrieval.search.answer_kinds import Kind, kind_of
from retrieval.search.query_features import is_filler, read
from retrieval.search.rewrite_ellipsis import with_article
from retrieval.search.scope_entities import Named

MOST_NAMES: Final = 3
FEW_TERMS: Final = 1
"""A question with no name and no more telling terms than this depends on what was said before: "Who
paid?" does, "What does the lamp burn?" has something of its own to search for."""


class StandsFor(StrEnum):
    """What a pronoun may refer to."""

    PERSON = "person"
    PEOPLE = "people"
    THING = "thing"
    PLACE = "place"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class NamedTurn:
    """An earlier turn with the names in it, in the order of the text."""

    question: str
    asked: Sequence[Named]
    answered: Sequence[Named]


# The first match decides: "Did she go there?" is about her.
_PRONOUNS: Final = tuple(
    (what, regex.compile(pattern, regex.IGNORECASE))
    for what, pattern in (
        (
            StandsFor.PEOPLE,
            r"\b(?:they|them|theirs?|both of (?:them|these|those)|each other)\b"
            r"|[他她它]们|二人|两人",
        ),
        (
            StandsFor.PERSON,
            r"\b(?:he|him|his|she|hers?|himself|herself)\b|[他她]|此人|该人|这[个位]人",
        ),
        (
            StandsFor.PLACE,
            r"\b(?:over |up |down )?there\b(?! (?:is|are|was|were|be|been|any|a)\b)"
            r"|那里|那儿|这里|这儿|当地|此地",
        ),
        (StandsFor.THING, r"\bits?\b|\bitself\b|它|该[书船公司城国]"),
        (
            StandsFor.ANYTHING,
            r"\b(?:this|that|these|those)(?= (?:is|are|was|were|do|does|did|has|have|had|mean"
            r"|happen)|\W*$)|\bthe (?:same|latter|former|other|first|second)\b"
            r"|^(?:and|but|so|also|then)\b|^(?:what|how) about\b|^why\W*$|^when\W*$|^where\W*$"
            r"|^[那]|呢[？?]?$|其|这[个些件]|那[个些件]",
        ),
    )
)
_DUMMY: Final = regex.compile(
    r"\bit(?:'s| is| was)? (?:true|possible|likely|said|known|clear|necessary|rain|raining|snow)"
    r"|\b(?:is|was) it (?:true|possible|likely|said|known|clear|necessary|raining)"
    r"|\bwhat time is it\b",
    regex.IGNORECASE,
)
_THERE_IS: Final = regex.compile(r"\b(?:is|are|was|were) there\b", regex.IGNORECASE)
_SUBJECTS: Final = regex.compile(r"\b(?:he|she|they|him|them)\b|[他她它]们?", regex.IGNORECASE)
_OWNERS: Final = regex.compile(r"\b(?:his|their|hers|theirs)\b", regex.IGNORECASE)
# "her" is possessive unless nothing follows, or what follows is not a noun.
_HER: Final = regex.compile(
    r"\bher\b(?P<object>(?=\W*$|\s+(?:to|in|on|at|by|for|from|with|of|and|or|when|after|before|as)\b))?",
    regex.IGNORECASE,
)
_IT: Final = regex.compile(r"\bit\b|它", regex.IGNORECASE)
_ITS: Final = regex.compile(r"\bits\b", regex.IGNORECASE)
_SUBJECT: Final = regex.compile(
    r"^(?P<asks>who|what) (?:is|are|was|were) (?:the |an? )?(?P<what>[^\s?]+(?: [^\s?]+){0,4})\W*$"
    r"|^(?P<what>[^，？?]{2,20})(?:是(?P<asks>什么|谁))[？?]?$",
    regex.IGNORECASE,
)
_TYPES: Final = {
    "person": StandsFor.PERSON,
    "people": StandsFor.PEOPLE,
    "organization": StandsFor.PEOPLE,
    "organisation": StandsFor.PEOPLE,
    "group": StandsFor.PEOPLE,
    "company": StandsFor.PEOPLE,
    "place": StandsFor.PLACE,
    "location": StandsFor.PLACE,
    "city": StandsFor.PLACE,
    "country": StandsFor.PLACE,
    "gpe": StandsFor.PLACE,
}
_UNKNOWN: Final = frozenset({"", "name", "unknown", "other"})
_ALLOWED: Final = {
    StandsFor.PERSON: {StandsFor.PERSON},
    StandsFor.PEOPLE: {StandsFor.PERSON, StandsFor.PEOPLE},
    StandsFor.THING: {StandsFor.THING, StandsFor.PLACE, StandsFor.PEOPLE},
    StandsFor.PLACE: {StandsFor.PLACE},
}
_WHO_IS: Final = regex.compile(
    r"\b(?:who|what|where) (?:is|was|are|were)\b|\b(?:the|and|then)\b"
    r"|是谁|是什么人|在哪[里儿]|[那又]",
    regex.IGNORECASE,
)
_WHO: Final = {Kind.PERSON: StandsFor.PERSON, Kind.PLACE: StandsFor.PLACE}


def unnamed_reference(question: str, *, has_name: bool) -> StandsFor | None:
    """Return what the question refers to without naming it; None if it stands on its own.

    >>> unnamed_reference("When was she born?", has_name=False).value
    'person'
    >>> unnamed_reference("那他的妻子呢？", has_name=False).value
    'person'
    >>> unnamed_reference("Is it true that the harbour froze in winter 1893?", has_name=False)
    """
    asked = _THERE_IS.sub(" ", _DUMMY.sub(" ", question)).strip()
    for what, pattern in _PRONOUNS:
        if pattern.search(asked) and not (has_name and what is StandsFor.ANYTHING):
            return what
    telling = [term for term in read(question).terms if not is_filler(term)]
    if has_name or len(telling) > FEW_TERMS:
        return None
    return StandsFor.ANYTHING


def names_for(what: StandsFor, turns: Sequence[NamedTurn], own: Iterable[Named]) -> list[Named]:
    """Return the names meant, from the newest of the turns (oldest first) that has any.

    Names of another kind are used only if no turn has one that fits; names already in the question
    never are.
    """
    left_out = {one.entity_id for one in own}
    sure = {
        one.entity_id
        for turn in turns
        if _WHO.get(kind_of(turn.question)) is what and _asks_who_that_is(turn)
        for one in turn.asked
    }
    others: list[Named] = []
    for turn in reversed(turns):
        found = [one for one in _in_order(turn, what) if one.entity_id not in left_out]
        fitting = [one for one in found if fits(one, what) or one.entity_id in sure]
        if fitting:
            return _as_many(fitting, turn, what)
        others = others or found
    return others[:1]


def _as_many(fitting: list[Named], turn: NamedTurn, what: StandsFor) -> list[Named]:
    """Return one person or several people; of things and places those the question was about, or
    one."""
    if what is StandsFor.PERSON:
        return fitting[:1]
    if what is StandsFor.PEOPLE or fitting[0] not in turn.asked:
        return fitting[: MOST_NAMES if what is StandsFor.PEOPLE else 1]
    return [one for one in fitting if one in turn.asked][:MOST_NAMES]


def fits(named: Named, what: StandsFor) -> bool:
    """Return whether a name fits; its type is often unknown, and sometimes wrong."""
    if named.type.lower() in _UNKNOWN:
        return True
    kind = _TYPES.get(named.type.lower(), StandsFor.THING)
    return kind in _ALLOWED.get(what, {kind})


def _in_order(turn: NamedTurn, what: StandsFor) -> list[Named]:
    """Order the names: those in the answer first if the question asked for that kind; else those
    the question was about. A question's own names precede the answer's."""
    in_question = {one.entity_id for one in turn.asked}
    new = [one for one in turn.answered if one.entity_id not in in_question]
    if _WHO.get(kind_of(turn.question)) is what and not _asks_who_that_is(turn):
        return [*new, *turn.asked]
    if what is StandsFor.ANYTHING and turn.asked:
        return list(turn.asked)
    return [*turn.asked, *new]


def _asks_who_that_is(turn: NamedTurn) -> bool:
    """Return whether the question only asks who its one name is: "Who was Ada Lind?"."""
    if len(turn.asked) != 1:
        return False
    rest = _WHO_IS.sub(" ", turn.question.replace(turn.asked[0].surface, " "))
    return not regex.search(r"[\p{L}\p{N}]", rest)


def subject_of(question: str, what: StandsFor) -> str:
    """Return the subject of a question that asks nothing else, whether its name is known or not.

    >>> subject_of("What is dquilt?", StandsFor.THING)
    'dquilt'
    >>> subject_of("What is dquilt?", StandsFor.PERSON)
    ''
    """
    match = _SUBJECT.match(question)
    if match is None or unnamed_reference(question, has_name=True):
        return ""
    kind = StandsFor.PERSON if match["asks"].lower() in ("who", "谁") else StandsFor.THING
    return str(match["what"]) if what in (kind, StandsFor.ANYTHING) else ""


def with_names(question: str, names: Sequence[str], *texts: str) -> str:
    """Put the names into the question: in place of the pronoun if that reads well, else in brackets
    after it.

    Earlier ``texts`` show whether a thing takes an article.

    >>> with_names("And when did he leave his wife?", ["Ada Lind"])
    "And when did Ada Lind leave Ada Lind's wife?"
    >>> with_names("那他的妻子呢？", ["朱元璋"])
    '那朱元璋的妻子呢？'
    >>> with_names("When was it adopted?", ["Social Contract"], "What is the Social Contract?")
    'When was the Social Contract adopted?'
    >>> with_names("Why?", ["Skarrow Light"])
    'Why? (Skarrow Light)'
    """
    if len(names) == 1:
        placed = _placed(question, names[0])
        if placed == question and not _DUMMY.search(question):
            placed = _placed_thing(question, with_article(names[0], *texts))
        if placed != question:
            return placed
    if HAN.search(question):
        return f"{question}（{'、'.join(names)}）"
    return f"{question} ({', '.join(names)})"


def _placed(question: str, name: str) -> str:
    owner = _owner(name)

    def her(match: regex.Match[str]) -> str:
        return name if match.group("object") is not None else owner

    placed = _SUBJECTS.sub(lambda _: name, question)
    return str(_HER.sub(her, _OWNERS.sub(lambda _: owner, placed)))


def _placed_thing(question: str, name: str) -> str:
    placed = _IT.sub(lambda _: name, question, count=1)
    return str(_ITS.sub(lambda _: _owner(name), placed, count=1))


def _owner(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"
