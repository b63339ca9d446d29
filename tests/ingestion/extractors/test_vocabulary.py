from __future__ import annotations

import pytest

from ingestion.extractors.vocabulary import are_common, is_common


@pytest.mark.parametrize("word", ["key", "shares", "withdrawal", "finish"])
def test_common_words_are_among_them(word: str):
    assert is_common(word)


@pytest.mark.parametrize(
    "word", ["peter", "paris", "linux", "python", "wood", "oslo", "debian", "tern"]
)
def test_what_mostly_names_something_is_not(word: str):
    assert not is_common(word)


def test_a_texts_own_words_count_too():
    assert are_common(["titlebar", "options"], {"titlebar"})
    assert not are_common(["titlebar", "options"])
