"""Which date of a sentence belongs to which fact."""

from __future__ import annotations

import pytest

from ingestion.extractors.dating import PassageText
from ingestion.extractors.extraction import (
    STATED,
    TOGETHER,
    Extraction,
    FoundClaim,
    FoundMention,
    FoundRelation as Relation,
)

PEOPLE = ("Ada", "Bo")
BOTH = "Ada led Acme from 1901 to 1905 and Beta since 1906."


def passage(text: str, *names: str, start: int = 0) -> PassageText:
    mentions = [
        FoundMention(
            start + text.index(name),
            start + text.index(name) + len(name),
            name,
            "person" if name in PEOPLE else "organization",
            "ner",
        )
        for name in names
    ]
    return PassageText(text, start, Extraction(tuple(mentions)))


def period(text: str, predicate: str, source: str, target: str, kind: str = STATED) -> str:
    """The period of what a text states of two names."""
    others = [name for name in ("Ada", "Bo", "Acme", "Beta", "Gamma") if name in text]
    read = passage(text, *others)
    ends = others.index(source), others.index(target)
    found = read.of_relation(Relation(*ends, predicate, 0, len(text), kind, 1.0))
    return f"{found.start}..{found.end}" if found else ""


@pytest.mark.parametrize(
    ("text", "predicate", "ends", "expected"),
    [
        ("In 1894 Ada founded Acme and in 1902 Beta.", "founded", ("Ada", "Acme"), "1894..1894"),
        ("In 1894 Ada founded Acme and in 1902 Beta.", "founded", ("Ada", "Beta"), "1902..1902"),
        (BOTH, "led", ("Ada", "Acme"), "1901..1905"),
        (BOTH, "led", ("Ada", "Beta"), "1906.."),
        ("Ada led Acme, Beta and Gamma until 1911.", "led", ("Ada", "Acme"), "..1911"),
        ("Acme, founded in 1990, bought Beta.", "bought", ("Acme", "Beta"), ""),
        ("Acme bought Beta, which closed in 1990.", "bought", ("Acme", "Beta"), ""),
        ("Ada founded Acme and died in 1990.", "founded", ("Ada", "Acme"), ""),
        ("In 1990, Ada, a painter, joined Acme.", "joined", ("Ada", "Acme"), "1990.."),
        ("Ada became head of Acme in 1990.", "became head of", ("Ada", "Acme"), "1990.."),
        ("Ada moved to Acme, located in Beta, in 1990.", "located in", ("Acme", "Beta"), ""),
        ("Ada was head of Acme in 1990.", "was head of", ("Ada", "Acme"), "1990..1990"),
        ("Ada, head of Acme from 1990 to 1995, died.", "head of", ("Ada", "Acme"), "1990..1995"),
        ("Ada, director of Acme, died in 1995.", "director of", ("Ada", "Acme"), ""),
        ("Ada was a member of Acme (1990–1995).", "was a member of", ("Ada", "Acme"), "1990..1995"),
        ("Acme was founded by Ada (1867–1934).", "was founded by", ("Acme", "Ada"), ""),
        ("自1998年Ada任Acme校长。", "任", ("Ada", "Acme"), "1998.."),
    ],
)  # fmt: skip
def test_the_closest_period_of_the_same_statement_wins(text, predicate, ends, expected):
    assert period(text, predicate, *ends) == expected


def test_names_that_only_occur_together_have_no_period():
    assert period("Ada and Bo were there in 1990.", "", "Ada", "Bo", TOGETHER) == ""


def test_the_words_are_counted_from_the_start_of_the_passage():
    text = "It rained. Ada led Acme since 1990."
    read = passage(text, "Ada", "Acme", start=500)

    found = read.of_relation(Relation(0, 1, "led", 511, 535, STATED, 1.0))

    assert found
    assert text[found.quote_start : found.quote_end] == "since 1990"


def claim(text: str, **given: str) -> FoundClaim:
    dates = {"period_start": "", "period_end": ""} | given
    return FoundClaim(0, None, "office", "true", **dates, description="", start=0, end=len(text))


def test_a_claim_takes_the_period_of_its_quote_unless_a_model_gave_one():
    text = "Ada was keeper from 1902 to 1911."
    read = passage(text, "Ada")

    assert read.dated(claim(text)).period_end == "1911"
    assert read.dated(claim(text, period_start="1900")) == claim(text, period_start="1900")
    twice = "Ada was keeper in 1902 and head in 1911."
    assert passage(twice, "Ada").dated(claim(twice)).period_start == ""
