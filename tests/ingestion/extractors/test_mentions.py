from __future__ import annotations

import pytest

from ingestion.extractors.found import CONCEPT, NAME, PERSON, FoundMention
from ingestion.extractors.mentions import longest, mention


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
