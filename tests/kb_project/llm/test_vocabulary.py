from __future__ import annotations

import pytest

from kb_project.llm.vocabulary import are_common, is_common, key_words


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


TEXT = (
    "The keeper trims the wick of the lamp. Ada Lind has a lamp with a wick, and the use of the"
    " wick is known to Ada Lind. A lamp is lit by Ada. Each wick and each lamp burns by the use"
    " of oil."
)


def test_the_words_that_set_a_text_apart_are_its_nouns_but_neither_names_nor_usual_words():
    assert set(key_words(TEXT, 9)) == {"wick", "lamp"}


def test_code_and_other_languages_have_none():
    assert key_words("the lamp_oil of lamp/oil is lamp.oil, a lamp=oil. " * 9, 9) == []
    assert key_words("灯塔每天晚上六点点亮。" * 9, 9) == []
