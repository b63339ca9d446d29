"""Resolve follow-ups to a list: *the second one*, *which of them*, *and the third?*

What a question or an answer lists is read off its text: entries on separate lines, else what a
sentence joins by commas and *and*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import regex

from kb_project.text.scripts import HAN
from kb_project.text.terms import terms

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


class Said(Protocol):
    """A turn of the conversation."""

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


def picked(question: str, turns: Sequence[Said]) -> str:
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


def as_said(name: str, *texts: str) -> str:
    """Return the name, with "the" if one of the texts uses it.

    >>> as_said("Social Contract", "When was the Social Contract adopted?")
    'the Social Contract'
    """
    article = regex.compile(rf"\bthe {regex.escape(name)}\b", regex.IGNORECASE)
    return f"the {name}" if any(article.search(text) for text in texts) else name


def _picked_one(question: str, turns: Sequence[Said]) -> str:
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
        item = as_said(items[place], turn.question, turn.answer)
        return f"{question[: match.start()]}{item}{question[end:]}"
    return ""


def _picked_all(question: str, turns: Sequence[Said]) -> str:
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


def _items_of(turn: Said) -> tuple[str, ...]:
    """Return the list in the question itself, else the one in its answer."""
    return listed(turn.question) or listed(turn.answer)


def _item(line: str) -> str:
    said = _EMPHASIS.sub("", _MARK.sub("", line)).strip()
    return str(_REST.sub("", said)).strip() or said
