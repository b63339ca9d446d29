"""Facts of rows and of lists: labels are predicates, and a row is no sentence."""

from __future__ import annotations

import pytest

from ingestion.extractors import extract
from ingestion.extractors.extraction import (
    CONCEPT,
    NAME,
    PERSON,
    STATED,
    TOGETHER,
    Extraction,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.records import with_records
from kb_project.text.regions import Region, RegionKind

Fact = tuple[str, str, str]


def found(text: str, *names: str, kinds: dict[str, str] | None = None) -> list[FoundMention]:
    """A mention for each name, in the order given."""
    mentions, at = [], 0
    for name in names:
        at = text.index(name, at)
        kind = (kinds or {}).get(name, PERSON)
        mentions.append(FoundMention(at, at + len(name), name, kind, "x"))
        at += len(name)
    return mentions


def read(
    text: str,
    *names: str,
    regions: tuple[Region, ...] = (),
    relations: tuple[FoundRelation, ...] = (),
    kinds: dict[str, str] | None = None,
) -> Extraction:
    mentions = tuple(found(text, *names, kinds=kinds))
    return with_records(text, regions, Extraction(mentions, relations))


def stated(extraction: Extraction) -> list[Fact]:
    names = [one.surface for one in extraction.mentions]
    return [
        (names[one.source], one.predicate, names[one.target])
        for one in extraction.relations
        if one.kind == STATED
    ]


def together(extraction: Extraction) -> set[frozenset[str]]:
    names = [one.surface for one in extraction.mentions]
    return {
        frozenset((names[one.source], names[one.target]))
        for one in extraction.relations
        if one.kind == TOGETHER
    }


def table(text: str) -> tuple[Region, ...]:
    return (Region(RegionKind.TABLE, 0, len(text)),)


def test_the_labels_of_a_row_say_how_its_names_belong_to_the_first():
    text = "Name: Tam Lind; Trade: Boats; Supervisor: Ada Berg; Our_lead: Bo Strand"

    facts = stated(read(text, "Tam Lind", "Ada Berg", "Bo Strand", regions=table(text)))

    assert facts == [
        ("Tam Lind", "supervisor", "Ada Berg"),
        ("Tam Lind", "our lead", "Bo Strand"),
    ]


def test_columns_are_the_labels_of_a_table():
    text = "| Name | Leads |\n|---|---|\n| Tam Lind | Ada Berg |\n| Bo Strand | none |\n"

    extraction = read(text, "Tam Lind", "Ada Berg", "Bo Strand", regions=table(text))

    assert stated(extraction) == [("Tam Lind", "leads", "Ada Berg")]
    assert together(extraction) == set()


def test_a_row_without_known_columns_only_names_things_together():
    text = "| Tam Lind | Ada Berg |\n| Bo Strand | Ines Varga |\n"

    extraction = read(text, "Tam Lind", "Ada Berg", "Bo Strand", "Ines Varga", regions=table(text))

    assert stated(extraction) == []
    assert together(extraction) == {
        frozenset(("Tam Lind", "Ada Berg")),
        frozenset(("Bo Strand", "Ines Varga")),
    }


def test_a_row_is_about_the_name_behind_its_number():
    text = "id: L-7; name: Petrel; keeper: Ada Berg"

    assert stated(read(text, "L-7", "Petrel", "Ada Berg", regions=table(text))) == [
        ("Petrel", "id", "L-7"),
        ("Petrel", "keeper", "Ada Berg"),
    ]


def test_a_row_that_begins_with_no_name_states_nothing():
    text = "Item: eleven prisms; Supplier: Ada Berg; Paid by: Bo Strand"

    extraction = read(text, "Ada Berg", "Bo Strand", regions=table(text))

    assert stated(extraction) == []
    assert together(extraction) == {frozenset(("Ada Berg", "Bo Strand"))}


def test_a_value_names_several_or_begins_with_one_but_is_no_sentence():
    text = "Project: Lode; Team: Ada Berg, Bo Strand (half); Note: paid late by Tam Lind"

    assert stated(read(text, "Lode", "Ada Berg", "Bo Strand", "Tam Lind", regions=table(text))) == [
        ("Lode", "team", "Ada Berg"),
        ("Lode", "team", "Bo Strand"),
    ]


def test_a_label_alone_belongs_to_the_heading_above():
    text = "Lode\n\nlead: Ada Berg\nstatus: complete"
    heading = (Region(RegionKind.HEADING, 0, 4, 2),)

    assert stated(read(text, "Lode", "Ada Berg", regions=heading)) == [("Lode", "lead", "Ada Berg")]
    assert stated(read(text, "Lode", "Ada Berg")) == []


def test_a_label_that_was_taken_for_a_name_is_none():
    text = "Name: Tam Lind; Supervisor: Ada Berg"

    extraction = read(text, "Tam Lind", "Supervisor", "Ada Berg", regions=table(text))

    assert [one.surface for one in extraction.mentions] == ["Tam Lind", "Ada Berg"]
    assert stated(extraction) == [("Tam Lind", "supervisor", "Ada Berg")]


def test_what_was_parsed_from_a_row_is_dropped_and_from_a_sentence_kept():
    text = "Name: Tam Lind; Supervisor: Ada Berg\n\nAda Berg trained Bo Strand."
    parsed = (
        FoundRelation(0, 1, "Lind Supervisor", 0, 36, STATED, 1.0),
        FoundRelation(2, 3, "trained", 38, len(text), STATED, 1.0),
    )

    extraction = read(text, "Tam Lind", "Ada Berg", "Ada Berg", "Bo Strand", relations=parsed)

    assert stated(extraction) == [
        ("Ada Berg", "trained", "Bo Strand"),
        ("Tam Lind", "supervisor", "Ada Berg"),
    ]


def test_a_list_of_names_says_that_they_stand_together_and_no_more():
    text = "Dr Ada Berg (chair), Bo Strand and Tam Lind"
    parsed = (FoundRelation(0, 1, "chair", 0, len(text), STATED, 1.0),)

    extraction = read(text, "Ada Berg", "Bo Strand", "Tam Lind", relations=parsed)

    assert stated(extraction) == []
    assert together(extraction) == {frozenset(("Ada Berg", "Bo Strand"))}


@pytest.mark.parametrize(
    "text",
    [
        "Ada Berg said to Bo Strand: wait here.",
        "Note: Ada Berg met Bo Strand twice.",
        "He left; she stayed: Ada Berg and Bo Strand parted.",
    ],
)
def test_a_sentence_with_a_colon_is_still_a_sentence(text: str):
    parsed = (FoundRelation(0, 1, "met", 0, len(text), STATED, 1.0),)

    assert stated(read(text, "Ada Berg", "Bo Strand", relations=parsed)) == [
        ("Ada Berg", "met", "Bo Strand")
    ]


def test_a_term_is_not_what_a_row_is_about():
    text = "Name: lens repair; Supervisor: Ada Berg"

    assert stated(read(text, "lens repair", "Ada Berg", kinds={"lens repair": CONCEPT})) == []


def test_rows_in_any_script_have_labels():
    text = "姓名：周敏；上级：陈思远"

    assert stated(read(text, "周敏", "陈思远", kinds=dict.fromkeys(("周敏", "陈思远"), NAME))) == [
        ("周敏", "上级", "陈思远")
    ]


def test_in_a_spreadsheet_every_row_speaks_for_itself():
    text = (
        "Name: Rosie Kinnaird; Trade: Lens; Supervisor: Magnus Okafor\n"
        "Name: Erik Budge; Trade: Boats; Supervisor: Owen Lacey\n"
    )
    extraction = with_records(text, table(text), extract(text, language="en"))

    assert ("Rosie Kinnaird", "supervisor", "Magnus Okafor") in stated(extraction)
    assert not any({"Rosie Kinnaird", "Owen Lacey"} <= pair for pair in together(extraction))
