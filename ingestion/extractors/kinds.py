"""Tell a name's type from its words, where a small model often errs.

"Vellacott Lens Works" is a firm and "Storm Ottoline" an event, whatever a tagger makes of them
without a sentence around, as in tables and lists of names.
"""

from __future__ import annotations

from typing import Final

import regex

from ingestion.extractors.found import (
    CONCEPT,
    EVENT,
    GENERIC_TYPES,
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    SYMBOL,
    WORK,
)

# The last word of a name (before "of"): a lens works, a harbour board, a University of …
_HEADS: Final = {
    ORGANIZATION: """
        works workshop trust fund foundation society council board university college institute
        academy bank company co corp corporation inc ltd llc plc gmbh club union association
        committee commission agency office ministry department bureau museum library laboratory
        observatory orchestra mutual press newspaper airlines airways railway brothers partners
        partnership cooperative co-operative federation league congress parliament senate
        authority service services instruments studios pictures records marine unit team
        group project
    """,
    PLACE: """
        harbour harbor island islands isle isles river lake mountain mountains street road avenue
        square bridge beach sound quay jetty pier lighthouse county province district valley
        peninsula cape strait bay village airport ocean sea desert forest town city campus park
        castle palace cathedral church churchyard tower hall point reef hill hills firth fjord
        gulf glacier canyon shoal
    """,
    WORK: """
        manual guide handbook reference standard specification howto faq tutorial primer dictionary
        encyclopedia guidelines constitution contract license licence act bill policy report journal
        magazine gazette gospel bible symphony sonata opera concerto notes documents
        definition rfc
    """,
    EVENT: """
        war battle festival championship championships tournament election elections olympics
        conference
        revolution uprising massacre earthquake treaty meeting summit weekend day eve
    """,
    PRODUCT: """
        linux unix windows kernel compiler installer toolkit editor browser desktop hypervisor
        tracker system systems
    """,
}
_KIND_OF_HEAD: Final = {word: kind for kind, words in _HEADS.items() for word in words.split()}
# The first word of a name: Storm Ottoline, RV Agnes Tulloch, Port Ansgar, Dr Leena Varghese.
_FIRSTS: Final = {
    EVENT: "storm hurricane typhoon cyclone operation battle",
    PRODUCT: "rv mv ms ss hms uss hmcs",
    PLACE: "port lake mount cape isle lough loch",
    PERSON: """
        dr mr mrs miss sir prof professor captain king queen prince princess emperor empress pope
        saint rev reverend uncle aunt
    """,
}
_KIND_OF_FIRST: Final = {word: kind for kind, words in _FIRSTS.items() for word in words.split()}
_RULERS: Final = """
    king queen prince princess duke duchess count countess earl bishop archbishop abbot abbess
    emperor empress margrave lord lady baron baroness sultan
"""
_PEOPLE_OF: Final = frozenset(_RULERS.split())
_MEETING: Final = regex.compile(r"\p{Lu}\w*(?:Conf|Camp|Con|Fest)\d*")
"""DebConf, PyCon: a meeting, by the end of its name."""
_FIXED: Final = frozenset({CONCEPT, SYMBOL, *GENERIC_TYPES})


def kind_of(surface: str, given: str) -> str:
    """The type that the name's own words suggest, or else ``given``.

    >>> kind_of("Vellacott Lens Works", "person"), kind_of("Storm Ottoline", "person")
    ('organization', 'event')
    >>> kind_of("Bishop of Elmham", "organization"), kind_of("Owen Lacey", "person")
    ('person', 'person')
    """
    words = surface.lower().replace(".", "").split()
    if given in _FIXED or len(words) < 2:
        return EVENT if given == NAME and _MEETING.fullmatch(surface) else given
    if "of" in words[1:-1]:
        head = words[words.index("of", 1) - 1]
        return PERSON if head in _PEOPLE_OF else _KIND_OF_HEAD.get(head, given)
    if _MEETING.fullmatch(surface.split()[-1]):
        return EVENT
    return _KIND_OF_HEAD.get(words[-1]) or _KIND_OF_FIRST.get(words[0]) or given
