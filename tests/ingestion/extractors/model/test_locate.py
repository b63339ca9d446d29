from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from ingestion.extractors.model import locate as located
from ingestion.extractors.model.locate import (
    folded,
    is_border,
    locate,
    occurrences,
    occurs,
    part_like,
    whole_words,
)

TEXT = (
    "Skarrow Light was built by Josiah Gault, “the old man of the rock”,\n"
    "and first lit on 3 October 1869. Its **keeper** — Ada Lind — burns 12 barrels of oil a year."
)


def words_at(quote: str, text: str = TEXT) -> str | None:
    span = locate(quote, folded(text))
    return None if span is None else text[span[0] : span[1]]


def test_words_as_they_stand_are_found():
    assert words_at("built by Josiah Gault") == "built by Josiah Gault"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ('"the old man of the rock"', "“the old man of the rock”"),
        ("old man of the rock”, and first lit", "old man of the rock”,\nand first lit"),
        ("SKARROW LIGHT WAS BUILT", "Skarrow Light was built"),
        ("Its keeper - Ada Lind - burns", "Its **keeper** — Ada Lind — burns"),
        ("'Skarrow Light was built.'", "Skarrow Light was built"),
        ("Skarrow   Light\twas", "Skarrow Light was"),
    ],
)
def test_other_spellings_of_the_same_words_are_found(quote, found):
    assert words_at(quote) == found


def test_a_slip_that_was_mended_is_found():
    text = "The kepeer of Skarrow has lived on the rock since her mother dyed."

    assert words_at("The keeper of Skarrow has lived on the rock", text) == (
        "The kepeer of Skarrow has lived on the rock"
    )


def test_a_quote_found_by_likeness_is_made_of_whole_words():
    text = "Nobody has ever crossed the sound in winter without a pilot from Hollow Bay."

    assert words_at("has ever crosed the sound in wintr withou", text) == (
        "has ever crossed the sound in winter without"
    )


@pytest.mark.parametrize(
    "quote",
    [
        "Skarrow Light was sold to a hotel company in the capital.",
        "first lit on 4 October 1869",
        "burns 21 barrels of oil a year",
        "",
        " … ",
        "***",
        "x" * 10_000,
    ],
)
def test_what_the_text_does_not_say_is_nowhere(quote):
    assert words_at(quote) is None


def test_a_short_quote_must_be_there_to_the_letter():
    assert words_at("a pylon") is None


def test_a_quote_longer_than_the_text_is_nowhere():
    assert words_at(TEXT + TEXT) is None


def test_chinese_is_found():
    text = "朱元璋在南京建立了明朝，年号洪武。"

    assert words_at("在南京建立了明朝", text) == "在南京建立了明朝"
    assert words_at("年号洪武", text) == "年号洪武"


def test_accents_in_another_form_are_found():
    assert words_at("Cafe\u0301 Lumie\u0300re", "Das Café Lumière schließt.") == "Café Lumière"


def test_a_text_without_letters_holds_no_quote():
    assert locate("Ada", folded("")) is None
    assert locate("Ada", folded("--- ***")) is None


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_part_of_a_text_is_found_in_it(before, part, after):
    text = before + part + after

    span = locate(part, folded(text))

    if any(character.isalnum() for character in part):
        assert span is not None
        assert text[span[0] : span[1]] == part.strip()


@given(st.text(max_size=60), st.text(max_size=200))
def test_a_span_is_never_outside_the_text(quote, text):
    span = locate(quote, folded(text))

    assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text(max_size=200))
def test_folding_keeps_every_letters_place(text):
    plain = folded(text)

    assert len(plain.text) == len(plain.places)
    assert list(plain.places) == sorted(plain.places)
    assert all(0 <= place < len(text) for place in plain.places)


def test_what_is_not_there_is_looked_for_approximately_once_and_given_up_early(monkeypatch):
    """The costly part: the cost grows with both lengths, and is small where much differs."""
    text = folded("The light burns oil that the keeper buys in the harbour. " * 200)
    looks: list[tuple[str, float]] = []

    def look(wanted: str, _text: str, *, score_cutoff: float) -> None:
        looks.append((wanted, score_cutoff))

    monkeypatch.setattr(located.fuzz, "partial_ratio_alignment", look)
    quotes = [f"an altogether different sentence of number {n} " * 12 for n in range(50)]

    assert not any(locate(quote, text) for quote in quotes)
    assert not locate("x" * (located.LONGEST_FUZZY + 1), text)

    assert len(looks) == len(quotes)
    assert {least for _, least in looks} == {located.ALIKE}


