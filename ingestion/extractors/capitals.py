"""Languages without a model of their own: names are runs of capitalised words.

In a language that does not capitalise nouns this finds most names; in a script without capitals it
finds what is in quotation marks.
"""

from __future__ import annotations

from typing import Final

import regex

from ingestion.extractors.found import NAME, WORK, Extraction
from ingestion.extractors.mentions import longest, mention
from ingestion.extractors.together import together
from kb_project.text.sentences import sentence_spans

_CAPITALISED: Final = regex.compile(
    r"\b\p{Lu}[\p{L}\p{M}\p{N}'’.-]*"
    r"(?:[ \t]+(?:(?:de|del|della|di|da|do|dos|du|des|la|le|von|van|der|den|zu|y|e|et|und|of|the)"
    r"[ \t]+){0,2}\p{Lu}[\p{L}\p{M}\p{N}'’.-]*){0,6}"
)
_QUOTED: Final = regex.compile(r"[«„“「『《](?P<title>[^«»„“”「」『』《》\n]{2,60})[»“”」』》]")
# German capitalises every noun: a single capitalised word is not a name there.
_CAPITAL_NOUNS: Final = frozenset({"de"})


def extract(text: str, language: str) -> Extraction:
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
    mentions = longest(found for found in candidates if found)
    return Extraction(tuple(mentions), tuple(together(mentions, sentences)))
