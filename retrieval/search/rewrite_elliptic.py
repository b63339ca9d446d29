"""Complete follow-ups that leave out what was just asked: *why?*, *how many are there?*, *what
about Bram?*

They take their words from the question before, in English and Chinese.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import regex

from kb_project.text.names import normalise_name
from kb_project.text.scripts import HAN
from retrieval.search.rewrite_lists import as_said, spelled

_LINK: Final = r"^(?:(?:and|but|so|then|ok(?:ay)?|well)\b,? ?)*+"
_AUXILIARY: Final = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)"
)
_WORD: Final = regex.compile(
    _LINK + r"(?P<word>why|when|where|how|how long|how often|by whom|with whom|since when)\W*$",
    regex.IGNORECASE,
)
# "When was it lit?" has an auxiliary, so its question word can be replaced; "Who lit it?" has none.
_ASKED: Final = regex.compile(
    r"^(?:(?:when|where|why|how(?: \p{L}+)?|(?:what|which|who|by whom)(?: \p{L}+)??) )?"
    rf"(?P<rest>{_AUXILIARY}\b .+)$",
    regex.IGNORECASE,
)
_QUESTION_WORD: Final = regex.compile(r"^(?:who|whom|whose|what|which|how)\b ?", regex.IGNORECASE)
_HOW_MANY: Final = regex.compile(
    _LINK + r"how many(?: of them)?(?: (?:is|are|was|were) there)?(?: in (?:all|total))?\W*$",
    regex.IGNORECASE,
)
_NUMERAL: Final = (
    r"(?:(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|all|main|different) )*"
)
_WHICH_ARE: Final = regex.compile(
    r"^(?:(?:what|who|which) (?P<be>are|were)|(?:list|name|give me|tell me)(?: all)?) (?:the )?"
    rf"{_NUMERAL}(?P<what>.+)$",
    regex.IGNORECASE,
)
_WHICH: Final = regex.compile(
    rf"^(?:what|which) {_NUMERAL}(?P<rest>(?:\p{{L}}[\p{{L}}-]* ){{0,3}}?\p{{L}}+s\b .+)$",
    regex.IGNORECASE,
)
_ABOUT: Final = regex.compile(
    r"^(?=(?:and|but|so|then|(?:what|how) about)\b)" + _LINK[1:] + r"(?:(?:what|how) about )?"
    rf"(?!{_AUXILIARY}\b|(?:who|what|when|where|why|which|how|if|that)\b)(?P<what>[^?]+?)\W*$",
    regex.IGNORECASE,
)
MOST_WORDS: Final = 7
"""Words of the new subject; longer text is a question of its own."""
_IN: Final = regex.compile(
    r"^(?:in|at|on|after|before|during|under|for|by|from|since) ", regex.IGNORECASE
)
_YEAR: Final = regex.compile(r"\b(?:in|on|since|by) (?:1\d|20)\d\d\b", regex.IGNORECASE)
_HAN_ABOUT: Final = regex.compile(
    r"^(?:那么?|还有|而)?，?(?P<what>[^，？?]{2,20}?)(?:怎么样)?呢[？?]?$"
)
_HAN_WHY: Final = regex.compile(
    r"^(?:那么?|但)?，?(?P<word>为什么|为何|什么时候|何时|在哪里?)呢?[？?]?$"
)
_HAN_WORD: Final = regex.compile(
    r"什么时候|什么地方|什么时间|何时|何地|为什么|为何|[在于]?哪里|哪一?[年天月日]|怎么样?|如何"
)
_HAN_HOW_MANY: Final = regex.compile(
    r"^(?:那么?)?，?(?:一共|总共|共)?有(?:多少|几)[个位种项条]?[？?]?$"
)
_HAN_WHICH: Final = regex.compile(r"(?:有|是)(?:哪[些几]个?|什么)")
_PRONOUN: Final = regex.compile(
    r"^(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|there)\b"
    r"|^the (?:same|other|rest|first|second|third|last|former|latter)\b|^[他她它这那其]",
    regex.IGNORECASE,
)


def completed(question: str, before: str, names: Sequence[str] = ()) -> str:
    """Complete the question with words of the one before; '' if it does not depend on them.

    ``names`` are those in the question before, as it spells them.

    >>> completed("Why?", "When was Skarrow Light automated?")
    'Why was Skarrow Light automated?'
    >>> completed("How many are there?", "Which departments does the Trust have?")
    'How many departments does the Trust have?'
    >>> completed("What about Bram?", "Where does Ada Lind live?", ["Ada Lind"])
    'Where does Bram live?'
    """
    before = before.strip()
    if HAN.search(question):
        return _in_chinese(question, before, names)
    if match := _WORD.match(question):
        return _asked_by(match["word"], before)
    if _HOW_MANY.match(question):
        return _counted(before)
    match = _ABOUT.match(question)
    if match is None or _PRONOUN.match(match["what"]) or len(match["what"].split()) > MOST_WORDS:
        return ""
    return _exchanged(match["what"], before, names)


def _asked_by(word: str, before: str) -> str:
    """Return the question before with another question word."""
    word = word[0].upper() + word[1:].lower()
    if before.lower().startswith(f"{word.lower()} "):
        return ""  # a second why cannot reuse the question
    if match := _ASKED.match(before):
        return f"{word} {match['rest'][0].lower()}{match['rest'][1:]}"
    rest = _QUESTION_WORD.sub("", before).rstrip("?!. ")
    return f"{word}? ({rest})" if rest else ""


def _counted(before: str) -> str:
    before = before.rstrip("?!. ")
    if match := _WHICH_ARE.match(before):
        what = regex.sub(r" (?:are|were) there$", "", match["what"])
        return f"How many {what} {match['be'] or 'are'} there?"
    if match := _WHICH.match(before):
        return f"How many {match['rest']}?"
    return ""


def _exchanged(what: str, before: str, names: Sequence[str]) -> str:
    """Return the question before about something else: another name, time or place."""
    if _IN.match(what):
        place = _YEAR.search(before)
        if place and _YEAR.match(what):
            return before[: place.start()] + what + before[place.end() :]
        return f"{before.rstrip('?!. ')} {what}?"
    names = names or spelled(before)
    if not names or normalise_name(what) in map(normalise_name, names):
        return ""
    old = as_said(names[-1], before)
    new = regex.sub(regex.escape(old), lambda _: what, before, count=1, flags=regex.IGNORECASE)
    return new if new != before else ""


def _in_chinese(question: str, before: str, names: Sequence[str]) -> str:
    if match := _HAN_WHY.match(question):
        exchanged = _HAN_WORD.sub(match["word"], before, count=1)
        return exchanged if exchanged != before else ""
    if _HAN_HOW_MANY.match(question):
        counted = _HAN_WHICH.sub("有多少", before, count=1)
        return counted if counted != before else ""
    match = _HAN_ABOUT.match(question)
    if match and not _PRONOUN.match(match["what"]) and names and match["what"] not in names:
        return before.replace(names[-1], match["what"], 1)
    return ""
