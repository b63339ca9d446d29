"""Find a name's type from its context, where a small model often errs.

A model's guess is right for most persons and places and often wrong for the rest: what it calls an
organization is as often a program, a heading or a spirit. So a guess counts only if something
supports it: the name's own words (``head_words``), what the text says that it is (``definitions``),
or what stands around it: titles, verbs of speech, kinship.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import regex

from ingestion.extractors.definitions import said_to_be, words_of
from ingestion.extractors.extraction import (
    CONCEPT,
    EVENT,
    GROUP,
    LANGUAGE,
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    WORK,
)
from ingestion.extractors.head_words import kind_of
from kb_project.llm.vocabulary import FAR_BEFORE, are_common, is_common

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
_JOINED: Final = _listed("joined join member members employee")
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
    ship boat vessel trawler tender yacht ferry steamer schooner submarine
    """
)
_GENITIVE: Final = frozenset(["'s", "’s"])
_PRONOUNS: Final = _listed("he she his her him himself herself")
# "FlexML" and "PostScript" are spelt like programs, "McDonald" and "O'Brien" like people.
_SPELT_AS_THING: Final = regex.compile(
    r"(?!(?:Ma?c|De|Di|Du|La|Le|Van|Fitz|O['’])\p{Lu})(?:\p{L}*\p{Ll}\p{Lu}|\p{Lu}{2,}\p{Ll}{2})[\p{L}+#]*"
)
_VERSION_BEHIND: Final = regex.compile(
    r"\s+\(?(?:version\s+|release\s+|v)?\d+\.[\dx][\w.]*", regex.IGNORECASE
)
_ROLES: Final = _listed(
    """
    president secretary treasurer leader leaders manager managers developer developers maintainer
    maintainers administrator administrators user users member members mayor director officer
    """
)
_WHAT_HAS_A_NAME: Final = _listed(
    "package packages program programme software library distribution desktop language tool"
)
# The Chinese language is a language, even if other Chinese things are not.
_NAMED_BY: Final = {(GROUP, "language"): LANGUAGE, (LANGUAGE, "language"): LANGUAGE}
_VOLUME_BEHIND: Final = regex.compile(
    r"\.?\s+(?:1[6-9]|20)\d\d(?:\s\p{L}{3,9}(?:-\p{L}{3,9})?)?(?:\s\d{1,2})?\s*;\s*\d"
)
"""*Ann Intern Med. 1973 May;78(5):751-62*: the journal that a reference names."""
_NOT_OF_COMMON_WORDS: Final = frozenset({PERSON, PLACE, GROUP, LANGUAGE, ORGANIZATION, EVENT})
_LATIN: Final = regex.compile(r"\p{Latin}")
_IDEA: Final = regex.compile(r"\p{L}+(?:ism|ity)")
"""*Stalinism*, *Christianity*: no people."""
_GLOSS: Final = regex.compile(
    r"(?:meaning|pronunciation|transcription|translation|transliteration)(?:\s*\([\w\s]+\))?:\s*$",
    regex.IGNORECASE,
)
"""*Translation: Daughters of the Bier*: words, whoever they speak of."""
_ACRONYM: Final = regex.compile(r"(?:\p{Lu}\.?){2,6}s?")


def kind_around(name: Span, guess: str, common: Collection[str]) -> tuple[str, bool]:
    """The name's type by its context, and whether that goes beyond a guess.

    ``guess`` is the recogniser's, NAME if it had none; ``common`` are the words that the text has
    in lower case. A phrase of common words is a term, and so is an unsupported abbreviation.
    """
    before, after = _neighbour(name, -1), _neighbour(name, +1)
    is_phrase = all(token.lower_ in common for token in name if token.is_alpha)
    by_words = _kind_by_words(name)
    if _has_title(name, before):
        return PERSON, True
    if said := said_to_be(name):
        return said, True
    if is_phrase:
        return (CONCEPT if by_words == NAME else by_words), False
    if by_words == NAME and _is_plain(name) and _acts(name, before, after):
        return (GROUP if name[-1].tag_ == "NNPS" else PERSON), True  # the Cratchits laughed
    if (guess == GROUP or name[-1].tag_ != "JJ") and _names_thing(name, before, after):
        kind = _NAMED_BY.get((guess, after.lower_ if after else ""), PRODUCT)
        return (kind if by_words == NAME else by_words), _ACRONYM.fullmatch(name.text) is None
    if by_words != NAME:
        return by_words, False
    return _by_guess(name, guess, common)


