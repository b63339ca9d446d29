from __future__ import annotations

import pytest

from ingestion.extractors.english import quoted_titles
from ingestion.extractors.extraction import CONCEPT, NAME


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("She sang “Me and Bobby McGee” twice.", ["Me and Bobby McGee"]),
        ('He read "The Return of the King".', ["Return of the King"]),
        ('The film" Live Cargo" is his first.', ["Live Cargo"]),
        ("“Good afternoon,” said Scrooge.", []),
        ("“Humbug!” said Scrooge.", []),
        ("“I will come on Monday.”", []),
        ('"' * 100, []),
        ("no quotes", []),
    ],
)
def test_what_is_written_like_a_title_is_a_work(text, titles):
    found = list(quoted_titles(text))

    assert [mention.surface for mention in found] == titles
    assert all(mention.type == "work" for mention in found)


def test_what_something_is_called_is_of_unknown_type():
    text = "The Big Dipper is often called the “North Seven Stars” in China."

    assert [(one.surface, one.type) for one in quoted_titles(text)] == [("North Seven Stars", NAME)]


def test_what_a_menu_or_a_button_shows_is_a_term():
    text = "Use File → “Save to HTML”, then press the “Mash Designer” button."

    assert {one.type for one in quoted_titles(text)} == {CONCEPT}
