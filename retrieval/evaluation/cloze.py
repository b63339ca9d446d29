"""Make questions without a language model, from sentences that contain a name.

"Ada Lind keeps the light" becomes "Who keeps the light?"; if the name does not begin the sentence,
it is replaced by a gap to fill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kb_project.text.scripts import HAN
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms

SHORTEST: Final = 30
LONGEST: Final = 260
"""Characters of a sentence to make a question from; Chinese needs a third as many."""
FEWEST_TERMS: Final = 3
"""Terms besides the answer, by which it can be searched for."""
GAP: Final = "____"

_LEANING: Final = regex.compile(
    r"\W*(?:he|she|it|they|his|her|its|their|this|that|these|those|both|here|there|then|also|but|and"
    r"|however|such|another|other|we|i|you|our|my|your)\b|\W*[他她它这此其]",
    regex.IGNORECASE,
)
_ENDS: Final = regex.compile(r"[.。!！]['\"”’」』]*$")
_VERB_FOLLOWS: Final = regex.compile(
    r"\s+(?:is|was|has|had|keeps?|kept|founded|wrote|writes|built|made|makes|became|led|leads|held"
    r"|holds|won|designed|directed|played|plays|said|says|runs|ran|owns|owned|bought|sold|joined"
    r"|left|gave|gives|took|takes|opened|closed|moved|created|invented|discovered|married|died"
    r"|lives|lived|works|worked|\p{Ll}{3,}(?:ed|es))\s+\S"
)
_YEAR: Final = regex.compile(r"(?<![\d.,])(?:1[0-9]|20)\d\d(?![\d,]|\.\d)")
_ASKED: Final = {
    "person": "Who is missing here",
    "organization": "Which organisation is missing here",
    "group": "Which group is missing here",
    "place": "Which place is missing here",
    "location": "Which place is missing here",
    "facility": "Which place is missing here",
    "year": "Which year is missing here",
}
_ASKED_HAN: Final = "这句话里缺了什么"


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a passage; offsets are in the passage's text."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Made:
    """A question with its answer; ``quote`` is the sentence as in the passage."""

    question: str
    answer: str
    quote: str


def make(text: str, names: Sequence[Name]) -> Made | None:
    """Return a passage's best question: who-questions first, then gaps, in reading order."""
    found = list(_questions(text, names))
    return min(found, key=lambda made: GAP in made.question, default=None)


def _questions(text: str, names: Sequence[Name]) -> Iterator[Made]:
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if not _stands_alone(sentence):
            continue
        inside = [one for one in names if start <= one.start and one.end <= end]
        years = [
            Name(start + found.start(), start + found.end(), "year")
            for found in _YEAR.finditer(sentence)
        ]
        for name in [*inside, *years]:
            question = _question(sentence, name, start)
            if question:
                yield Made(question, _on_one_line(sentence), sentence)


def _stands_alone(sentence: str) -> bool:
    """Return whether the sentence can be understood without the one before it."""
    length = len(sentence) * (3 if HAN.search(sentence) else 1)
    is_prose = _ENDS.search(sentence) is not None and "|" not in sentence
    return SHORTEST <= length <= LONGEST and is_prose and not _LEANING.match(sentence)


def _question(sentence: str, name: Name, start: int) -> str:
    """Return the question, '' if too little is left to search for the answer by."""
    before, after = sentence[: name.start - start], sentence[name.end - start :]
    own = set(terms(sentence[name.start - start : name.end - start]))
    if not own or len(set(terms(before + " " + after)) - own) < FEWEST_TERMS:
        return ""
    kind = name.type.lower()
    if kind == "person" and not before.strip() and _VERB_FOLLOWS.match(after):
        return f"Who {_ENDS.sub('', _on_one_line(after))}?"
    asked = _ASKED_HAN if HAN.search(sentence) else _ASKED.get(kind)
    if not asked:
        return ""
    return f"{asked}: “{_on_one_line(before + GAP + after)}”"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
