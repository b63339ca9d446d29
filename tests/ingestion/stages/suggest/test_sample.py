"""A sample of names with known duplicates: what is found of it, and what is not."""

from __future__ import annotations

from ingestion.stages.suggest.features import Candidate
from tests.ingestion.stages.suggest.things import found_among, names_of, thing

ORGANIZATION = "organization"
SAME = (
    ("Acme Instruments Inc.", "Acme Instruments", ORGANIZATION),
    ("World Health Organization", "WHO", ORGANIZATION),
    ("World Health Organization", "World Health Organisation", ORGANIZATION),
    ("University of Dunmarrow", "Dunmarrow University", ORGANIZATION),
    ("Garrow & Sons Ltd", "Garrow and Sons", ORGANIZATION),
    ("Deepshelf Archive", "Deep Shelf Archive", ORGANIZATION),
    ("J. R. Tolkien", "John Ronald Tolkien", "person"),
    ("Dr Anton Hallgrim", "Anton Hallgrim", "person"),
    ("Jacob Marley", "Jacob Marlez", "person"),
    ("Joanne Rowling", "Rowling, Joanne", "person"),
    ("Janis Joplin", "Janis Lyn Joplin", "person"),
    ("St. Rumbold", "Saint Rumbold", "person"),
    ("Muhammad bin Saud", "Muhammad ibn Saud", "person"),
    ("Tidewright Digital Co-op", "Tidewright Digital Cooperative", ORGANIZATION),
)
OTHER = (
    ("Louis XIV", "Louis XVI", "person"),
    ("Boeing 737", "Boeing 747", "product"),
    ("Hans Andresen Jr", "Hans Andresen Sr", "person"),
    ("North Tower", "South Tower", "place"),
    ("Jane Eyre", "John Eyre", "person"),
    ("Mary Shelley", "Percy Shelley", "person"),
    ("Hollin Trust", "Hollin Bank", ORGANIZATION),
    ("First World War", "Second World War", "event"),
    ("Isle of Voar", "Isle of Skye", "place"),
    ("Duke of Bavaria", "Duchess of Bavaria", "person"),
    ("Peter Isbister", "Morag Isbister", "person"),
    ("Kelder Point", "Tern Point", "place"),
    ("Quarterly report", "Annual report", "work"),
)


def sample() -> list[Candidate]:
    rows = {(name, row[2]) for row in (*SAME, *OTHER) for name in row[:2]}
    return [thing(name, kind) for name, kind in sorted(rows)]


def test_every_known_duplicate_of_the_sample_is_found():
    things = sample()

    found = names_of(found_among(*things), *things)

    missing = [row for row in SAME if frozenset(row[:2]) not in found]
    assert missing == []


def test_nothing_else_of_the_sample_is_suggested():
    things = sample()

    found = names_of(found_among(*things), *things)

    # "WHO" are the initials of either spelling.
    known = {frozenset(row[:2]) for row in SAME} | {frozenset(("WHO", "World Health Organisation"))}
    assert found - known == set()


def test_what_is_suggested_does_not_depend_on_the_order_of_entities():
    things = sample()

    assert found_among(*things) == found_among(*reversed(things))


def test_the_certainest_come_first():
    certainties = [one.certainty for one in found_among(*sample())]

    assert certainties == sorted(certainties, reverse=True)
    assert all(0.4 <= certainty <= 1 for certainty in certainties)
