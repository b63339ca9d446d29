from __future__ import annotations

import pytest

from ingestion.extractors.found import SURE, FoundMention
from ingestion.extractors.initials import initials, stands_for


def named(text: str, name: str, kind: str = "person") -> FoundMention:
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
    [found] = initials(text, [named(text, "Magnus Okafor")])

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
    assert list(initials(text, [named(text, "Magnus Okafor")])) == []


def test_a_single_name_has_no_initials():
    text = "Okafor (OK) wrote it."

    assert list(initials(text, [named(text, "Okafor")])) == []


def test_small_words_have_no_letter_in_an_abbreviation():
    assert stands_for("SPI", "Software in the Public Interest")