KEPT = (
    "In 1869 Ada Lind kept the light of Skarrow alone. Bo Strand, who came in spring, sold her"
    " three barrels of oil before the winter. " + "The harbour froze. " * 40 + "Cora Vik left."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Ada Lind kept … Skarrow alone", "Ada Lind kept the light of Skarrow alone"),
        ("Ada Lind kept [...] of Skarrow", "Ada Lind kept the light of Skarrow"),
        (
            "Ada Lind kept the light ... Bo Strand, who came ... barrels of oil",
            "Ada Lind kept the light of Skarrow alone. Bo Strand, who came in spring, sold her"
            " three barrels of oil",
        ),
        ("The text says: Ada Lind kept the light", "Ada Lind kept the light"),
        ("According to the passage, Bo Strand, who came", "Bo Strand, who came"),
    ],
)
def test_an_ellipsis_and_a_models_own_first_words_are_seen_through(quote, found):
    span = locate(quote, folded(KEPT))

    assert span is not None
    assert KEPT[slice(*span)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "sold her three barrels … Ada Lind kept the light",  # in another order
        "Ada Lind kept the light … Cora Vik left",  # too far apart to be one statement
        "Ada Lind kept the light … of Hollow Bay",
        "Ada … oil",
        "The text says: nothing of the kind happened",
        "…",
    ],
)
def test_parts_that_make_no_statement_of_the_text_are_nowhere(quote):
    assert locate(quote, folded(KEPT)) is None


def test_a_part_like_a_name_is_found():
    text = "the keeper of the Scarrow Light"

    span = part_like("Skarrow Light", folded(text), least=75)

    assert span is not None
    assert text[span[0] : span[1]] == "Scarrow Light"
    assert part_like("Hollow Bay", folded(text), least=75) is None
    assert part_like("", folded(text), least=75) is None


def test_whole_words_leave_space_out():
    assert whole_words("ab cd ef", 2, 6) == (3, 5)


@pytest.mark.parametrize(
    ("text", "place", "answer"),
    [("ab", 1, False), ("a b", 1, True), ("明朝", 1, True), ("ab", 0, True), ("ab", 2, True)],
)
def test_a_border_is_where_no_word_goes_on(text, place, answer):
    assert is_border(text, place) is answer


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_plain_texts_are_folded_like_all_others(text):
    """The short way for ASCII is the long way, with a letter in front that is none."""
    quick, slow = folded(text), folded(f"é{text}")

    # White space at the very beginning is dropped; behind the letter it is not at the beginning.
    first = 2 if slow.text[1:2] == " " else 1
    assert quick.text == slow.text[first:]
    assert [place + 1 for place in quick.places] == list(slow.places[first:])


def surfaces(text: str, *names: str) -> dict[str, list[str]]:
    found = occurrences(names, folded(text))
    return {name: [text[start:end] for start, end in spans] for name, spans in found.items()}


def test_every_place_is_found():
    text = "Ada Lind keeps the light. The light keeps Ada Lind; ADA  LIND sleeps."

    assert surfaces(text, "Ada Lind") == {"Ada Lind": ["Ada Lind", "Ada Lind", "ADA  LIND"]}


def test_a_name_inside_a_word_is_no_mention():
    assert surfaces("Adam adapts. Ada stays.", "Ada") == {"Ada": ["Ada"]}


def test_the_longest_name_wins_its_place():
    text = "Ebenezer Scrooge and Scrooge's nephew"

    assert surfaces(text, "Scrooge", "Ebenezer Scrooge") == {
        "Ebenezer Scrooge": ["Ebenezer Scrooge"],
        "Scrooge": ["Scrooge"],
    }


def test_accents_and_quotation_marks_do_not_matter():
    assert surfaces("Café «O’Brien»", "Cafe", "O'Brien") == {
        "Cafe": ["Café"],
        "O'Brien": ["O’Brien"],
    }


def test_chinese_needs_no_spaces():
    assert surfaces("朱元璋在南京建立了明朝。", "南京", "明朝") == {
        "南京": ["南京"],
        "明朝": ["明朝"],
    }


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("May said it may rain.", "May", ["May"]),
        ("It may rain.", "May", ["may"]),
        ("It is the IT department: IT runs it.", "IT", ["IT", "IT"]),
        ("SCROOGE! Scrooge!", "Scrooge", ["SCROOGE", "Scrooge"]),
        ("the keeper and the Keeper", "keeper", ["keeper", "Keeper"]),
        ("The Light House", "light house", ["Light House"]),
    ],
)
def test_a_capital_tells_a_name_from_a_common_word(text, name, found):
    assert surfaces(text, name) == {name: found}


def test_a_name_that_is_nowhere_has_no_places():
    assert surfaces("The light burns.", "Ada", " ", "") == {"Ada": [], " ": [], "": []}
    assert not occurs("Ada", folded("The light burns."))
    assert occurs("light", folded("The light burns."))


@given(st.lists(st.text("ab A", max_size=5), max_size=5), st.text("ab A.", max_size=60))
def test_places_never_overlap(names, text):
    spans = sorted(span for spans in occurrences(names, folded(text)).values() for span in spans)

    assert all(left[1] <= right[0] for left, right in pairwise(spans))
