from __future__ import annotations

from ingestion.extractors.found import FoundMention
from ingestion.extractors.together import NEIGHBOURS, by_sentence, together


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
