"""Correct what a recogniser guessed in one sentence by what the rest of the document says."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import regex

from ingestion.extractors import Extraction, FoundMention
from ingestion.extractors.extraction import (
    AGAIN,
    BARE,
    GROUP,
    NAME,
    NER,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    SURE,
    WORK,
)
from ingestion.extractors.head_words import kind_of
from ingestion.extractors.titles import TITLE
from ingestion.resolution.keys import key_of_name

Extractions = Sequence[tuple[uuid.UUID, Extraction]]
"""A document's extractions: chunk and extraction, in the order of the text."""

_GUESSED: Final = frozenset({NER, BARE, AGAIN})
_SMALL: Final = frozenset(["a", "and", "for", "of", "the"])
_JOINED: Final = regex.compile(
    r"(?P<first>\S.*?)\s(?P<word>and|or|at|for|from|in|on|with)\s(?:the\s)?(?P<second>\S.*)"
)
_DOUBTFUL: Final = frozenset({NAME, PERSON, PLACE, GROUP, ORGANIZATION})


def corrected(found: Extractions) -> Extractions:
    """The document's mentions, with guesses at longer names corrected by what their words are.

    If *Cratchit* is a person, so is *Belinda Cratchit*; if *Debian* is a product, *Debian Wiki* is
    not a person. Of *Phillips for Muse* only *Phillips* is left.
    """
    known = _known(mention for _, extraction in found for mention in extraction.mentions)
    kinds = _kinds(mention for _, extraction in found for mention in extraction.mentions)
    read = []
    for chunk_id, extraction in found:
        whole = [_first_of(mention, kinds) for mention in extraction.mentions]
        by_words = [_by_its_words(mention, known) for mention in whole]
        read.append((chunk_id, replace(extraction, mentions=tuple(_by_neighbours(by_words)))))
    return read


def _by_neighbours(mentions: Sequence[FoundMention]) -> Iterator[FoundMention]:
    """Correct guesses in a list of names: between two persons stands a third."""
    last = len(mentions) - 1
    for place, mention in enumerate(mentions):
        if (
            0 < place < last
            and mention.type in (NAME, ORGANIZATION, PLACE)
            and mention.source in _GUESSED
            and " " in mention.surface
            and kind_of(mention.surface, NAME) == NAME
            and _is_listed(mentions[place - 1], mention)
            and _is_listed(mention, mentions[place + 1])
            and mentions[place - 1].type == mentions[place + 1].type == PERSON
        ):
            mention = replace(mention, type=PERSON)
        yield mention


def _is_listed(left: FoundMention, right: FoundMention) -> bool:
    return 0 < right.start - left.end <= len(", and ")


def _known(mentions: Iterable[FoundMention]) -> dict[str, str]:
    """What single words are known to name, by their context."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.source == SURE and " " not in mention.surface:
            votes[key_of_name(mention.surface)][mention.type] += 1
    return {key: max(sorted(kinds), key=kinds.__getitem__) for key, kinds in votes.items()}


def _kinds(mentions: Iterable[FoundMention]) -> dict[str, Counter[str]]:
    """How often each name is of each type."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        kinds[key_of_name(mention.surface)][mention.type] += 1
    return kinds


def _first_of(mention: FoundMention, kinds: Mapping[str, Counter[str]]) -> FoundMention:
    """The first of two names that a guess took for one, if the document has it on its own.

    *Krasner and Pollock* needs both on their own. What a head word says what it is of (*Battle for
    Wesnoth*, *Department of Trade and Industry*) stays whole.
    """
    parts = _JOINED.fullmatch(mention.surface)
    is_on_one_line = mention.end - mention.start == len(mention.surface)
    if mention.source not in _GUESSED or not parts or not is_on_one_line:
        return mention
    first, second = parts["first"], key_of_name(parts["second"])
    alone = kinds.get(key_of_name(first))
    if not alone or kind_of(f"The {first}", NAME) != NAME or " of " in first:
        return mention
    if parts["word"] in ("and", "or") and second not in kinds:
        return mention
    if alone.total() < kinds[key_of_name(mention.surface)].total():
        return mention
    kind = max(sorted(alone), key=alone.__getitem__)
    return replace(mention, end=mention.start + len(first), surface=first, type=kind, source=AGAIN)


def _by_its_words(mention: FoundMention, known: Mapping[str, str]) -> FoundMention:
    if mention.source == TITLE and mention.type == NAME and mention.surface.count(" ") > 1:
        return replace(mention, type=WORK)  # a document's title that is no one's name
    if mention.source not in _GUESSED or mention.type not in _DOUBTFUL:
        return mention
    words = key_of_name(mention.surface).split()
    if len(words) < 2 or kind_of(mention.surface, NAME) != NAME:
        return mention
    kinds = [known.get(word) for word in words]
    if kinds[-1] == PERSON:
        return replace(mention, type=PERSON)
    if PRODUCT in kinds and _SMALL.isdisjoint(words) and not words[0].endswith("ing"):
        return replace(mention, type=PRODUCT)
    return mention
