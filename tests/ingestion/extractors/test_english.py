from __future__ import annotations

import pytest

from ingestion.extractors.english import extract_many
from ingestion.extractors.extraction import STATED, TOGETHER, Extraction


def names(extraction: Extraction) -> dict[str, str]:
    return {m.surface: m.type for m in extraction.mentions}


def facts(text: str) -> list[tuple[str, str, str]]:
    found = extract_many([text])[0]
    return [
        (found.mentions[r.source].surface, r.predicate, found.mentions[r.target].surface)
        for r in found.relations
        if r.kind == STATED
    ]


def test_people_and_places_are_found_with_their_offsets():
    text = "Etan Boritzer was born in New York and lives in Venice, California."

    found = extract_many([text])[0]

    assert names(found) == {
        "Etan Boritzer": "person",
        "New York": "place",
        "Venice": "place",
        "California": "place",
    }
    assert all(text[m.start : m.end] == m.surface for m in found.mentions)


def test_dates_and_amounts_are_no_entities():
    assert names(
        extract_many(["On 4 May 1843 Bob Cratchit paid $300 for three geese."])[0]
    ).keys() == {"Bob Cratchit"}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Marley was Scrooge's partner.", ("Marley", "was partner of", "Scrooge")),
        (
            "Bob Cratchit was the clerk of Ebenezer Scrooge.",
            ("Bob Cratchit", "was the clerk of", "Ebenezer Scrooge"),
        ),
        ("Anna Holm visited Paris and met Peter Lind.", ("Anna Holm", "met", "Peter Lind")),
        (
            "Bertha, daughter of Lothair, lived in Rome.",
            ("Bertha", "daughter of", "Lothair"),
        ),
        (
            "Anna Lindqvist was appointed by Peter Holm in Oslo.",
            ("Anna Lindqvist", "was appointed by", "Peter Holm"),
        ),
    ],
)
def test_facts_read_like_the_sentence(text, fact):
    assert fact in facts(text)


def test_mister_is_no_part_of_a_name_but_missis_is():
    text = "Mr. Ebenezer Scrooge visited Mrs. Emily Cratchit in London."

    found = names(extract_many([text])[0])

    assert found["Ebenezer Scrooge"] == "person"
    assert any(name.startswith("Mrs") for name in found)


def test_a_title_page_states_nothing():
    assert facts("BY ARTHUR RACKHAM J. B. LIPPINCOTT COMPANY PHILADELPHIA") == []


def test_a_fact_rests_on_its_sentence():
    text = "It was cold. Marley was Scrooge's partner. They were rich."

    fact = next(r for r in extract_many([text])[0].relations if r.kind == STATED)

    assert text[fact.start : fact.end] == "Marley was Scrooge's partner."


def test_names_in_one_sentence_are_linked_when_nothing_is_stated():
    found = extract_many(["In Paris, and not without Anna Holm, it rained."])[0]

    assert [r.kind for r in found.relations] == [TOGETHER]


def test_a_text_without_names_is_about_its_concepts():
    text = (
        "A learning algorithm builds models from training data. When the training data is noisy,"
        " the learning algorithm may fail, and a decision tree is often the better choice for it."
    )

    found = names(extract_many([text])[0])

    assert {"learning algorithm", "training data", "decision tree"} <= found.keys()
    assert set(found.values()) == {"concept"}


def test_a_text_with_names_does_without_concepts():
    text = "Anna Holm showed Peter Lind the decision tree in Oslo."

    assert "concept" not in names(extract_many([text])[0]).values()


def test_each_text_is_read_by_itself():
    texts = ["Fred met Anna Holm in Oslo.", "Peter Lind wrote to Fred from Paris.", ""]

    together = extract_many(texts)

    assert together == [extract_many([text])[0] for text in texts]
    assert together[2] == Extraction()


@pytest.mark.parametrize(
    "text",
    ["x" * 30_000, "Aa " * 20_000, "\n" * 500, "😀" * 500, "\u200b\u0301", "(" * 2_000],
)
def test_strange_text_does_no_harm(text):
    assert len(extract_many([text])) == 1
