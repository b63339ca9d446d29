"""Source code: the symbols it defines and uses, told from words without a grammar."""

from __future__ import annotations

from typing import Final

import regex

from ingestion.extractors.found import STATED, SYMBOL, Extraction, FoundMention, FoundRelation

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


def extract(text: str) -> Extraction:
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
