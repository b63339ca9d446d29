from __future__ import annotations

import pytest

from ingestion.extractors.capitals import extract


def surfaces(text: str, language: str) -> list[str]:
    return [mention.surface for mention in extract(text, language).mentions]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("fr", "Hier, Jean de La Fontaine est venu à Paris.", ["Jean de La Fontaine", "Paris"]),
        ("es", "Ayer vino Gabriel García Márquez a Bogotá.", ["Gabriel García Márquez", "Bogotá"]),
        ("de", "Gestern kam Johann von Goethe mit dem Zug an.", ["Johann von Goethe"]),
        ("other", "Вчера приехал Лев Толстой.", ["Лев Толстой"]),
        ("ja", "昨日『吾輩は猫である』を読んだ。", ["吾輩は猫である"]),
        ("fr", "Le chat dort.", []),
    ],
)
def test_names_are_runs_of_capitals_or_quoted(language, text, names):
    assert surfaces(text, language) == names


def test_names_of_one_sentence_are_linked():
    found = extract("Hier Jean Valjean est venu à Paris.", "fr")

    assert [(r.source, r.target) for r in found.relations] == [(0, 1)]
