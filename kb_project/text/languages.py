"""Scripts, months, and a text's language: detected well enough to choose an extractor.

Script first; then, for the Latin alphabet, the share of each language's most common function words.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import regex

HAN: Final = regex.compile(r"\p{Han}")
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)

_SAMPLE: Final = 6_000
"""Characters sampled: half from the beginning, half from the middle."""

_SCRIPTS: Final = {
    "zh": HAN,
    "ja": regex.compile(r"[\p{Hiragana}\p{Katakana}]"),
    "ko": regex.compile(r"\p{Hangul}"),
    "latin": regex.compile(r"\p{Latin}"),
    "letters": regex.compile(r"\p{L}"),
}
_LITTLE_WORDS: Final = {
    "en": "the of and to in is was for that with as on by it at from are this he his or be an not",
    "de": "der die und das den von zu mit ist im auf für des dem nicht ein eine als auch sich wird",
    "fr": "le la les des et du en une est dans que pour qui par sur au pas plus ce il avec sont",
    "es": "el la los las de y que en un una por con del se es para como su al lo más pero fue",
    "it": "il di che la e un per è una in del della con si da sono non le dei nel alla gli anche",
    "pt": "o a os as de e que do da em um uma para com não por dos das se na no foi ao mais",
    "nl": "de het een van en in is dat op te met voor zijn niet aan er om ook als bij door werd",
}
_BY_WORD: Final = {
    language: frozenset(little.split()) for language, little in _LITTLE_WORDS.items()
}
_LATIN_WORD: Final = regex.compile(r"[\p{Latin}\p{M}]+")


LANGUAGES: Final = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
}
"""Those of the Latin alphabet, with their names."""


def detect_language(text: str, usual: str = "en") -> str:
    """Return an ISO 639-1 code among zh, ja, ko, en, de, fr, es, it, pt, nl, or ``"other"``.

    Latin text without a known word (a list of names, source code) counts as the ``usual`` language:
    English, that of most code and the one with the most complete extractor, unless a workspace has
    chosen another.

    >>> detect_language("朱元璋是皇帝。"), detect_language("Es war einmal und ist nicht mehr.")
    ('zh', 'de')
    >>> detect_language("Ada Lind"), detect_language("Ada Lind", "de")
    ('en', 'de')
    """
    sample = _sample(text)
    letters = len(_SCRIPTS["letters"].findall(sample))
    if not letters:
        return "other"
    share = {name: len(script.findall(sample)) / letters for name, script in _SCRIPTS.items()}
    if share["ko"] > 0.3:
        return "ko"
    if share["ja"] + share["zh"] > 0.3:
        return "ja" if share["ja"] > 0.1 * (share["ja"] + share["zh"]) else "zh"
    return _latin_language(sample, usual) if share["latin"] > 0.6 else "other"


def _sample(text: str) -> str:
    if len(text) <= _SAMPLE:
        return text
    half, middle = _SAMPLE // 2, len(text) // 2
    return f"{text[:half]} {text[middle : middle + half]}"


def _latin_language(sample: str, usual: str) -> str:
    counts: Counter[str] = Counter()
    for word in _LATIN_WORD.findall(sample.lower()):
        counts.update(language for language, known in _BY_WORD.items() if word in known)
    if not counts:
        return usual
    best, most = counts.most_common(1)[0]
    return "en" if counts["en"] >= most else best