def _by_guess(name: Span, guess: str, common: Collection[str]) -> tuple[str, bool]:
    before, after = _neighbour(name, -1), _neighbour(name, +1)
    if not _is_believed(name, guess, common):
        return (NAME if len(name) == 1 else CONCEPT), False
    if guess == PLACE and _is_plain(name) and _is_located(name, before, after):
        return PLACE, True
    if guess == PERSON and before is not None and before.lower_ == "the" and not _is_modifier(name):
        # The Moon and the Great Bear are no people; the Mongols are a people.
        is_people = len(name) == 1 and name[0].tag_ == "NNPS"
        return (GROUP, False) if is_people else (CONCEPT, True)
    return _guessed(name, guess, before, common), False


def _is_believed(name: Span, guess: str, common: Collection[str]) -> bool:
    """Not of common words (*Page Down*), of another script, nor at ideas taken for peoples."""
    if not _LATIN.search(name.text) or (guess == GROUP and _IDEA.fullmatch(name.text)):
        return False
    if _GLOSS.search(name.doc[max(0, name.start - 40) : name.start].text_with_ws[-40:]):
        return False
    return guess not in _NOT_OF_COMMON_WORDS or not are_common(words_of(name), common)


def _kind_by_words(name: Span) -> str:
    return WORK if _VOLUME_BEHIND.match(_text_behind(name)) else kind_of(name.text, NAME)


def _guessed(name: Span, guess: str, before: Token | None, common: Collection[str]) -> str:
    """The type for a guess that nothing around the name supports."""
    if _is_term(name, guess, common):
        return CONCEPT
    if guess == ORGANIZATION and _is_organization(name, before, common):
        return ORGANIZATION
    if _ACRONYM.fullmatch(name.text):
        return CONCEPT
    if guess in (GROUP, LANGUAGE, EVENT):
        return guess
    if guess != ORGANIZATION and _is_spelt_as_thing(name, guess):
        return PRODUCT
    if guess not in (PERSON, PLACE) or not _is_plain(name):
        return NAME
    if len(name) == 1 and _is_modifier(name):
        return NAME
    return PERSON if before is not None and before.lower_ == "by" else guess


def _is_term(name: Span, guess: str, common: Collection[str]) -> bool:
    """*Project Leader*, *Debian Donations*, *Description:*; a word that opens a sentence.

    Nor is *Split Scheme* or *North Star* a person.
    """
    first, last = name[0].lower_, name[-1].lower_
    if last in _ROLES or (guess in (NAME, ORGANIZATION) and _text_behind(name).startswith(":")):
        return True
    if len(name) == 1:
        return bool(name[0].is_sent_start) and guess in (NAME, ORGANIZATION, PRODUCT, WORK, EVENT)
    # Short words are often given names, too: Kit, Max.
    is_word = len(first) > 3 and is_common(first, FAR_BEFORE)
    if guess == PERSON and (is_word or (len(first) > 2 and first in common)):
        return True
    return last in common or ("-" in name.text and _has_common(name, common))


def _is_spelt_as_thing(name: Span, guess: str) -> bool:
    """*FlexML*, *Debian 11*."""
    if len(name) == 1 and _SPELT_AS_THING.fullmatch(name.text):
        return True
    return guess != PERSON and any(token.text[-1:].isdigit() for token in name)


def _has_common(name: Span, common: Collection[str]) -> bool:
    return any(token.lower_ in common for token in name if token.text[:1].isupper())


def _is_plain(name: Span) -> bool:
    """Whether a name is spelt like those of people and places: *Dan Quinlan*, *Jean-Luc*."""
    words = [token.text for token in name if not token.is_punct and token.lower_ not in _GENITIVE]
    return all(
        word.replace("-", "").replace(".", "").isalpha()
        and not (word.isupper() and len(word) > 2)
        and not _SPELT_AS_THING.fullmatch(word)
        for word in words
    )


def _is_modifier(name: Span) -> bool:
    """*the Schulze method*, *the Thunderbird client*: the thing named comes after."""
    if name.root.dep_ not in ("compound", "amod", "nmod"):
        return False
    head = name.root.head
    return head.i >= name.end and head.text.islower()


def _text_behind(name: Span) -> str:
    # Of these tokens alone: spaCy rebuilds a document's whole text each time it is asked for.
    behind = name.doc[name.end : name.end + 30].text_with_ws
    return (name[-1].whitespace_ + behind)[:30]


