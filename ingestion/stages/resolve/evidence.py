"""Use the rest of a document to confirm or correct guessed names, and to expand initials."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from ingestion.extractors import Extraction, FoundMention
from ingestion.extractors.found import (
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
from ingestion.extractors.initials import GAP, stands_for
from ingestion.extractors.kinds import kind_of
from ingestion.extractors.titles import TITLE
from ingestion.resolution.keys import key_of_name

GUESSED: Final = frozenset({NER, BARE, AGAIN})
SMALL: Final = frozenset(["a", "and", "for", "of", "the"])
_DOUBTFUL: Final = frozenset({NAME, PERSON, PLACE, GROUP, ORGANIZATION})

Found = Sequence[tuple[uuid.UUID, Extraction]]
"""A document's extractions: chunk and extraction, in the order of the text."""


def borne_out(found: Found) -> Found:
    """The document's mentions, with guesses at longer names corrected by what their words are.

    If *Cratchit* is a person, so is *Belinda Cratchit*; if *Debian* is a product, *Debian Wiki* is
    not a person.
    """
    known = _known(mention for _, extraction in found for mention in extraction.mentions)
    read = []
    for chunk_id, extraction in found:
        by_words = [_by_its_words(mention, known) for mention in extraction.mentions]
        read.append((chunk_id, replace(extraction, mentions=tuple(_by_neighbours(by_words)))))
    return read


def _by_neighbours(mentions: Sequence[FoundMention]) -> Iterator[FoundMention]:
    """Correct guesses in a list of names: between two persons stands a third."""
    last = len(mentions) - 1
    for place, mention in enumerate(mentions):
        if (
            0 < place < last
            and mention.type in (NAME, ORGANIZATION, PLACE)
            and mention.source in GUESSED
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


def _by_its_words(mention: FoundMention, known: Mapping[str, str]) -> FoundMention:
    if mention.source == TITLE and mention.type == NAME and mention.surface.count(" ") > 1:
        return replace(mention, type=WORK)  # a document's title that is no one's name
    if mention.source not in GUESSED or mention.type not in _DOUBTFUL:
        return mention
    words = key_of_name(mention.surface).split()
    if len(words) < 2 or kind_of(mention.surface, NAME) != NAME:
        return mention
    kinds = [known.get(word) for word in words]
    if kinds[-1] == PERSON:
        return replace(mention, type=PERSON)
    if PRODUCT in kinds and SMALL.isdisjoint(words):
        return replace(mention, type=PRODUCT)
    return mention


def written_out(found: Found) -> dict[str, str]:
    """Map the key of initials to that of the one name they occur next to.

    *MO* is Magnus Okafor if a list has them side by side or a sentence has one in brackets.
    """
    full: defaultdict[str, set[str]] = defaultdict(set)
    for _, extraction in found:
        mentions = sorted(extraction.mentions, key=lambda one: one.start)
        for left, right in pairwise(mentions):
            if 0 < right.start - left.end <= GAP:
                for short, long_ in ((left, right), (right, left)):
                    if stands_for(short.surface, long_.surface):
                        full[key_of_name(short.surface)].add(key_of_name(long_.surface))
    return {short: next(iter(names)) for short, names in full.items() if len(names) == 1}
