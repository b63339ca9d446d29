"""What stands around a name says of its kind: titles, who speaks, whose brother somebody is.

A small model's guess is right for most persons and places and often wrong for the rest: what it
calls an organization is as often a program, a heading or a spirit. So a guess counts where
something bears it out, and what bears it out best is written around the name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import regex

from ingestion.extractors.found import (
    CONCEPT,
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    WORK,
)

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

HONORIFICS: Final = frozenset(["mr", "mr.", "dr", "dr.", "prof", "prof.", "professor"])
FORMS_OF_ADDRESS: Final = frozenset(["mrs", "mrs.", "ms", "ms.", "miss", "sir", "lady", "madame"])


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BEFORE_PERSON: Final = (
    HONORIFICS
    | FORMS_OF_ADDRESS
    | _listed(
        """
    captain king queen prince princess pope saint rev reverend uncle aunt cousin brother sister
    father mother grandfather grandmother son daughter wife husband nephew niece friend partner
    president chairman chairwoman director engineer secretary treasurer minister senator governor
    author writer poet artist painter architect composer actor actress singer scientist leader
    founder developer maintainer skipper keeper inspector detective lord duke earl baron count
    """
    )
)
_SPEECH: Final = _listed(
    """
    said say says cried cries asked asks replied replies answered answers exclaimed returned
    inquired observed remarked muttered whispered added continued explained told tells laughed
    smiled nodded wept sighed thought thinks believed felt knew wrote writes married died born
    retired resigned became joined
    """
)
_KIN: Final = _listed(
    """
    wife husband brother sister father mother son daughter nephew niece uncle aunt cousin partner
    friend widow face hand hands eyes voice heart head hair clerk child children life death career
    """
)
_MEMBERS: Final = _listed("at by with for of from joined join member members employee")
_BEFORE_PLACE: Final = _listed("in at near from to into towards toward around outside across via")
_COMPANY: Final = _listed(
    """
    company firm organization organisation group agency institute charity band team party bank
    university committee
    """
)
_THINGS: Final = _listed(
    """
    package packages program programs programme software tool tools library libraries command
    commands system systems script scripts distribution language editor framework utility daemon
    file files format server client kernel desktop installer module modules release releases
    architecture version versions website app application database protocol
    """
)
_ACRONYM: Final = regex.compile(r"(?:\p{Lu}\.?){2,6}s?")


def kind_around(name: Span, guess: str, common: Collection[str]) -> tuple[str, bool]:
    """The name's kind by what is around it, and whether that says so beyond a guess.

    ``guess`` is a recogniser's, NAME where it had none; ``common`` are the words that the text has
    in small letters. A phrase of common words and an abbreviation that nothing bears out are terms.
    """
    before, after = _neighbour(name, -1), _neighbour(name, +1)
    if _is_person(name, before, after):
        return PERSON, True
    if _names_thing(before, after):
        return PRODUCT, True
    words = [token.lower_ for token in name if token.is_alpha]
    is_phrase = not words or words[-1] in common
    if guess == PLACE:
        is_inside = before is not None and before.lower_ in _BEFORE_PLACE
        return (PLACE, is_inside) if is_inside or not is_phrase else (NAME, False)
    if guess == PERSON:
        return (PERSON, False) if not is_phrase else (NAME, False)
    if guess == ORGANIZATION and _is_organization(name, before):
        return ORGANIZATION, False
    if guess not in (ORGANIZATION, PRODUCT, WORK, NAME):
        return guess, False
    is_term = all(word in common for word in words) or _ACRONYM.fullmatch(name.text) is not None
    return (CONCEPT if is_term else NAME), False


def _neighbour(name: Span, step: int) -> Token | None:
    at = name.start - 1 if step < 0 else name.end
    return name.doc[at] if 0 <= at < len(name.doc) else None


def _is_person(name: Span, before: Token | None, after: Token | None) -> bool:
    if before is not None and before.lower_ in _BEFORE_PERSON and before.pos_ != "VERB":
        return name[0].text[:1].isupper()
    if name[0].lower_ in HONORIFICS | FORMS_OF_ADDRESS and len(name) > 1:
        return True
    if after is None:
        return False
    if after.lower_ in _SPEECH:
        return True
    beyond = after.doc[after.i + 1] if after.i + 1 < len(after.doc) else None
    if beyond is None:
        return False
    if after.text in ("'s", "’s") and beyond.lower_ in _KIN:
        return True
    return after.text == "," and beyond.lower_ in ("who", "whose", "aged")


def _names_thing(before: Token | None, after: Token | None) -> bool:
    """*the dpkg package*, *the program Alien*."""
    return (after is not None and after.lower_ in _THINGS and after.pos_ in ("NOUN", "PROPN")) or (
        before is not None and before.lower_ in _THINGS and before.pos_ == "NOUN"
    )


def _is_organization(name: Span, before: Token | None) -> bool:
    if len(name) > 1 and _ACRONYM.fullmatch(name.text) is None:
        return True
    return before is not None and (before.lower_ in _MEMBERS or before.lower_ in _COMPANY)
