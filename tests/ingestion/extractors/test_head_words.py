from __future__ import annotations

import pytest

from ingestion.extractors import extract
from ingestion.extractors.extraction import CONCEPT, NAME, PERSON
from ingestion.extractors.head_words import kind_of


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
        ("World War II", "event"),
        ("Košice Peace Marathon", "event"),
        ("Peak Reservation Ordinance", "work"),
        ("Westminster Abbey", "place"),
        ("Red Army", "organization"),
        ("Eberle Verlag", "organization"),
        ("Taplinger Publishing", "organization"),
        ("Windows Explorer", "product"),
        ("Universidad Nacional Autónoma", "organization"),
        ("RV Agnes Tulloch", "product"),
        ("Dr. Leena Varghese", "person"),
        ("Duchess of Lucca", "person"),
        ("Chapter 9. Harbour Services", "work"),
        ("Conference on Electronic Publishing", "event"),
        ("Guide for Harbour Masters", "work"),
        ("Light and Fog for Keepers Handbook", "work"),
        ("Lamps in the Public Interest, Inc.", "organization"),
        ("Tern Point", "place"),
        ("Loan Calculator", "product"),
        ("Palace de la Bastille", "place"),
        ("Universität Osnabrück", "organization"),
        ("Charles Scribner's Sons", "organization"),
        ("International Task Force", "organization"),
    ],
)
def test_the_words_of_a_name_tell_its_kind(surface: str, kind: str):
    assert kind_of(surface, NAME) == kind


@pytest.mark.parametrize(
    "surface",
    [
        "Owen Lacey",
        "Works",
        "Norholm Wind",
        "Ella of the Hill",
        "Freezing Point",
        "Video & Sound",
        "Contributing to the Library",
    ],
)
def test_a_name_that_tells_nothing_keeps_the_kind_it_was_given(surface: str):
    assert kind_of(surface, PERSON) == PERSON


def test_a_common_noun_stays_a_concept():
    assert kind_of("lens works", CONCEPT) == CONCEPT


def test_extraction_uses_it():
    text = "Vellacott Lens Works cut the prisms that Storm Ottoline had broken."
    kinds = {m.surface: m.type for m in extract(text, language="en").mentions}

    assert kinds["Vellacott Lens Works"] == "organization"
    assert kinds["Storm Ottoline"] == "event"
