"""Find the entities in a text and the relationships between them, without a language model.

``extract_many`` chooses the extractor: source code, English, Chinese, or any other language. Each
text is read independently, so the outcome never depends on earlier texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from ingestion.extractors import chinese, english, patterns
from ingestion.extractors.extraction import (
    CONCEPT,
    GENERIC_TYPES,
    NAME,
    STATED,
    TOGETHER,
    Extraction,
    FoundMention,
    FoundRelation,
    joined,
    windows,
)
from ingestion.extractors.records import with_records
from ingestion.extractors.titles import TITLE, added, is_term, repeated_names, with_title
from kb_project.text.languages import detect_language
from kb_project.text.regions import Region, RegionKind, is_code, prose

__all__ = [
    "GENERIC_TYPES",
    "METHOD",
    "STATED",
    "TOGETHER",
    "Extraction",
    "FoundMention",
    "FoundRelation",
    "extract",
    "extract_many",
]

METHOD: Final = "linguistic-9"
"""Name and version of this package's method: change it if the same text yields other facts."""
_NAMING: Final = (RegionKind.TABLE, RegionKind.CAPTION)
"""Regions besides prose that contain names."""


def extract(text: str, *, language: str = "", title: str = "") -> Extraction:
    """Extract from one text; :func:`extract_many` is twice as fast for several."""
    return extract_many([text], language=language, title=title)[0]


def extract_many(
    texts: Sequence[str],
    *,
    regions: Sequence[Sequence[Region]] = (),
    language: str = "",
    title: str = "",
    common: Collection[str] = (),
) -> list[Extraction]:
    """Extract from several texts of one document.

    ``regions`` are the parts of each text that are not prose: names are found in prose and in
    tables; headings only repeat them. ``language`` is the document's (ISO 639-1), but a text in
    another script is read as that. ``title`` is the document's: if a text spells it out, that is a
    mention. ``common`` are the document's lower-case words.
    """
    regions = regions or [()] * len(texts)
    read = [
        text if is_code(text) else prose(text, inside, _NAMING)
        for text, inside in zip(texts, regions, strict=True)
    ]
    found: list[Extraction | None] = [_without_model(text, language, title) for text in read]
    in_english = [text for text, extraction in zip(read, found, strict=True) if extraction is None]
    parsed = iter(english.extract_many(in_english, common, title))
    whole = [
        _with_headings(
            text, inside, next(parsed) if extraction is None else extraction, title, common
        )
        for text, inside, extraction in zip(texts, regions, found, strict=True)
    ]
    return [
        extraction if is_code(text) else with_records(text, inside, extraction)
        for text, inside, extraction in zip(texts, regions, whole, strict=True)
    ]


def _with_headings(
    text: str,
    regions: Sequence[Region],
    extraction: Extraction,
    title: str,
    common: Collection[str],
) -> Extraction:
    """Add the places where headings, too, spell out the title or a name from the prose.

    A title of common words (*Bacteria*, *9.7. Selling Shares*) is a term.
    """
    if is_code(text):
        return with_title(text, extraction, title)
    titled = with_title(prose(text, regions, (*_NAMING, RegionKind.HEADING)), extraction, title)
    if common and is_term(title, common):
        titled = replace(titled, mentions=tuple(map(_as_term, titled.mentions)))
    if not any(region.kind == RegionKind.HEADING for region in regions):
        return titled
    names = [mention for mention in extraction.mentions if mention.type != CONCEPT]
    outside = [one for one in regions if one.kind != RegionKind.HEADING]
    return added(titled, repeated_names(prose(text, outside), names))


def _as_term(found: FoundMention) -> FoundMention:
    is_unknown = found.source == TITLE and found.type == NAME
    return replace(found, type=CONCEPT) if is_unknown else found


def _without_model(text: str, language: str, title: str) -> Extraction | None:
    """The extraction of a text that is not English prose; None for one that is."""
    if is_code(text):
        return joined((offset, patterns.extract_symbols(piece)) for offset, piece in windows(text))
    spoken = _language_of(text, language)
    if spoken == "zh":
        return joined((offset, chinese.extract(piece, title)) for offset, piece in windows(text))
    if spoken != "en":
        return joined(
            (offset, patterns.extract_names(piece, spoken, title))
            for offset, piece in windows(text)
        )
    return None


def _language_of(text: str, language: str) -> str:
    """The document's language, unless the text is clearly written in another script."""
    detected = detect_language(text)
    if not language or detected in ("zh", "ja", "ko") or language in ("zh", "ja", "ko", "other"):
        return detected
    return language
