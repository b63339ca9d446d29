"""Read from a sentence what it says that a name is: *Descartes, a famous philosopher*.

*Tux is a penguin*, *programs such as Snowie*, *the Transfer Funds window*: a common noun that the
parser connects with a name tells more than a recogniser's guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ingestion.extractors.extraction import (
    CONCEPT,
    EVENT,
    GROUP,
    LANGUAGE,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    WORK,
)
from kb_project.llm.vocabulary import are_common

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

# Nouns that mean one type only: an owner may be a company, and a project a program.
_NOUNS: Final = {
    PERSON: """
        actor actress anarchist architect artist astronomer author bishop brother captain chemist
        composer critic daughter director doctor economist emperor engineer explorer father
        filmmaker footballer general grandson hero historian husband inventor journalist king
        lawyer mathematician mayor merchant monk mother musician nephew nobleman novelist nurse
        painter philosopher photographer physician physicist pianist playwright poet politician
        priest prince princess professor programmer queen researcher revolutionary saint scholar
        scientist sculptor singer sister soldier son songwriter teacher wife woman writer
    """,
    PLACE: """
        airport capital city country county district hamlet island lake mountain neighborhood
        neighbourhood planet port province region river state street suburb town village
    """,
    ORGANIZATION: """
        agency association band bank club company corporation federation firm manufacturer museum
        newspaper orchestra organisation organization party publisher university
    """,
    WORK: """
        album anthology article book essay film journal magazine manuscript memoir movie novel
        opera pamphlet paper play poem song symphony textbook
    """,
    PRODUCT: """
        app application browser compiler computer daemon device distribution editor game
        package program programme satellite ship software spacecraft tool toolkit utility
    """,
    EVENT: "battle competition conference congress election festival revolt tournament war",
    GROUP: "ethnicity nationality tribe",
    LANGUAGE: "dialect",
}
_KIND_OF_NOUN: Final = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns.split()}
CONTROLS: Final = frozenset(
    """
    button buttons checkbox column columns dialog dialogs dialogue field fields icon key keys menu
    menus option options pane panel screen tab tabs toolbar window windows
    """.split()
)
"""*the Transfer Funds window*: what a program shows is named by what it does."""
_NOT_OF_COMMON_WORDS: Final = frozenset({PRODUCT, PLACE, GROUP})
"""*Temperature Map is a tool*, but no one's name."""
_ARE: Final = frozenset(["is", "was", "are", "were"])
_EXAMPLES: Final = frozenset(["as", "like"])


def said_to_be(name: Span) -> str | None:
    """The type of the noun that the name's sentence gives it, or None."""
    if _is_shown(name):
        return CONCEPT
    kind = next(filter(None, map(_kind_of_noun, _nouns(name))), None)
    is_shouted = name.text.isupper()
    if kind is None or (is_shouted and kind == PERSON):
        return None
    doubts = is_shouted or kind in _NOT_OF_COMMON_WORDS
    return None if doubts and are_common(words_of(name)) else kind


def words_of(name: Span) -> list[str]:
    return [token.lower_ for token in name if token.is_alpha]


def _is_shown(name: Span) -> bool:
    """*the Post Bill window*, *the "Damage Calculations" button*."""
    behind = name.doc[name.end : name.end + 2]
    if len(behind) > 1 and behind[0].is_quote:
        behind = behind[1:]
    return bool(len(behind)) and behind[0].text in CONTROLS


def _kind_of_noun(noun: Token) -> str | None:
    if noun.pos_ != "NOUN" or any(child.dep_ == "neg" for child in noun.head.children):
        return None
    word = noun.lower_
    return _KIND_OF_NOUN.get(word) or _KIND_OF_NOUN.get(word.removesuffix("s"))


def _nouns(name: Span) -> Iterator[Token]:
    root = name.root
    head = root.head
    is_near = head.i - name.end < 2 or name.doc[name.end].text == "("
    if root.dep_ == "nsubj" and head.lower_ in _ARE and is_near:
        yield from (child for child in head.children if child.dep_ == "attr")
    yield from _apposed(name)
    before = name.doc[name.start - 1] if name.start else None
    if before is None:
        return
    if before == head or before.head == root:
        yield before
    if root.dep_ == "pobj" and head.lower_ in _EXAMPLES and head.i:
        such = head.nbor(-1)
        yield such.nbor(-1) if such.lower_ == "such" and such.i else such
    if before.lower_ in ("called", "named") and before.i:
        yield before.nbor(-1)


def _apposed(name: Span) -> Iterator[Token]:
    """*Descartes, a famous philosopher*: the parser often misses it, and is needed for *the*."""
    behind = name.doc[name.end : name.end + 7]
    if len(behind) < 3 or behind[0].text != ",":
        return
    if behind[1].lower_ not in ("a", "an", "another"):
        nouns = (child for child in name.root.children if child.i > name.end)
        yield from [noun for noun in nouns if noun.dep_ == "appos" and _has_article(noun)][:1]
        return
    for word, following in pairwise(behind[2:]):
        if word.pos_ == "NOUN" and following.pos_ not in ("NOUN", "PROPN", "PART"):
            yield word
            return
        if word.pos_ not in ("ADJ", "ADV", "NOUN", "PART", "PROPN", "VERB") and word.text != "-":
            return


def _has_article(noun: Token) -> bool:
    return any(child.dep_ == "det" for child in noun.children)
