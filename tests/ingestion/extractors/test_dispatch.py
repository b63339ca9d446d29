from __future__ import annotations

from itertools import pairwise

import pytest

from ingestion.extractors import Extraction, extract, extract_many
from ingestion.extractors.extraction import CONCEPT


def surfaces(extraction: Extraction) -> set[str]:
    return {mention.surface for mention in extraction.mentions}


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        ("Marley was Scrooge's partner.", "en", "Scrooge"),
        ("朱元璋打败了陈友谅。", "zh", "朱元璋"),
        ("朱元璋打败了陈友谅。", "en", "朱元璋"),
        ("Marley was the partner of Scrooge.", "zh", "Marley"),
        ("Hier, Jean Valjean est arrivé dans la ville.", "fr", "Jean Valjean"),
        ("def run_target(self):\n    return self.target_name\n", "en", "run_target"),
        ("Marley was Scrooge's partner.", "", "Marley"),
    ],
)
def test_each_text_is_read_as_what_it_is(text, language, name):
    assert name in surfaces(extract(text, language=language))


def test_the_title_is_a_mention_in_any_language():
    assert surfaces(extract("《故乡》是鲁迅写的。", language="zh", title="故乡")) >= {"故乡"}


def test_a_title_of_common_words_is_a_term():
    text = "Bacteria are small. Most bacteria live in soil."

    found = extract_many([text], language="en", title="Bacteria", common={"bacteria"})[0]

    assert {mention.type for mention in found.mentions} == {CONCEPT}


def test_texts_keep_their_order():
    found = extract_many(["朱元璋走了。", "Fred met Anna Holm.", ""], language="en")

    assert "朱元璋" in surfaces(found[0])
    assert "Anna Holm" in surfaces(found[1])
    assert found[2] == Extraction()


def test_no_texts_give_nothing():
    assert extract_many([]) == []


def test_mentions_are_ordered_and_apart_and_relations_point_at_them():
    text = (
        "Waiting for the Clouds is a film directed by Yeşim Ustaoğlu. Ustaoğlu was born in Turkey."
    )

    found = extract(text, title="Waiting for the Clouds")

    ends = [(m.start, m.end) for m in found.mentions]
    assert ends == sorted(ends)
    assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert all(max(r.source, r.target) < len(ends) for r in found.relations)
    assert "Waiting for the Clouds" in surfaces(found)


def test_reading_twice_finds_the_same():
    text = "Etan Boritzer was born in New York and lives in Venice, California."

    assert extract(text) == extract(text)
