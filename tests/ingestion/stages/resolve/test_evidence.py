from __future__ import annotations

import uuid
from collections.abc import Sequence

from ingestion.extractors import Extraction
from ingestion.extractors.extraction import SURE, FoundMention
from ingestion.stages.resolve.correcting import corrected
from ingestion.stages.resolve.names import expanded_initials, resolve

CHUNK = uuid.UUID(int=1)


def said(*names: tuple[str, str, str], gap: int = 10) -> list[tuple[uuid.UUID, Extraction]]:
    """One passage with these names (surface, kind, source), ``gap`` characters apart."""
    mentions: list[FoundMention] = []
    start = 0
    for surface, kind, source in names:
        mentions.append(FoundMention(start, start + len(surface), surface, kind, source))
        start += len(surface) + gap
    return [(CHUNK, Extraction(tuple(mentions)))]


def kinds(found: Sequence[tuple[uuid.UUID, Extraction]]) -> list[str]:
    return [mention.type for _, extraction in found for mention in extraction.mentions]


def test_a_name_that_ends_in_a_persons_is_a_person():
    found = said(("Cratchit", "person", SURE), ("Belinda Cratchit", "organization", "ner"))

    assert kinds(corrected(found)) == ["person", "person"]


def test_a_name_with_a_products_in_it_is_nobody():
    found = said(("Debian", "product", SURE), ("Debian Wiki", "person", "ner"))

    assert kinds(corrected(found)) == ["product", "product"]


def test_what_is_done_with_a_product_is_none():
    found = said(("GnuCash", "product", SURE), ("Migrating GnuCash", "name", "propn"))

    assert kinds(corrected(found)) == ["product", "name"]


def test_a_kind_that_the_name_itself_tells_stays():
    found = said(("Debian", "product", SURE), ("Debian Foundation", "organization", "ner"))

    assert kinds(corrected(found)) == ["product", "organization"]


def test_what_stands_around_a_name_is_not_overruled():
    found = said(("Debian", "product", SURE), ("Debian Jones", "person", SURE))

    assert kinds(corrected(found)) == ["product", "person"]


def test_a_guess_bears_nothing_out():
    found = said(("Debian", "product", "ner"), ("Debian Wiki", "person", "ner"))

    assert kinds(corrected(found)) == ["product", "person"]


def surfaces(found: Sequence[tuple[uuid.UUID, Extraction]]) -> list[str]:
    return [mention.surface for _, extraction in found for mention in extraction.mentions]


def test_two_names_taken_for_one_are_cut_to_the_first():
    found = said(
        ("Krasner", "person", SURE),
        ("Pollock", "person", "ner"),
        ("Krasner and Pollock", "organization", "ner"),
        ("Krasner for Muse", "organization", "ner"),
    )

    read = corrected(found)

    assert surfaces(read) == ["Krasner", "Pollock", "Krasner", "Krasner"]
    assert kinds(read)[2:] == ["person", "person"]


def test_a_name_with_and_stays_whole_if_its_parts_are_not_names_of_their_own():
    names = ("Krasner and Pollock", "Battle for Wesnoth", "Trade and Industry")
    found = said(
        ("Krasner", "person", SURE),
        ("Battle", "event", "ner"),
        ("Trade", "name", "propn"),
        *((name, "organization", "ner") for name in names),
    )

    assert surfaces(corrected(found))[3:] == list(names)


def test_initials_beside_a_name_are_its_own():
    found = said(("Magnus Okafor", "person", "ner"), ("MO", "place", "ner"), gap=2)

    assert expanded_initials(found) == {"mo": "magnus okafor"}


def test_initials_elsewhere_or_of_two_names_are_nobodys():
    far = said(("Magnus Okafor", "person", "ner"), ("MO", "place", "ner"), gap=9)
    two = [
        *said(("Magnus Okafor", "person", "ner"), ("MO", "place", "ner"), gap=2),
        *said(("Mary Olsen", "person", "ner"), ("MO", "place", "ner"), gap=2),
    ]

    assert expanded_initials(far) == {}
    assert expanded_initials(two) == {}


def test_initials_mean_the_person_throughout_the_document():
    found = [
        *said(("Magnus Okafor", "person", "ner"), ("MO", "person", SURE), gap=2),
        *said(
            ("MO", "place", "ner"),
        ),
    ]

    resolution = resolve(uuid.UUID(int=2), found)

    assert {name.entity for name in resolution.names} == {("magnus okafor", 0)}
