"""Find places in a text that spell out the document's title, or known names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

import regex

from ingestion.extractors.edges import is_no_name
from ingestion.extractors.extraction import AGAIN, NAME, Extraction, FoundMention
from ingestion.extractors.mentions import mention
from kb_project.llm.vocabulary import are_common
from kb_project.text.names import LONGEST_NAME, name_runs, normalise_name
from kb_project.text.words import fold, words

TITLE: Final = "title"
"""Source of mentions that spell out the document's title."""

_SECTION: Final = regex.compile(r"\d+(?:\.\d+)+\.?\s+")
_PARENTHESIS: Final = regex.compile(r"\s*[(（][^()（）]*[)）]\s*$")

# Chinese has no spaces between words; two characters are as often a part of other words.
_UNSPACED: Final = regex.compile(r"\p{Han}{3,}")


def naming_key(title: str) -> str:
    """The key of what a title names, without its number and its disambiguation.

    >>> naming_key("Dark River (2017 film)"), naming_key("9.10. Backup")
    ('dark river', 'backup')
    """
    bare = _PARENTHESIS.sub("", title)
    named = _SECTION.match(bare)
    return normalise_name(bare[named.end() :] if named else bare) or normalise_name(title)


def is_term(title: str, common: Collection[str]) -> bool:
    """Whether a title names nothing: it has only the document's ``common`` words, or a section's
    number before common English ones."""
    words = naming_key(title).split()
    return set(words) <= set(common) or (bool(_SECTION.match(title)) and are_common(words, common))


def with_title(text: str, extraction: Extraction, title: str) -> Extraction:
    """The extraction with every place that spells the title out as one mention of it."""
    key = naming_key(title)
    if not key or not any(character.isalpha() for character in key):
        return extraction
    if key.split(" ", 1)[0] not in fold(text):
        return extraction
    if _UNSPACED.fullmatch(key):
        places = (match.span() for match in regex.finditer(regex.escape(key), text))
        found = [mention(text, place, NAME, TITLE, is_title=True) for place in places]
        return added(extraction, [one for one in found if one])
    longest = _words_in(key)
    names = known_name_mentions(text, {key}.intersection, source=TITLE, longest=longest)
    return added(extraction, names)


def titled(text: str, mentions: Sequence[FoundMention], title: str) -> list[FoundMention]:
    """The mentions, with every place that spells the title out as one of them."""
    return list(with_title(text, Extraction(tuple(mentions), ()), title).mentions)


def repeated_names(text: str, names: Collection[FoundMention]) -> list[FoundMention]:
    """Repetitions of names that were missed elsewhere in the text, with the first type found."""
    types = {normalise_name(name.surface): name.type for name in reversed(list(names))}
    longest = max(map(_words_in, types), default=0)
    found = known_name_mentions(text, types.keys().__and__, source=AGAIN, longest=longest)
    # A span may begin with an article, which a mention leaves out: then its key differs.
    return [
        replace(name, type=types[key])
        for name in found
        if (key := normalise_name(name.surface)) in types and not is_no_name(name.surface)
    ]


def known_name_mentions(
    text: str,
    lookup: Callable[[set[str]], Collection[str]],
    *,
    source: str = "known",
    longest: int = LONGEST_NAME,
) -> list[FoundMention]:
    """Places that spell out a known name, the longest first at each position, none overlapping.

    ``lookup`` is called once, with the keys of all runs of up to ``longest`` words that begin with
    a capital, a digit or a letter of a script without capitals; it returns those that are names.
    """
    text_words = list(words(text))
    starts = [place for place, word in enumerate(text_words) if not text[word.start].islower()]
    runs = list(name_runs(text_words, longest, starts))
    known = lookup({key for _, _, key in runs}) if runs else ()
    found: list[FoundMention] = []
    position = 0
    for first, stop, key in runs:
        if first >= position and key in known:
            span = (text_words[first].start, text_words[stop - 1].end)
            named = mention(text, span, NAME, source, is_title=source == TITLE)
            if named:
                found.append(named)
                position = stop
    return found


def _words_in(key: str) -> int:
    """Most words of a text that can make this key: initials are joined, an article dropped."""
    return key.count(" ") + 4


def added(extraction: Extraction, names: Sequence[FoundMention]) -> Extraction:
    """The extraction with more names, which replace the mentions they overlap.

    A name that the extraction already covers, or that overlaps a longer mention, is left out.
    Relations of a replaced mention move to the name that replaced it.
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


def _is_covered(name: FoundMention, mentions: Sequence[FoundMention]) -> bool:
    return any(m.start <= name.start and name.end <= m.end for m in mentions) or any(
        _overlap(m, name) and m.end - m.start > name.end - name.start for m in mentions
    )


def _overlap(one: FoundMention, other: FoundMention) -> bool:
    return one.start < other.end and other.start < one.end


def _type_of(name: FoundMention, mentions: Sequence[FoundMention]) -> str:
    """The type of the longest mention replaced, if that is at least half of the name."""
    inside = [m for m in mentions if _overlap(m, name)]
    best = max(inside, key=lambda m: m.end - m.start, default=None)
    if best is None or 2 * (best.end - best.start) < name.end - name.start:
        return name.type
    return best.type