def _neighbour(name: Span, step: int) -> Token | None:
    at = name.start - 1 if step < 0 else name.end
    return name.doc[at] if 0 <= at < len(name.doc) else None


def _has_title(name: Span, before: Token | None) -> bool:
    """*Mr. Scrooge*, *the engineer Ada Lind*."""
    is_addressed = name[0].lower_ in HONORIFICS | FORMS_OF_ADDRESS and name[0].text != "MS"
    if is_addressed and len(name) > 1 and not name[1].is_punct:
        return True
    if before is None or before.lower_ not in _BEFORE_PERSON or before.pos_ == "VERB":
        return False
    return name[0].text[:1].isupper() and _is_plain(name)


def _acts(name: Span, before: Token | None, after: Token | None) -> bool:
    """*Fred laughed*, *said Scrooge*, *Scrooge's nephew*, *Fan, who was little*; things, too, are
    followed by *whose*."""
    if after is None or after.text == "!":
        return False
    if before is not None and before.lower_ in _SPEECH and name.root.dep_ == "nsubj":
        return True
    if after.lower_ in _SPEECH or _is_meant_by_pronoun(name):
        return True
    beyond = after.doc[after.i + 1] if after.i + 1 < len(after.doc) else None
    if beyond is None:
        return False
    if after.lower_ in _GENITIVE and beyond.lower_ in _KIN:
        return True
    return after.text == "," and beyond.lower_ in ("who", "aged")


def _is_meant_by_pronoun(name: Span) -> bool:
    """Whether the sentence later refers to the name, its subject, as *he* or *her*."""
    before = _neighbour(name, -1)
    # *the Trust* may well do something to him.
    has_article = before is not None and before.lower_ in ("a", "an", "the")
    if name.root.dep_ not in ("nsubj", "nsubjpass") or has_article:
        return False
    behind = name.doc[name.end : name.sent.end]
    return any(token.lower_ in _PRONOUNS and token.pos_ == "PRON" for token in behind[:20])


def _is_located(name: Span, before: Token | None, after: Token | None) -> bool:
    """*in Oslo*, *Edinburgh, Scotland*; not *in London's offices*, *the London office*, nor
    *described in Setting up a Server*."""
    is_owner = after is not None and after.lower_ in _GENITIVE
    if before is None or is_owner or _is_modifier(name) or name[-1].tag_ == "VBG":
        return False
    if after is not None and after.text.startswith("/"):
        return False  # "in Anglo/Saxon countries"
    if before.text == "," and before.i:
        return before.doc[before.i - 1].ent_type_ in ("GPE", "LOC")
    return before.lower_ in _BEFORE_PLACE


def _names_thing(name: Span, before: Token | None, after: Token | None) -> bool:
    """*the dpkg package*, *the program Alien*, *the Firefox web browser*, *Apache 2.4*."""
    is_phrase = len(name) > 1 and are_common(words_of(name))  # "Room Temperature 0.935"
    if _VERSION_BEHIND.match(_text_behind(name)):
        return not is_phrase and name.text.lower() not in _THINGS  # nor "Version 1.8"
    if is_phrase or name[-1].tag_ not in ("NNP", "NNPS", "JJ"):
        return False
    things = _WHAT_HAS_A_NAME if _ACRONYM.fullmatch(name.text) else _THINGS
    head = name.root.head
    if after is not None and _is_modifier(name) and head.lower_ in things and head.i - name.end < 3:
        return True
    return (after is not None and after.lower_ in things and after.pos_ in ("NOUN", "PROPN")) or (
        before is not None and before.lower_ in things and before.pos_ == "NOUN"
    )


def _is_organization(name: Span, before: Token | None, common: Collection[str]) -> bool:
    """Whether a guess holds: *the French Resistance*, *Garrow & Sons*, or after *company*, *at*.

    Without such a word, a recogniser calls people, customs and things organizations.
    """
    is_acronym = _ACRONYM.fullmatch(name.text) is not None
    if before is not None and before.lower_ in _COMPANY:
        return True
    if len(name) == 1:
        return before is not None and before.lower_ in (_JOINED if is_acronym else _MEMBERS)
    is_supported = before is not None and before.lower_ in ("the", "at", *_JOINED)
    return (is_supported or "&" in name.text) and _is_plain(name) and not _has_common(name, common)
