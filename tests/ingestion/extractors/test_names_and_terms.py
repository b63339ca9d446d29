"""Which of what a tagger takes for a name is one, and of what kind, by what a document says."""

from __future__ import annotations

import pytest

from ingestion.extractors.edges import common_words, is_no_name, is_within_code
from ingestion.extractors.english import extract_many
from ingestion.extractors.extraction import SURE


def kinds(text: str, document: str = "") -> dict[str, str]:
    [found] = extract_many([text], common_words(document or text))
    return {one.surface: one.type for one in found.mentions}


def test_words_that_a_document_has_in_small_letters_are_common():
    words = common_words("The Tools are tools. A ghost came. It was the Ghost, or a Ghost.")

    assert "tools" in words
    assert "ghost" not in words


def test_paths_options_and_variables_make_no_word_common():
    assert common_words("see debian/rules, --shell, $home and lib.so (mount)") == {
        "see",
        "and",
        "mount",
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("set $DEBEMAIL now", "DEBEMAIL"),
        ("the file /etc/Motif here", "Motif"),
        ("call Retry() again", "Retry"),
        ("the file Contents-ARCH.gz is", "ARCH"),
        ("MODE=Fast is", "Fast"),
        ("write to Ada.Lind@example.org now", "Ada"),
    ],
)
def test_a_name_within_code_is_none(text: str, name: str):
    start = text.index(name)

    assert is_within_code(text, start, start + len(name))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the IBM/Motorola PowerPC machines", "IBM"),
        ("of non-Debian systems", "Debian"),
        ("Ada Lind, (1815-1852) and", "Ada Lind"),
        ("It was Scrooge.", "Scrooge"),
        ("It was Scrooge's.", "Scrooge"),
    ],
)
def test_a_name_in_prose_is_not_within_code(text: str, name: str):
    start = text.index(name)

    assert not is_within_code(text, start, start + len(name))


@pytest.mark.parametrize(
    "surface",
    ["Perl, Python", "Command; Description", "Debian 9 to Debian", "Dick! Chirrup", "A - B"],
)
def test_two_names_are_not_one(surface: str):
    assert is_no_name(surface)


@pytest.mark.parametrize("surface", ["Public Interest, Inc", "Jean-Luc Picard", "AT&T", "Lind, Jr"])
def test_a_name_with_a_mark_in_it_is_one(surface: str):
    assert not is_no_name(surface)


def test_a_version_is_no_part_of_a_name_and_tells_a_product():
    assert kinds("It came with Apache 2.4.48 and the Skylark Browser 3.2 last year.") == {
        "Apache": "product",
        "Skylark Browser": "product",
    }


def test_a_pronoun_later_in_the_sentence_tells_a_person():
    [found] = extract_many(["Bruce Perens left the island because his boat was ready."])

    assert [(one.surface, one.type, one.source) for one in found.mentions] == [
        ("Bruce Perens", "person", SURE)
    ]


def test_a_place_after_a_place_is_one():
    text = "The meeting took place in Edinburgh, Scotland, from 4 to 7 May."

    assert kinds(text) == {"Edinburgh": "place", "Scotland": "place"}


def test_common_words_with_capitals_are_a_term_and_no_organization():
    document = "Read the release notes. The release notes are long; the notes of a release."

    assert kinds("See the Release Notes of Debian.", document).get("Release Notes") != (
        "organization"
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("See Section 5.20, “Library Package”.", "Library Package"),
        ("It is in “3.2 Strictness Levels” there.", "3.2 Strictness Levels"),
        ("They wrote “SOURCE PACKAGE FORMATS” above.", "SOURCE PACKAGE FORMATS"),
        ("The line has “Am;1” above it.", "Am;1"),
        ("The line has “12.2” above it.", "12.2"),
    ],
)
def test_a_quoted_heading_is_no_work(text: str, title: str):
    assert kinds(text).get(title) != "work"


def test_a_degree_is_no_name():
    assert not {"PhD", "MD"} & kinds("It was found by Ada Lind, PhD, and Bram Oost, MD.").keys()


def test_a_label_in_capitals_is_no_part_of_the_name_behind_it():
    text = "This community is small.\n\nCOMMUNITY Bruce Perens led the project for a year."

    assert "COMMUNITY Bruce Perens" not in kinds(text)
