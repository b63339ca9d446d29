from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.words import counted, fold, is_unspaced, words


def folded(text: str) -> list[str]:
    return [word.folded for word in words(text)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("ŁÓDŹ", "lodz"),
        ("Straße", "strasse"),
        ("Ｆｕｌｌ", "full"),
        ("ガンダム", "ガンダム"),
        ("한국", "한국"),
        ("İstanbul", "istanbul"),
    ],
)
def test_folding_keeps_what_carries_meaning(text, plain):
    assert fold(text) == plain


def test_words_keep_contractions_numbers_and_language_names_whole():
    assert folded("O'Brien's C++, C# and v3.5 for 1,000 people.") == [
        "o'brien's", "c++", "c#", "and", "v3.5", "for", "1,000", "people",
    ]  # fmt: skip


def test_a_script_without_spaces_is_separate_from_its_neighbours():
    assert folded("用iPhone看东京 2020") == ["用", "iphone", "看东京", "2020"]


def test_a_decomposed_accent_does_not_cut_a_word():
    assert folded("Re\u0301union") == ["reunion"]


def test_unspaced_scripts_are_recognised():
    assert is_unspaced("东京")
    assert is_unspaced("ガンダム")
    assert not is_unspaced("Tokyo")
    assert not is_unspaced("한국")


@given(st.text())
def test_offsets_cut_the_word_out_of_the_text(text):
    position = 0
    for word in words(text):
        assert position <= word.start < word.end <= len(text)
        position = word.end


def test_one_huge_word_is_read_in_linear_time():
    assert len(list(words("1." * 500_000))) == 1


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 facts"), (1, "1 fact"), (2, "2 facts"), (1200, "1,200 facts")]
)
def test_one_is_told_otherwise_than_none_or_several(number: int, said: str):
    assert counted(number, "fact") == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 entities"), (1, "1 entity"), (3, "3 entities")]
)
def test_several_may_have_a_word_of_their_own(number: int, said: str):
    assert counted(number, "entity", "entities") == said
