"""Names by patterns: in languages without a model of their own, and in source code.

Names are runs of capitalised words. In a language that does not capitalise nouns this finds most of
them; in a script without capitals it finds what is in quotation marks. In source code, the symbols
that it defines and uses are recognised by their spelling.
"""

from __future__ import annotations

from typing import Final

import regex

from ingestion.extractors.extraction import (
    NAME,
    STATED,
    SYMBOL,
    WORK,
    Extraction,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.mentions import longest, mention, together
from ingestion.extractors.titles import titled
from kb_project.text.sentences import sentence_spans

_CAPITALISED: Final = regex.compile(
    r"\b\p{Lu}[\p{L}\p{M}\p{N}'’.-]*"
    r"(?:[ \t]+(?:(?:de|del|della|di|da|do|dos|du|des|la|le|von|van|der|den|zu|y|e|et|und|of|the)"
    r"[ \t]+){0,2}\p{Lu}[\p{L}\p{M}\p{N}'’.-]*){0,6}"
)
_QUOTED: Final = regex.compile(r"[«„“「『《](?P<title>[^«»„“”「」『』《》\n]{2,60})[»“”」』》]")
# German capitalises every noun: a single capitalised word is not a name there.
_CAPITAL_NOUNS: Final = frozenset({"de"})
_SYMBOL: Final = regex.compile(
    r"\b(?=[A-Za-z0-9_]{4,60}\b)(?:[A-Z]?[a-z]+[0-9]*(?:[A-Z][a-z0-9]*)+"  # getName, HashBuilder
    r"|[A-Z]{2,}[a-z][A-Za-z0-9]*"  # NDCPattern
    r"|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b"  # run_target, WEIGHT_COL
)
_DEFINITION: Final = regex.compile(
    r"^[ \t]*(?:[\w<>\[\]]+[ \t]+){0,3}?"
    r"(?:class|struct|enum|trait|interface|impl|def|fn|func|function|namespace|module|object)[ \t]+"
    r"(?P<name>[A-Za-z_]\w{2,60})",
    regex.MULTILINE,
)


def extract_names(text: str, language: str, title: str = "") -> Extraction:
    sentences = sentence_spans(text)
    openings = {start for start, _ in sentences}
    alone_counts = language not in _CAPITAL_NOUNS
    candidates = [
        mention(text, match.span(), NAME, "capitals")
        for match in _CAPITALISED.finditer(text)
        if " " in match.group() or (alone_counts and match.start() not in openings)
    ]
    candidates += [
        mention(text, match.span("title"), WORK, "quote") for match in _QUOTED.finditer(text)
    ]
    mentions = titled(text, longest(found for found in candidates if found), title)
    return Extraction(tuple(mentions), tuple(together(mentions, sentences)))


def extract_symbols(text: str) -> Extraction:
    """Every symbol; a definition is linked to the symbols on its line."""
    defined = {match.span("name") for match in _DEFINITION.finditer(text)}
    spans = sorted({match.span() for match in _SYMBOL.finditer(text)} | defined)
    mentions = tuple(
        FoundMention(start, end, text[start:end], SYMBOL, "code") for start, end in spans
    )
    return Extraction(mentions, tuple(_uses(text, mentions, defined)))


def _uses(
    text: str, mentions: tuple[FoundMention, ...], defined: set[tuple[int, int]]
) -> list[FoundRelation]:
    """From each definition to the symbols of its own line: bases, parameters, types."""
    relations: list[FoundRelation] = []
    owner: int | None = None
    owner_end = 0
    for index, found in enumerate(mentions):
        if (found.start, found.end) in defined:
            owner = index
            line_end = text.find("\n", found.end)
            owner_end = len(text) if line_end == -1 else line_end
        elif (
            owner is not None
            and found.end <= owner_end
            and found.surface != mentions[owner].surface
        ):
            start = mentions[owner].start
            relations.append(FoundRelation(owner, index, "uses", start, found.end, STATED, 1.0))
    return relations
