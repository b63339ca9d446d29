"""Complete follow-ups that leave something out, in English and Chinese.

Some leave out what was just asked: *why?*, *how many are there?*, *what about Bram?* They take
their words from the question before. Others point to a list: *the second one*, *which of them*,
*and the third?* What a question or an answer lists is read off its text: entries on separate lines,
else what a sentence joins by commas and *and*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import regex

from kb_project.text.languages import HAN
from kb_project.text.names import normalise_name
from kb_project.text.words import terms

LONGEST_READ: Final = 4_000
"""Characters of a text that are read."""
LONGEST_ITEM: Final = 60
MOST_ITEMS: Final = 12
"""More would not help in a question."""

_MARK: Final = regex.compile(
    r"^\s*(?:[-*+•‣–]|\(?\d{1,2}[.)、]|[（(]?[一二三四五六七八九十]+[)）、])\s*"
)
_EMPHASIS: Final = regex.compile(r"\*\*|__|[*`]")
_STOP: Final = regex.compile(r"[.!?…。！？；]\W*$")
# An entry begins with its subject: "Lights, led by Magnus", "The cliff. If nothing ...".
_REST: Final = regex.compile(
    r"(?:[,;:，；：。]|\.\s|\s[–—-]\s|\s?[(（]|\s(?:is|are|was|were)\s).*$", regex.DOTALL
)
_NAME: Final = (
    r"\p{Lu}[\p{L}\p{N}.'’-]*"
    r"(?: (?:(?:of|the|for|in|to|de|von|van) ){0,2}[\p{Lu}\p{N}][\p{L}\p{N}.'’-]*){0,5}+"
)
_NAMES: Final = regex.compile(
    rf"(?P<item>{_NAME})(?:, (?:the )?(?P<item>{_NAME})){{0,10}}+"
    rf",? (?:and|or) (?:the )?(?P<item>{_NAME})"
)
_HAN_NAME: Final = r"(?P<item>[[\p{L}\p{N}·]--[有是在的]]{2,12}?)"
_HAN_NAMES: Final = regex.compile(
    rf"(?V1)(?:(?:^|[，。：；有是在])\s*){_HAN_NAME}(?:、{_HAN_NAME}){{0,10}}"
    rf"[、和与及]{_HAN_NAME}(?=[的是在有都，。；？]|$)"
)

_ORDINALS: Final = {
    **{
        word: place
        for place, names in enumerate(
            (
                "first 1st former 一 1 前者",
                "second 2nd 二 2",
                "third 3rd 三 3",
                "fourth 4th 四 4",
                "fifth 5th 五 5",
                "sixth 6th 六 6",
                "seventh 7th 七 7",
                "eighth 8th 八 8",
                "ninth 9th 九 9",
                "tenth 10th 十 10",
            )
        )
        for word in names.split()
    },
    **dict.fromkeys(("last", "latter", "最后一", "后者"), -1),
}
_ENGLISH: Final = "|".join(word for word in _ORDINALS if word.isascii() and not word.isdigit())
# "The second" and "the second one"; "the second spirit" if the question was about spirits.
_ORDINAL: Final = regex.compile(
    rf"\bthe (?P<which>{_ENGLISH})\b(?: (?P<noun>ones?\b|(?!of\b|to\b|in\b|for\b)\p{{Ll}}+))?",
    regex.IGNORECASE,
)
_HAN_ORDINAL: Final = regex.compile(
    r"第(?P<which>[一二三四五六七八九十]|\d{1,2})[个位种项条]"
    r"|(?P<which>最后一)[个位种项条]|(?P<which>[前后]者)"
)
_NO_NOUNS: Final = frozenset({"may", "might", "must", "should"})
_ALL: Final = regex.compile(
    r"\b(?P<which>which|how many|who|what|any|each|all|both|one|some|most|none) "
    r"of (?:them|these|those)\b|\b(?P<which>which) ones?\b",
    regex.IGNORECASE,
)
_HAN_ALL: Final = regex.compile(r"其中|(?:[他她它]们|这些)(?:当中|之中|中间?|里面?)")
_ASKS_WHO: Final = regex.compile(
    r"\b(?:who|what|which)(?: \p{L}+)? (?:is|are|was|were)\s*$", regex.IGNORECASE
)


class EarlierTurn(Protocol):
    """An earlier turn, such as ``retrieval.answering.drafts.Earlier``."""

    @property
    def question(self) -> str: ...

    @property
    def answer(self) -> str: ...


def listed(text: str) -> tuple[str, ...]:
    """Return what the text lists, in order; () if it lists nothing.

    >>> listed("The keepers were:\\n- Ada Lind, from 1866\\n- Bram Oost, until 1890")
    ('Ada Lind', 'Bram Oost')
    >>> listed("Servers run Stable or Testing.")
    ('Stable', 'Testing')
    >>> listed("She kept the light.")
    ()
    """
    text = text[:LONGEST_READ]
    lines = [line for line in text.splitlines() if line.strip()]
    entries = [line for line in lines if _MARK.match(line)]
    if len(entries) < 2:  # an answer may show entries without markers
        entries = [
            line for line in lines if not _STOP.search(line) and not line.endswith((":", "："))
        ]
    if len(entries) >= 2:
        items = [_item(line) for line in entries]
    else:
        match = _NAMES.search(text) or _HAN_NAMES.search(text)
        items = [item.rstrip(".") for item in match.captures("item")] if match else []
    kept = tuple(dict.fromkeys(item for item in items if 0 < len(item) <= LONGEST_ITEM))
    return kept[:MOST_ITEMS] if len(kept) > 1 else ()


def picked(question: str, turns: Sequence[EarlierTurn]) -> str:
    """Replace a reference to a list in the question by what it means; '' if it has none.

    Uses the newest of the turns (oldest first) whose list is long enough.
    """
    return _picked_one(question, turns) or _picked_all(question, turns)


def spelled(text: str) -> list[str]:
    """Return runs of capitalised words, ignoring the first word.

    >>> spelled("Does the Ghost of Christmas Past speak?")
    ['Ghost of Christmas Past']
    """
    return [match.group() for match in regex.finditer(rf"(?<=\s)(?:{_NAME})", text[:LONGEST_READ])]


def with_article(name: str, *texts: str) -> str:
    """Return the name, with "the" if one of the texts uses it.

    >>> with_article("Social Contract", "When was the Social Contract adopted?")
    'the Social Contract'
    """
    article = regex.compile(rf"\bthe {regex.escape(name)}\b", regex.IGNORECASE)
    return f"the {name}" if any(article.search(text) for text in texts) else name


def _picked_one(question: str, turns: Sequence[EarlierTurn]) -> str:
    match = _ORDINAL.search(question) or _HAN_ORDINAL.search(question)
    if match is None:
        return ""
    noun = (match.groupdict().get("noun") or "").lower()
    if noun and _ASKS_WHO.search(question[: match.start()]):
        return ""  # "Who was the first keeper?" is a complete question
    place = _ORDINALS[match["which"].lower()]
    for turn in reversed(turns):
        items = _items_of(turn)
        if len(items) <= place or not items:
            continue
        end = match.end()
        if noun in _NO_NOUNS or not terms(noun):
            end -= len(f" {noun}") if noun else 0
        elif not noun.startswith("one") and not set(terms(noun)) & set(terms(turn.question)):
            continue
        item = with_article(items[place], turn.question, turn.answer)
        return f"{question[: match.start()]}{item}{question[end:]}"
    return ""


def _picked_all(question: str, turns: Sequence[EarlierTurn]) -> str:
    match = _ALL.search(question) or _HAN_ALL.search(question)
    if match is None:
        return ""
    items = next(filter(None, map(_items_of, reversed(turns))), ())
    if not items:
        return ""
    before, after = question[: match.start()], question[match.end() :]
    if HAN.search(question):
        return f"{before}{'、'.join(items)}中{after}"
    return f"{before}{match['which']} of {', '.join(items[:-1])} and {items[-1]}{after}"


def _items_of(turn: EarlierTurn) -> tuple[str, ...]:
    """Return the list in the question itself, else the one in its answer."""
    return listed(turn.question) or listed(turn.answer)


def _item(line: str) -> str:
    entry = _EMPHASIS.sub("", _MARK.sub("", line)).strip()
    return str(_REST.sub("", entry)).strip() or entry


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
    old = with_article(names[-1], before)
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
