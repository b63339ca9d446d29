from __future__ import annotations

import pytest

from ingestion.extractors.english import quoted_titles


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
