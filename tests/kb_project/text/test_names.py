from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.names import name_runs, normalise_name
from kb_project.text.words import words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Beatles", "beatles"),
        ("J. R. R. Tolkien", "J.R.R. Tolkien"),
        ("JRR Tolkien", "J.R.R. Tolkien"),
        ("U.S. Army", "US Army"),
        ("Scrooge’s", "Scrooge"),
        ("I'll Be Going Now", "I’Ll Be Going Now"),
        ("Aldri annet enn bråk", "ALDRI ANNET ENN BRAK"),
        ("查尔斯·狄更斯", "查尔斯 狄更斯"),
        ("1,000 Nights", "1000 nights"),
        ("Nautilus-Input", "nautilus input"),
    ],
)
def test_spellings_of_one_name_share_a_key(one, other):
    assert normalise_name(one) == normalise_name(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-3.5", "GPT-35"),
        ("C", "C#"),
        ("C", "C++"),
        ("Henry IV", "Henry V"),
        ("A. Milne", "Milne"),
        ("ガンダム", "カンタム"),
    ],
)
def test_different_names_keep_different_keys(one, other):
    assert normalise_name(one) != normalise_name(other)


@pytest.mark.parametrize("name", ["", "  ", "!?", "—"])
def test_a_name_without_letters_has_no_key(name):
    assert normalise_name(name) == ""


def test_an_article_alone_stays():
    assert normalise_name("The") == "the"


@given(st.text(max_size=60))
def test_any_text_has_a_key_without_stray_blanks(name):
    key = normalise_name(name)

    assert key == " ".join(key.split())


def test_an_accent_that_stands_alone_is_no_word():
    assert normalise_name("Žižek \u0301 x") == "zizek x"


def test_runs_are_listed_longest_first_and_bounded():
    found = list(name_runs(list(words("Who was Jacob Marley?")), longest=2))

    assert found[0] == (0, 2, "who was")
    assert (2, 4, "jacob marley") in found
    assert all(stop - first <= 2 for first, stop, _ in found)
    assert len(found) == 7
