"""The document's own title where its text spells it out, and names known from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

import regex

from ingestion.extractors.found import NAME, Extraction, FoundMention
from ingestion.extractors.mentions import mention
from kb_project.text.names import name_runs, normalise_name
from kb_project.text.words import Word, words

_PARENTHESIS: Final = regex.compile(r"\s*[(（][^()（）]*[)）]\s*$")


def naming_key(title: str) -> str:
    """The key of what a title names, without what tells it from its namesakes.

    >>> naming_key("Dark River (2017 film)")
    'dark river'
    """
    return normalise_name(_PARENTHESIS.sub("", title)) or normalise_name(title)


def with_title(text: str, extraction: Extraction, title: str) -> Extraction:
    """The extraction with every place that spells the title out as one mention of it."""
    key = naming_key(title)
    if not key or not any(character.isalpha() for character in key):
        return extraction
    found = known_name_mentions(text, lambda keys: {key} & set(keys), source="title")
    return added(extraction, found)


def known_name_mentions(
    text: str, lookup: Callable[[Collection[str]], Collection[str]], *, source: str = "known"
) -> list[FoundMention]:
    """Places that spell out a known name, the longest first at each place, none overlapping.

    ``lookup`` is called once, with the keys of all runs of words that begin with a capital, a
    digit or a letter of a script without capitals, and answers which of them are names.
    """
    text_words = list(words(text))
    runs = [run for run in name_runs(text_words) if _may_begin(text, text_words[run[0]])]
    known = set(lookup({key for _, _, key in runs})) if runs else set()
    found: list[FoundMention] = []
    position = 0
    for first, stop, key in runs:
        if first >= position and key in known:
            named = mention(text, text_words[first].start, text_words[stop - 1].end, NAME, source)
            if named:
                found.append(named)
                position = stop
    return found


def added(extraction: Extraction, names: Sequence[FoundMention]) -> Extraction:
    """The extraction with more names; a mention that lies inside one of them gives way to it.

    A name that the extraction has already, or that overlaps a longer mention, is left out.
    Relations of a mention that gave way belong to the name that took its place.
    """
    new = [name for name in names if not _is_covered(name, extraction.mentions)]
    if not new:
        return extraction
    kept = [m for m in extraction.mentions if not any(_overlap(m, name) for name in new)]
    typed = [replace(name, type=_type_of(name, extraction.mentions)) for name in new]
    mentions = sorted([*kept, *typed], key=lambda found: found.start)
    moved = {
        index: next(place for place, m in enumerate(mentions) if m == old or _overlap(m, old))
        for index, old in enumerate(extraction.mentions)
    }
    relations = tuple(
        replace(relation, source=moved[relation.source], target=moved[relation.target])
        for relation in extraction.relations
        if moved[relation.source] != moved[relation.target]
    )
    return Extraction(tuple(mentions), relations)


def _may_begin(text: str, word: Word) -> bool:
    letter = text[word.start]
    return not letter.islower()


def _is_covered(name: FoundMention, mentions: Sequence[FoundMention]) -> bool:
    return any(m.start <= name.start and name.end <= m.end for m in mentions) or any(
        _overlap(m, name) and m.end - m.start > name.end - name.start for m in mentions
    )


def _overlap(one: FoundMention, other: FoundMention) -> bool:
    return one.start < other.end and other.start < one.end


def _type_of(name: FoundMention, mentions: Sequence[FoundMention]) -> str:
    """The type of the longest mention that gives way, when it is most of the name."""
    inside = [m for m in mentions if _overlap(m, name)]
    best = max(inside, key=lambda m: m.end - m.start, default=None)
    if best is None or 2 * (best.end - best.start) < name.end - name.start:
        return name.type
    return best.type
