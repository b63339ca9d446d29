from __future__ import annotations

import pytest

from ingestion.extractors.english import extract_many
from ingestion.extractors.extraction import (
    CONCEPT,
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    PRODUCT,
    SURE,
)


def kinds(text: str) -> dict[str, tuple[str, bool]]:
    """The kind of each name, and whether it is more than a guess."""
    [found] = extract_many([text])
    made: dict[str, tuple[str, bool]] = {}
    for one in found.mentions:
        _, was_sure = made.get(one.surface, ("", False))
        if not was_sure:
            made[one.surface] = (one.type, one.source == SURE)
    return made


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Her husband Olaf Brekke kept the light.", "Olaf Brekke"),
        ("His brother Halvard came by boat.", "Halvard"),
        ("“It is lit,” said Marley.\nMarley said nothing more.", "Marley"),
        ("Murdock's wife wrote to the harbour board.", "Murdock"),
        ("Bruce Perens, who kept the list, left in 1996.", "Bruce Perens"),
    ],
)
def test_titles_kin_and_speech_tell_a_person(text: str, name: str):
    assert kinds(text)[name] == (PERSON, True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("They ship the Tidewatch program with the station.", "Tidewatch"),
        ("We installed the Skylark package on every machine.", "Skylark"),
        ("The trawler Margaret Heddle came on to the bank.", "Margaret Heddle"),
    ],
)
def test_what_is_called_a_program_or_a_package_is_a_product(text: str, name: str):
    assert kinds(text).get(name) == (PRODUCT, True)


@pytest.mark.parametrize(
    "text", ["He flew to Geneva.", "It rained in Geneva.", "She is from Geneva."]
)
def test_words_of_place_before_a_place_bear_the_guess_out(text: str):
    assert kinds(text)["Geneva"] == (PLACE, True)


def test_what_has_an_article_may_do_something_to_somebody_without_being_a_person():
    told = kinds("He asked again because the Office would not send him a pattern.")

    assert told["Office"] != (PERSON, True)


def test_several_words_are_an_organization_where_the_recogniser_says_so():
    assert kinds("She works at Hewlett Packard.")["Hewlett Packard"] == (ORGANIZATION, False)


def test_without_a_word_before_it_a_recognisers_organization_is_of_unknown_type():
    assert kinds("A script by Barwood Films was sold.")["Barwood Films"] == (NAME, False)
    assert kinds("She wrote to Garrow & Sons in May.")["Garrow & Sons"] == (ORGANIZATION, False)


def test_a_number_behind_a_name_makes_a_product_only_of_what_is_not_taken_for_a_person():
    told = kinds("The star Khilj 2 rises.") | kinds("The game came with PlayStation 2 in a box.")

    assert told["Khilj 2"] == (NAME, False)
    assert told["PlayStation 2"] == (PRODUCT, False)


def test_what_has_an_article_is_no_person():
    assert kinds("We saw the Moon above the hills.")["Moon"] != (PERSON, False)


def test_a_phrase_that_begins_with_a_common_word_is_no_person():
    told = kinds("Prices split in 2020. Later Split Scheme was told by Ada Berg.")

    assert told["Split Scheme"] == (NAME, False)
    assert told["Ada Berg"][0] == PERSON


def test_an_abbreviation_that_nothing_bears_out_is_a_term():
    assert kinds("We like NASA.")["NASA"] == (CONCEPT, False)


def test_what_follows_a_title_with_a_point_is_the_person():
    found = kinds("Mr. Scrooge met Mrs. Cratchit in Camden Town on the way to the office.")

    assert found["Scrooge"][0] == PERSON
    assert found["Mrs. Cratchit"][0] == PERSON


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The file is used only when building on MS-DOS. It is short.", "MS-DOS"),
        ("King David I of Scotland, whose elder brother had died, came north.", "Scotland"),
    ],
)
def test_what_is_spelt_like_a_lady_or_has_something_is_not_yet_a_person(text: str, name: str):
    assert kinds(text).get(name, ("", False))[0] != PERSON


def test_what_a_reference_gives_a_year_and_a_volume_is_a_journal():
    text = "Kralewski JE. Records that guide and teach. Ann Intern Med. 1973 May;78(5):751-62."

    assert kinds(text)["Ann Intern Med"][0] == "work"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Page Up moves up one screen, Page Down moves down one screen.", "Page Down"),
        ("From the Sorting tab, set Primary Key to Accounts.", "Primary Key"),
        ("On the first split line, enter 50 in Shares.", "Shares"),
        ("The deposits go into Checking.", "Checking"),
    ],
)
def test_common_english_words_are_nobody_and_nowhere_whatever_a_recogniser_says(
    text: str, name: str
):
    kind, is_sure = kinds(text)[name]

    assert kind in (NAME, CONCEPT)
    assert not is_sure


def test_a_number_behind_common_words_is_no_version():
    told = kinds("The Room Temperature 0.935 is noted, and Samba 4.1 is new.")
    told |= kinds("This text, Version 1.9, supersedes Version 1.8.")

    assert told.get("Version", (NAME, False))[0] != PRODUCT
    assert told["Room Temperature"][0] == NAME
    assert told["Samba"] == (PRODUCT, True)


def test_an_idea_is_no_people_and_another_script_is_not_guessed_at():
    told = kinds("Under Stalinism, Christianity was watched. The star is called نجمة العشاء there.")

    assert {kind for kind, _ in told.values()}.isdisjoint({"group", PERSON})


def test_several_of_a_people_who_do_something_are_a_group():
    assert kinds("The early Icelanders knew what they did not want.")["Icelanders"][0] == "group"


def test_capitals_are_no_form_of_address():
    assert kinds("It was written for MS Money and runs there.").get("MS Money", ("",))[0] != PERSON


def test_a_translation_names_nobody_and_nothing():
    told = kinds(
        "Name: Ada Lind; Transliteration: Banāt Naʿš; Translation (literally): Sea Monster"
    )

    assert told["Ada Lind"][0] == PERSON
    assert {told[name][0] for name in ("Banāt Naʿš", "Sea Monster")} == {CONCEPT}
