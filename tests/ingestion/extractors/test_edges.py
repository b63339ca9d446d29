"""Where a name begins and ends, and what is none."""

from __future__ import annotations

import pytest
import spacy
from hypothesis import given, strategies as st

from ingestion.extractors.edges import LONGEST, is_no_name, trimmed
from ingestion.extractors.english import extract_many
from ingestion.parsers.document import clean

_WORDS = spacy.blank("en")


def cut(surface: str) -> str:
    doc = _WORDS(surface)
    offsets = trimmed(doc[:])
    return surface[slice(*offsets)] if offsets else ""


@pytest.mark.parametrize(
    ("surface", "name"),
    [
        ("Whereat Scrooge", "Scrooge"),
        ("bade Scrooge", "Scrooge"),
        ("will Scrooge", "Scrooge"),
        ("Poor Tiny Tim", "Tiny Tim"),
        ("The Debian Project", "Debian Project"),
        ("Ian Murdock went", "Ian Murdock"),
        ("- Bram Holm,", "Bram Holm"),
        ("Scrooge Scrooge", "Scrooge"),
        ("I Scrooge", "Scrooge"),
        ("MO Magnus Okafor", "Magnus Okafor"),
        ("RV Agnes Tulloch", "RV Agnes Tulloch"),
    ],
)
def test_a_name_is_cut_to_its_own_words(surface: str, name: str):
    assert cut(surface) == name


@pytest.mark.parametrize(
    "name",
    [
        "Vincent van Gogh",
        "van Gogh",
        "de Gaulle",
        "al-Masri",
        "US Navy",
        "Anna of Denmark",
        "朱元璋",
        "Émile Zola",
        "C++",
        "Jan-Peter O'Neill",
    ],
)
def test_a_whole_name_is_kept_whole(name: str):
    assert cut(name) == name


@pytest.mark.parametrize("surface", ["However", "bade", "van", "—", "the", "A", "…"])
def test_nothing_is_left_of_what_has_no_name(surface: str):
    assert cut(surface) == ""


def test_what_is_longer_than_a_name_is_a_clause():
    assert cut(" ".join(["Ada"] + ["Lind", "Holm"] * LONGEST)) == ""


@pytest.mark.parametrize(
    "surface",
    [
        "Section 4.7",
        "Chapter IV",
        "Figure 2.",
        "STAVE ONE",
        "is_DFSG(x",
        "/etc/passwd",
        "debian/control",
        "foo_1.0.dsc",
        "sources.list.md",
        "https://example.org",
        "--install",
        "12.5",
        "Lamp (of Skarrow",
        "A = B",
        "Op. Cit",
        "Cit",
        "Ibid.",
    ],
)
def test_references_paths_and_code_are_no_names(surface: str):
    assert is_no_name(surface)


@pytest.mark.parametrize(
    "surface",
    [
        "Debian",
        "C. S. Lewis",
        "NASA",
        "O'Neill",
        "Section House",
        "Partridge",
        "Jean-Luc",
        "朱元璋",
    ],
)
def test_names_are_no_references(surface: str):
    assert not is_no_name(surface)


@given(st.text(max_size=40).map(lambda text: clean(text)[0]))
def test_whatever_is_cut_lies_inside_and_has_no_space_around(surface: str):
    name = cut(surface)

    assert name in surface
    assert name == name.strip()


def test_the_words_around_a_name_in_a_text_are_no_part_of_it():
    text = (
        "Whereat Scrooge laughed. The clerk bade Scrooge farewell. Why will Scrooge not come?"
        " Poor Tiny Tim sat beside Bob Cratchit."
    )

    found = {one.surface for one in extract_many([text])[0].mentions}

    assert {"Scrooge", "Tiny Tim", "Bob Cratchit"} <= found
    assert not [one for one in found if "Scrooge" in one and one != "Scrooge"]


def test_a_word_with_a_capital_from_its_sentence_is_no_name_where_the_text_has_it_small():
    text = "Lamps burn oil. The lamps of Ada Lind smoke. Lamps are dear."

    assert {one.surface for one in extract_many([text])[0].mentions if one.type != "concept"} == {
        "Ada Lind"
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("In 1998 Sam Hocevar led Debian, and all was well.", "Sam Hocevar"),
        ("He won 4 Golden Globes in the end.", "Golden Globes"),
        (
            "Importing Customers and Vendors is easy. We were importing more.",
            "Customers and Vendors",
        ),
    ],
)
def test_neither_verbs_nor_counts_belong_to_a_name(text: str, name: str):
    found = [mention.surface for mention in extract_many([text])[0].mentions]

    assert not any(len(one) > len(name) for one in found if name in one)


def test_a_path_through_a_menu_is_no_name():
    assert is_no_name("File → Import → Replay")
