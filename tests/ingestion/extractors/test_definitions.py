from __future__ import annotations

import pytest

from ingestion.extractors.english import extract_many
from ingestion.extractors.extraction import SURE


def kinds(text: str) -> dict[str, str]:
    """The type of each name that is more than a guess."""
    [found] = extract_many([text])
    return {one.surface: one.type for one in found.mentions if one.source == SURE}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("He related it to Descartes, a famous philosopher.", "Descartes", "person"),
        ("He came with Tolstoy, the Russian novelist.", "Tolstoy", "person"),
        ("They played with programs such as Snowie.", "Snowie", "product"),
        ("It is told in manuscripts like the Popol Vuh.", "Popol Vuh", "work"),
        ("Voline was an anarchist who wrote about the revolution.", "Voline", "person"),
        ("Firefox is a browser with many tabs.", "Firefox", "product"),
        ("The Battle for Orran is a strategy game.", "Battle for Orran", "product"),
        ("He founded the paper Le Libertaire in Paris.", "Le Libertaire", "work"),
        ("We sailed to an island called Satawal.", "Satawal", "place"),
    ],
)
def test_a_sentence_that_says_what_something_is_tells_its_type(text: str, name: str, kind: str):
    assert kinds(text)[name] == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Press ok in the Transfer Funds window.", "Transfer Funds"),
        ("From the Sorting tab, choose the key.", "Sorting"),
    ],
)
def test_what_a_program_shows_is_named_by_what_it_does(text: str, name: str):
    assert kinds(text)[name] == "concept"


def test_a_quoted_button_is_no_title():
    [found] = extract_many(['Click on the "Damage Calculations" button in the fight window.'])

    assert [one.type for one in found.mentions] == ["concept"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Orran is not a town.", "Orran"),
        ("Temperature Map is a tool that was added.", "Temperature Map"),
        ("Use the option publisher NAME to say who made it.", "NAME"),
        ("It was written by Jeunet with Laurant, the film is set in Paris.", "Laurant"),
        ("Lind, a member of the ULB (the ULB was a party), fought in the north.", "Lind"),
    ],
)
def test_what_a_name_is_not_and_what_common_words_are_tell_nothing(text: str, name: str):
    assert name not in kinds(text)
