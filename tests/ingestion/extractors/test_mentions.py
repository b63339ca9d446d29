from __future__ import annotations

import pytest

from ingestion.extractors.extraction import CONCEPT, NAME, PERSON, SURE, FoundMention
from ingestion.extractors.mentions import (
    NEIGHBOURS,
    by_sentence,
    initials,
    longest,
    mention,
    stands_for,
    together,
)


def named(text: str, type_name: str = NAME) -> str | None:
    found = mention(text, (0, len(text)), type_name, "ner")
    if found is not None:
        assert " ".join(text[found.start : found.end].split()) == found.surface
    return found.surface if found else None


@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("Scrooge", "Scrooge"),
        ("the Ghost", "Ghost"),
        ("Scrooge's", "Scrooge"),
        ("Scrooge’s", "Scrooge"),
        ("“Bob Cratchit,”", "Bob Cratchit"),
        ("Bob\nCratchit", "Bob Cratchit"),
        ("Acme Inc.", "Acme Inc"),
        ("C++", "C++"),
        ("朱元璋", "朱元璋"),
        ("iPhone", "iPhone"),
    ],
)
def test_a_name_is_kept_without_what_surrounds_it(text, surface):
    assert named(text) == surface


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the",
        "He",
        "1843",
        "12 11",
        "Monday",
        "Mr.",
        "Chapter",
        "a",
        "walked",
        "A\n\nB",
        "X" * 300,
    ],
)
def test_what_is_no_name_is_refused(text):
    assert named(text) is None


@pytest.mark.parametrize(
    ("text", "end", "surface"),
    [("Glockenspiel\n10. Music Box", 15, "Glockenspiel"), ("Apollo\n11", 9, "Apollo 11")],
)
def test_the_number_of_the_next_entry_is_no_part_of_a_name(text, end, surface):
    found = mention(text, (0, end), NAME, "ner")

    assert found is not None
    assert found.surface == surface


def test_a_concept_may_be_in_lower_case():
    assert named("learning algorithm", CONCEPT) == "learning algorithm"


def make_mention(start: int, end: int, type_name: str = NAME) -> FoundMention:
    return FoundMention(start, end, "x" * (end - start), type_name, "ner")


def test_the_longest_name_wins_over_its_parts():
    whole, part, apart = make_mention(0, 20), make_mention(0, 7), make_mention(30, 35)

    assert longest([part, apart, whole]) == [whole, apart]


def test_of_two_equal_spans_the_one_of_a_known_kind_wins():
    known = make_mention(0, 5, PERSON)

    assert longest([make_mention(0, 5), known]) == [known]


def test_a_name_wins_over_a_longer_concept():
    name = make_mention(0, 5)

    assert longest([make_mention(0, 12, CONCEPT), name]) == [name]


def a_name(text: str, name: str, kind: str = "person") -> FoundMention:
    start = text.index(name)
    return FoundMention(start, start + len(name), name, kind, "ner")


@pytest.mark.parametrize(
    "text",
    [
        "Magnus Okafor (MO) wrote it.",
        "MO Magnus Okafor",
        "MO  Magnus Okafor",
        "MO | Magnus Okafor",
        "M.O. (Magnus Okafor)",
    ],
)
def test_initials_beside_a_name_have_its_kind(text: str):
    [found] = initials(text, [a_name(text, "Magnus Okafor")])

    assert found.surface.replace(".", "") == "MO"
    assert text[found.start : found.end] == found.surface
    assert (found.type, found.source) == ("person", SURE)


@pytest.mark.parametrize(
    "text",
    [
        "Magnus Okafor and MO left.",
        "Magnus Okafor (RK) wrote it.",
        "Magnus Okafor (Mo) wrote it.",
        "LMO  Magnus Okafor",
    ],
)
def test_other_capitals_stand_for_nobody(text: str):
    assert list(initials(text, [a_name(text, "Magnus Okafor")])) == []


def test_a_single_name_has_no_initials():
    text = "Okafor (OK) wrote it."

    assert list(initials(text, [a_name(text, "Okafor")])) == []


def test_small_words_have_no_letter_in_an_abbreviation():
    assert stands_for("SPI", "Software in the Public Interest")


def names(text: str) -> list[FoundMention]:
    """Every capital letter is a name."""
    return [
        FoundMention(place, place + 1, letter * 2, "name", "x")
        for place, letter in enumerate(text)
        if letter.isupper()
    ]


def pairs(text: str, stated: tuple[tuple[int, int], ...] = ()) -> list[tuple[int, int]]:
    return [(r.source, r.target) for r in together(names(text), [(0, len(text))], stated)]


def test_names_of_one_sentence_are_linked():
    assert pairs("A b C") == [(0, 1)]


def test_names_of_two_sentences_are_not():
    assert together(names("A B"), [(0, 1), (2, 3)]) == []


def test_a_stated_pair_is_not_repeated_in_either_direction():
    assert pairs("A B C", ((1, 0),)) == [(0, 2), (1, 2)]


def test_a_repeated_name_counts_once():
    assert pairs("A B A") == [(0, 1)]


def test_a_sentence_spreads_a_strength_of_one():
    found = together(names("A B C"), [(0, 5)])

    assert {r.strength for r in found} == {0.5}


def test_a_long_enumeration_does_not_link_everybody():
    text = "A B C D E F G H I J"

    assert len(pairs(text)) < 10 * NEIGHBOURS
    assert max(target - source for source, target in pairs(text)) == NEIGHBOURS


def test_a_name_across_a_border_belongs_to_no_sentence():
    crossing = [FoundMention(3, 8, "across", "name", "x"), FoundMention(9, 10, "in", "name", "x")]

    assert by_sentence(crossing, [(0, 5), (6, 12)]) == [((0, 5), []), ((6, 12), [1])]
