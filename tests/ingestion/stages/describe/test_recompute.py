from __future__ import annotations

from ingestion.resolution.overrides import NameResolution
from ingestion.stages.describe.recompute import (
    EntityEdits,
    RelationshipEdits,
    edits_by_entity,
    edits_by_relationship,
    made_refs,
)

A, B, C = ("a", 0), ("b", 0), ("c", 0)
JOINED = NameResolution(refs={B: A})


def test_the_later_word_about_a_field_counts():
    said = [(A, "name", "First"), (A, "type", "person"), (A, "name", "Second")]

    found = edits_by_entity(said, NameResolution())

    assert (found[A].name, found[A].type, found[A].description) == ("Second", "person", None)
    assert set(found[A].aliases.values()) == {"First", "Second"}


def test_of_a_joined_group_the_kept_one_speaks_first():
    said = [(A, "name", "Alpha"), (B, "name", "Beta"), (B, "description", "Theirs.")]

    found = edits_by_entity(said, JOINED)

    assert set(found) == {A}
    assert (found[A].name, found[A].description) == ("Alpha", "Theirs.")
    assert set(found[A].aliases.values()) == {"Alpha", "Beta"}


def test_a_name_of_the_other_never_becomes_the_kept_ones():
    found = edits_by_entity([(B, "name", "Beta"), (B, "protected", "")], JOINED)

    assert (found[A].name, found[A].is_protected) == (None, False)
    assert found[A].aliases == {"beta": "Beta"}


def test_the_last_of_opposite_words_counts():
    said = [
        (A, "created", ""), (A, "deleted", ""), (A, "created", ""),
        (A, "protected", ""), (A, "unprotected", ""), (A, "confirmed", ""),
        (A, "alias", "Al"), (A, "no_alias", "Al"), (A, "no_alias", "Bo"), (A, "alias", "Bo"),
    ]  # fmt: skip

    found = edits_by_entity(said, NameResolution())[A]

    assert (found.is_made, found.is_protected, found.is_confirmed) == (True, False, True)
    assert (found.aliases, found.refused) == ({"bo": "Bo"}, {"al": "Al"})


def test_nothing_is_said_of_what_is_deleted():
    said = [(A, "name", "Alpha"), (B, "name", "Beta")]

    assert edits_by_entity(said, NameResolution(deleted=frozenset({A}))) == {
        B: EntityEdits(name="Beta", aliases={"beta": "Beta"})
    }
    assert edits_by_entity(said, NameResolution(refs={B: A}, deleted=frozenset({A}))) == {}


def test_links_go_where_their_ends_are_read_and_never_in_a_loop():
    said = [
        (A, C, "created", ""),
        (B, C, "created", ""),
        (B, C, "description", "Theirs."),
        (A, B, "created", ""),
    ]

    found = edits_by_relationship(said, JOINED)

    assert found == {(A, C): RelationshipEdits(is_made=True, description="Theirs.")}


def test_a_link_that_was_deleted_or_lost_an_end_is_none():
    made = [(A, B, "created", "")]

    assert not edits_by_relationship([*made, (A, B, "deleted", "")], NameResolution())[A, B].is_made
    assert edits_by_relationship(made, NameResolution(deleted=frozenset({B}))) == {}
    assert edits_by_relationship(made, NameResolution(dropped=frozenset({(A, B)}))) == {}


def test_keywords_are_lines():
    found = edits_by_relationship([(A, B, "keywords", "trade\n\nsea")], NameResolution())

    assert found[A, B].keywords == ("trade", "sea")


def test_made_are_those_people_made_and_the_ends_of_their_links():
    entities = {A: EntityEdits(is_made=True), B: EntityEdits(name="Beta")}
    links = {
        (B, C): RelationshipEdits(is_made=True),
        (A, C): RelationshipEdits(description="Only a word."),
    }

    assert made_refs(entities, links) == [A, B, C]
    assert made_refs(entities, {}) == [A]
