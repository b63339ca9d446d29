from __future__ import annotations

from uuid import uuid4

from kb_project.text.regions import Region, RegionKind
from kb_project.text.statements import StatementKind
from retrieval.answering.candidates import candidates, groups_of
from tests.retrieval.answering.passages import hit


def test_offsets_are_those_of_the_document():
    passage = hit("Ada Lind keeps the light. It burns oil by night.", start=100)

    first, second = candidates([passage])

    assert (first.quote, first.start, first.end) == ("Ada Lind keeps the light.", 100, 125)
    assert (second.quote, second.start) == ("It burns oil by night.", 126)


def test_a_statement_in_two_overlapping_passages_is_one():
    document = uuid4()
    text = "Ada Lind keeps the light. It burns oil by night."
    first = hit(text, document=document)
    second = hit(text[26:], start=26, document=document)

    found = candidates([first, second])

    assert [(one.quote, one.rank) for one in found] == [
        ("Ada Lind keeps the light.", 0),
        ("It burns oil by night.", 0),
    ]


def test_a_statement_knows_its_neighbours_and_its_place_below_the_heading():
    text = "The lamp\n\nAda Lind keeps the light. It burns oil by night."
    passage = hit(text, regions=(Region(RegionKind.HEADING, 0, 8, 1),))

    first, second = candidates([passage])

    assert (first.path, first.place, first.after) == (("The lamp",), 0, second.said)
    assert (second.path, second.place, second.before) == (("The lamp",), 1, first.said)


def test_the_headings_of_a_passage_come_before_those_in_it():
    text = "The lamp\n\nAda Lind keeps the light of Skarrow."
    passage = hit(text, headings=("Skarrow",), regions=(Region(RegionKind.HEADING, 0, 8, 2),))

    (only,) = candidates([passage])

    assert only.path == ("Skarrow", "The lamp")


def test_what_is_no_prose_is_no_candidate():
    text = (
        "Ada Lind keeps the light.\n\nsudo make lamp && ls -l /dev/lamp.\n\nIt burns oil by night."
    )
    code = Region(RegionKind.CODE, 27, 58)

    found = candidates([hit(text, regions=(code,))])

    assert [one.said for one in found] == ["Ada Lind keeps the light.", "It burns oil by night."]


def test_the_entries_of_a_list_are_one_group_under_the_line_that_leads_it_in():
    text = "The keepers were:\n- Ada Lind, from 1866\n- Bram Oosterling, until 1890\n\nIt was dim."

    found = candidates([hit(text)])
    (entries,) = groups_of(found).values()

    assert [one.said for one in entries] == ["Ada Lind, from 1866", "Bram Oosterling, until 1890"]
    assert {one.kind for one in entries} == {StatementKind.ENTRY}
    assert {one.before for one in entries} == {"The keepers were:"}
