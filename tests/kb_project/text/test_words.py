"""Words and index terms."""

from __future__ import annotations

import threading
from unicodedata import normalize

import pytest
from hypothesis import given, strategies as st

from kb_project.text.words import LONGEST_TERM, counted, fold, is_unspaced, terms, words


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


def test_words_are_stemmed_and_little_words_left_out():
    assert terms("The ghosts were visiting him") == ["ghost", "visit"]


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("getWeightCol", {"getweightcol", "get", "weight", "col"}),
        ("WEIGHT_COL", {"weight_col", "weight", "col"}),
        ("get_pw_entry", {"get", "pw"}),
        ("parseHTTPHeader", {"http", "header"}),
        ("Base58_ripple", {"base", "58"}),
        ("__init__", {"init"}),
    ],
)
def test_identifiers_are_kept_whole_and_split(identifier, expected):
    assert expected <= set(terms(identifier))


def test_a_single_letter_of_an_identifier_is_not_a_term():
    assert terms("l2Norm") == ["l2norm", "2", "norm"]


def test_accents_and_case_do_not_matter():
    assert terms("Café Müller") == terms("CAFE MULLER")
    assert terms("Peut-être l'été") == terms(normalize("NFD", "Peut-être l'été"))


def test_possessives_and_contractions_are_dropped_but_irish_names_kept():
    assert terms("Scrooge's O'Brien’s") == ["scroog", "o", "brien"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("机器学习", ["机器", "器学", "学习"]),
        ("明", ["明"]),
        ("한국어", ["한국", "국어"]),
        ("用iPhone", ["用", "iphon"]),
        ("the keeper's机器", ["keeper", "机器"]),
    ],
)
def test_unspaced_scripts_become_pairs_of_characters(text, expected):
    assert set(expected) <= set(terms(text))


def test_data_is_not_language():
    assert terms("x" * (LONGEST_TERM + 1)) == []


def test_threads_do_not_share_a_stemmer():
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(terms("running houses " * 500)))
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [["run", "hous"] * 500] * 4


# Letters, numbers that are no digits, marks, apostrophes, and signs of no word.
SIGNS = "abAB_09'’²½ªéøßŁ.,- \t\u2013\u2070\u203f\u0301机ひー한ก"


@given(st.text(SIGNS) | st.text(st.characters(max_codepoint=0x20D0)))
def test_a_plain_text_is_cut_into_the_same_pieces_as_any_other(text):
    # The sign at the end is in no word, and has the text read by the pattern for all scripts.
    assert terms(text) == terms(f"{text} \u2603")


@given(st.text())
def test_any_text_has_terms_without_blanks(text):
    assert all(term and not any(c.isspace() for c in term) for term in terms(text))
