from __future__ import annotations

from ingestion.resolution.overrides import Reading
from ingestion.stages.describe.wording import (
    LinkWording,
    Wording,
    link_wordings,
    made_refs,
    wordings,
)

A, B, C = ("a", 0), ("b", 0), ("c", 0)
JOINED = Reading(refs={B: A})


def test_the_later_word_about_a_field_counts():
    said = [(A, "name", "First"), (A, "type", "person"), (A, "name", "Second")]

    found = wordings(said, Reading())

    assert (found[A].name, found[A].type, found[A].description) == ("Second", "person", None)
    assert set(found[A].aliases.values()) == {"First", "Second"}


def test_of_a_joined_group_the_kept_one_speaks_first():
    said = [(A, "name", "Alpha"), (B, "name", "Beta"), (B, "description", "Theirs.")]

    found = wordings(said, JOINED)

    assert set(found) == {A}
    assert (found[A].name, found[A].description) == ("Alpha", "Theirs.")
    assert set(found[A].aliases.values()) == {"Alpha", "Beta"}


def test_a_name_of_the_other_never_becomes_the_kept_ones():
    found = wordings([(B, "name", "Beta"), (B, "protected", "")], JOINED)

    assert (found[A].name, found[A].is_protected) == (None, False)
    assert found[A].aliases == {"beta": "Beta"}


def test_the_last_of_opposite_words_counts():
    said = [
        (A, "created", ""), (A, "deleted", ""), (A, "created", ""),
        (A, "protected", ""), (A, "unprotected", ""), (A, "confirmed", ""),
        (A, "alias", "Al"), (A, "no_alias", "Al"), (A, "no_alias", "Bo"), (A, "alias", "Bo"),
    ]  # fmt: skip

    found = wordings(said, Reading())[A]

    assert (found.is_made, found.is_protected, found.is_confirmed) == (True, False, True)
    assert (found.aliases, found.refused) == ({"bo": "Bo"}, {"al": "Al"})


def test_nothing_is_said_of_what_is_deleted():
    said = [(A, "name", "Alpha"), (B, "name", "Beta")]

    assert wordings(said, Reading(deleted=frozenset({A}))) == {
        B: Wording(name="Beta", aliases={"beta": "Beta"})
    }
    assert wordings(said, Reading(refs={B: A}, deleted=frozenset({A}))) == {}


def test_links_go_where_their_ends_are_read_and_never_in_a_loop():
    said = [
        (A, C, "created", ""),
        (B, C, "created", ""),
        (B, C, "description", "Theirs."),
        (A, B, "created", ""),
    ]

    found = link_wordings(said, JOINED)

    assert found == {(A, C): LinkWording(is_made=True, description="Theirs.")}


def test_a_link_that_was_deleted_or_lost_an_end_is_none():
    made = [(A, B, "created", "")]

    assert not link_wordings([*made, (A, B, "deleted", "")], Reading())[A, B].is_made
    assert link_wordings(made, Reading(deleted=frozenset({B}))) == {}
    assert link_wordings(made, Reading(dropped=frozenset({(A, B)}))) == {}


def test_keywords_are_lines():
    found = link_wordings([(A, B, "keywords", "trade\n\nsea")], Reading())

    assert found[A, B].keywords == ("trade", "sea")


def test_made_are_those_people_made_and_the_ends_of_their_links():
    entities = {A: Wording(is_made=True), B: Wording(name="Beta")}
    links = {(B, C): LinkWording(is_made=True), (A, C): LinkWording(description="Only a word.")}

    assert made_refs(entities, links) == [A, B, C]
    assert made_refs(entities, {}) == [A]
