"""Find the type that a name's own words suggest.

"Vellacott Lens Works" is a firm and "Storm Ottoline" an event, whatever a tagger makes of them
without a sentence around, as in tables and lists of names.
"""

from __future__ import annotations

from typing import Final

import regex

from ingestion.extractors.extraction import (
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
from kb_project.llm.vocabulary import are_common

# The last word of a name (before "of"): a lens works, a harbour board, a University of …
_HEADS: Final = {
    ORGANIZATION: """
        works workshop trust fund foundation society council board university college institute
        academy bank company co corp corporation inc ltd llc plc gmbh club union association
        committee commission agency office ministry department bureau museum library laboratory
        observatory orchestra mutual press newspaper airlines airways railway brothers partners
        partnership cooperative co-operative federation league congress parliament senate
        authority service services instruments studios pictures records marine unit team
        group project organization organisation nations army navy corps force forces regiment
        brigade legion guard guards police supply government administration command tribunal party
        coalition alliance movement resistance network school guild fc centre center choir sons
        publishing publishers publications verlag
    """,
    PLACE: """
        harbour harbor island islands isle isles river lake mountain mountains street road avenue
        square bridge beach sound quay jetty pier lighthouse county province district valley
        peninsula cape strait bay village airport ocean sea desert forest town city campus park
        castle palace cathedral church churchyard tower hall point reef hill hills firth fjord
        gulf glacier canyon shoal peak abbey monastery priory temple shrine mosque theatre theater
        stadium arena gardens wall gate plaza highway boulevard creek falls archipelago atoll coast
        territory republic kingdom empire region zone hospital hotel motel cemetery house
    """,
    WORK: """
        manual guide handbook reference standard specification howto faq tutorial primer dictionary
        encyclopedia guidelines constitution contract license licence act bill policy report journal
        magazine gazette gospel bible symphony sonata opera concerto notes documents
        definition rfc ordinance law laws code charter declaration manifesto anthology chronicles
        letters memoirs saga sagas review atlas catalogue catalog almanac
    """,
    EVENT: """
        war battle festival championship championships tournament election elections olympics
        conference convention marathon race games cup awards feast crisis depression rebellion
        revolution uprising massacre earthquake treaty meeting summit weekend day eve sunday riots
        mutiny siege invasion assassination dissolution partition restoration reformation era period
        ages trial trials famine plague disaster tragedy affair scandal
    """,
    PRODUCT: """
        linux unix windows kernel compiler interpreter installer toolkit editor browser desktop
        hypervisor tracker calculator converter viewer emulator debugger
    """,
}
_KIND_OF_HEAD: Final = {word: kind for kind, words in _HEADS.items() for word in words.split()}
# The first word of a name: Storm Ottoline, RV Agnes Tulloch, Port Ansgar, Dr Leena Varghese.
_FIRSTS: Final = {
    EVENT: "storm hurricane typhoon cyclone operation battle",
    PRODUCT: "rv mv ms ss hms uss hmcs windows",
    PLACE: "port lake mount cape isle lough loch palace plaza piazza palais palazzo rue",
    ORGANIZATION: """
        universidad universidade università université universität institut instituto istituto
        escola escuela école unione union association asociación associazione partito partido parti
        fédération federación confederación société sociedad società banco banque banca ministère
        ministerio
    """,
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
_JOINTS: Final = frozenset(["of", "for", "on", "to"])
"""Before these a name has its head: *Conference on Electronic Publishing*, *Guide for Authors*."""
_LAST: Final = frozenset(
    "co corp corporation company inc llc ltd plc manual guide handbook faq tutorial".split()
)
"""These are heads whatever stands before them: *Software in the Public Interest, Inc.*"""
_TERMS_TOO: Final = frozenset(["command", "point", "sound"])
"""*Tern Point* is a place, *Freezing Point* a term."""
_MEETING: Final = regex.compile(r"\p{Lu}\w*(?:Conf|Camp|Con|Fest)\d*")
"""DebConf, PyCon: a meeting, by the end of its name."""
_PART_OF_WORK: Final = regex.compile(
    r"(?:chapter|section|part|appendix|volume) (?:\d[\d.]*|[IVXLC]+|[A-Z])\b", regex.IGNORECASE
)
"""*Chapter 9. Unix Services* is no firm."""
_COUNTED: Final = regex.compile(r"[ivx]+|\d+")
"""*World War II*: a number after what it counts."""
_FIXED: Final = frozenset({CONCEPT, SYMBOL, *GENERIC_TYPES})


def kind_of(surface: str, given: str) -> str:
    """The type that the name's own words suggest, or else ``given``.

    >>> kind_of("Vellacott Lens Works", "person"), kind_of("Storm Ottoline", "person")
    ('organization', 'event')
    >>> kind_of("Bishop of Elmham", "organization"), kind_of("Owen Lacey", "person")
    ('person', 'person')
    """
    words = surface.lower().replace(".", "").split()
    while len(words) > 2 and _COUNTED.fullmatch(words[-1]):
        words.pop()
    if given in _FIXED or len(words) < 2:
        return EVENT if given == NAME and _MEETING.fullmatch(surface) else given
    if _PART_OF_WORK.match(surface):
        return WORK
    joint = next((place for place, word in enumerate(words[1:-1], 1) if word in _JOINTS), None)
    is_joined = joint is not None and words[-1] not in _LAST
    head, *before = reversed(words[:joint] if is_joined else words)
    if is_joined and head in _PEOPLE_OF:
        return PERSON
    if not is_joined and _MEETING.fullmatch(surface.split()[-1]):
        return EVENT
    if head in _TERMS_TOO and are_common(word for word in before if word != "&"):
        return given
    by_first = None if is_joined else _KIND_OF_FIRST.get(words[0])
    return _KIND_OF_HEAD.get(head) or by_first or given
