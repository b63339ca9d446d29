from __future__ import annotations

import pytest

from ingestion.extractors import extract
from ingestion.extractors.found import CONCEPT, NAME, PERSON
from ingestion.extractors.kinds import kind_of


@pytest.mark.parametrize(
    ("surface", "kind"),
    [
        ("Corrigan Marine", "organization"),
        ("Hestay Harbour Board", "organization"),
        ("University of Dunmarrow", "organization"),
        ("Breck Harbour", "place"),
        ("Port Ansgar", "place"),
        ("Storm Ottoline", "event"),
        ("Battle of Hastings", "event"),
        ("RV Agnes Tulloch", "product"),
        ("Dr. Leena Varghese", "person"),
        ("Duchess of Lucca", "person"),
    ],
)
def test_the_words_of_a_name_tell_its_kind(surface: str, kind: str):
    assert kind_of(surface, NAME) == kind


@pytest.mark.parametrize("surface", ["Owen Lacey", "Works", "Norholm Wind", "Ella of the Hill"])
def test_a_name_that_tells_nothing_keeps_the_kind_it_was_given(surface: str):
    assert kind_of(surface, PERSON) == PERSON


def test_a_common_noun_stays_a_concept():
    assert kind_of("lens works", CONCEPT) == CONCEPT


def test_extraction_uses_it():
    text = "Vellacott Lens Works cut the prisms that Storm Ottoline had broken."
    kinds = {m.surface: m.type for m in extract(text, language="en").mentions}

    assert kinds["Vellacott Lens Works"] == "organization"
    assert kinds["Storm Ottoline"] == "event"
