from __future__ import annotations

from uuid import uuid4

import pytest

from kb_project.text.regions import Region, RegionKind
from kb_project.text.statements import StatementKind
from retrieval.answering import features
from retrieval.answering.candidates import HAN_PER_WORD, candidates, groups_of, length_of
from tests.retrieval.answering.passages import gathered, hit


def row(question, *hits, said):
    made = gathered(question, *hits)
    (place,) = (i for i, one in enumerate(made.statements) if one.said == said)
    return dict(zip(features.NAMES, made.matrix[place].tolist(), strict=True))


def test_a_statement_has_the_share_of_the_question_that_it_covers():
    passage = hit("The lamp burns oil by night. The quarry road is closed.")

    burns = row("What does the lamp burn?", passage, said="The lamp burns oil by night.")
    closed = row("What does the lamp burn?", passage, said="The quarry road is closed.")

    assert (burns["covers"], burns["words"]) == (1.0, 1.0)
    assert (closed["covers"], closed["words"]) == (0.0, 0.0)


@pytest.mark.parametrize(("asked", "told"), [("five", "5"), ("5", "five"), ("twelve", "12")])
def test_a_small_number_in_words_is_the_same_in_figures(asked: str, told: str):
    said = f"The lamp has {told} wicks."
    passage = hit(f"{said} The quarry has 7 roads.")

    found = row(f"Why has the lamp {asked} wicks?", passage, said=said)
    other = row(f"Why has the lamp {asked} wicks?", passage, said="The quarry has 7 roads.")

    assert (found["covers"], other["covers"]) == (1.0, 0.0)


def test_a_number_in_words_and_in_figures_counts_once_each():
    [said] = candidates([hit("Of five wicks the keeper trimmed 5.")])

    counts = features.indexed(said).counts

    assert (counts["five"], counts["5"]) == (2, 2)


def test_a_number_is_known_if_the_documents_have_it_in_figures():
    assert features.Rarity({"5": 2}, 10).unknown(["five"]) == 0.0
    assert features.Rarity({"4": 2}, 10).unknown(["five"]) == 1.0


def test_what_title_headings_and_the_sentence_before_cover_counts_apart():
    passage = hit("It burns oil by night.", title="Lamp", headings=("Skarrow",))

    told = row("What burns in the lamp of Skarrow?", passage, said="It burns oil by night.")

    assert 0 < told["covers"] < 1
    assert told["covers"] + told["covers_around"] == pytest.approx(1.0)
    assert told["pronoun"] == 1.0


def test_a_date_where_one_is_asked_for_counts_and_one_of_the_question_does_not():
    passage = hit("The lamp was lit in 1866. The lamp was dark by day.")

    lit = row("When was the lamp lit?", passage, said="The lamp was lit in 1866.")
    dark = row("When was the lamp lit?", passage, said="The lamp was dark by day.")
    known = row("When in 1866 was the lamp lit?", passage, said="The lamp was lit in 1866.")

    assert (lit["has_kind"], lit["lacks_kind"]) == (1.0, 0.0)
    assert (dark["has_kind"], dark["lacks_kind"]) == (0.0, 1.0)
    assert known["has_kind"] == 0.0


def test_neither_a_column_nor_the_total_nor_a_capital_alone_is_a_person_but_he_is():
    lines = ("| Who paid | Amount |", "| --- | --- |", "| Ada Lind | 5 |", "| Total | 5 |",
             "| lamp | payers.Bo: 5 |")  # fmt: skip
    text = "\n".join(lines)
    table = hit(text, regions=(Region(RegionKind.TABLE, 0, len(text)),))
    passage = hit("The lamp was paid for. He paid for the lamp.")

    def names_somebody(passage, said):
        return row("Who paid for the lamp?", passage, said=said)["has_kind"] == 1.0

    assert names_somebody(table, "Who paid: Ada Lind; Amount: 5")
    assert not names_somebody(table, "Who paid: Total; Amount: 5")
    assert names_somebody(table, "Who paid: lamp; Amount: payers.Bo: 5")
    assert not names_somebody(passage, "The lamp was paid for.")
    assert names_somebody(passage, "He paid for the lamp.")


def test_how_many_is_answered_by_a_number_of_what_is_counted():
    counted = "At first about 12 volunteer keepers served."
    other = "In 1866 the keepers had 3 boats."
    passage = hit(f"{counted} {other}")

    assert row("How many keepers served?", passage, said=counted)["counts"] == 1.0
    assert row("How many keepers served?", passage, said=other)["counts"] == 0.0


def test_a_question_in_a_document_names_no_number():
    asked = "How many litres are lost to each kilogram of grain?"
    passage = hit(f"{asked} Many are lost to it.")

    assert row("How much is lost to grain?", passage, said=asked)["has_kind"] == 0.0
    assert (
        row("How much is lost to grain?", passage, said="Many are lost to it.")["has_kind"] == 1.0
    )


def test_passages_count_by_their_rank():
    first, second = hit("The lamp burns oil."), hit("The boat burns coal.")

    assert row("What burns?", first, second, said="The lamp burns oil.")["rank"] == 1.0
    assert row("What burns?", first, second, said="The boat burns coal.")["rank"] == 0.5


def test_chinese_is_measured_in_words_of_about_as_much():
    assert length_of("The lamp burns oil") == 4
    assert length_of("灯塔烧油灯塔烧油") == pytest.approx(8 / HAN_PER_WORD + 1)


def test_offsets_are_those_of_the_document():
    passage = hit("Ada Lind keeps the light. It burns oil by night.", start=100)

    first, second = candidates([passage])

    assert (first.hit.text[first.start - 100 : first.end - 100], first.start, first.end) == (
        "Ada Lind keeps the light.",
        100,
        125,
    )
    assert (second.hit.text[second.start - 100 : second.end - 100], second.start) == (
        "It burns oil by night.",
        126,
    )


def test_a_statement_in_two_overlapping_passages_is_one():
    document = uuid4()
    text = "Ada Lind keeps the light. It burns oil by night."
    first = hit(text, document=document)
    second = hit(text[26:], start=26, document=document)

    found = candidates([first, second])

    assert [(text[one.start : one.end], one.rank) for one in found] == [
        ("Ada Lind keeps the light.", 0),
        ("It burns oil by night.", 0),
    ]


def test_a_statement_knows_its_neighbours_and_its_place_below_the_heading():
    text = "The lamp\n\nAda Lind keeps the light. It burns oil by night."
    passage = hit(text, regions=(Region(RegionKind.HEADING, 0, 8, 1),))

    first, second = candidates([passage])

    assert (first.path, first.place, second.before) == (("The lamp",), 0, first.said)
    assert (second.path, second.place) == (("The lamp",), 1)


def test_the_headings_of_a_passage_come_before_those_in_it():
    text = "The lamp\n\nAda Lind keeps the light of Skarrow."
    passage = hit(text, headings=("Skarrow",), regions=(Region(RegionKind.HEADING, 0, 8, 2),))

    (only,) = candidates([passage])

    assert only.path == ("Skarrow", "The lamp")


def test_a_heading_that_the_passage_begins_below_is_not_above_the_next_of_its_level():
    text = "The lamp is old.\n\nRopes\n\nThe ropes are new."
    start = text.index("Ropes")
    ropes = Region(RegionKind.HEADING, start, start + len("Ropes"), 2)

    below = candidates([hit(text, headings=("Handbook", "Lamps"), regions=(ropes,))])

    assert [one.path for one in below] == [("Handbook", "Lamps"), ("Handbook", "Ropes")]


def test_what_is_no_prose_is_no_candidate():
    text = (
        "Ada Lind keeps the light.\n\nsudo make lamp && ls -l /dev/lamp.\n\nIt burns oil by night."
    )
    code = Region(RegionKind.CODE, 27, 58)

    found = candidates([hit(text, regions=(code,))])

    assert [one.said for one in found] == ["Ada Lind keeps the light.", "It burns oil by night."]


def test_a_sentence_that_breaks_off_answers_nothing():
    made = gathered("Who keeps the light?", hit("The light is kept by the\n\nAda keeps the light."))

    assert [one.said for one in made.statements] == ["Ada keeps the light."]


def test_the_entries_of_a_list_are_one_group_under_the_line_that_leads_it_in():
    text = "The keepers were:\n- Ada Lind, from 1866\n- Bram Oosterling, until 1890\n\nIt was dim."

    found = candidates([hit(text)])
    (entries,) = groups_of(found).values()

    assert [one.said for one in entries] == ["Ada Lind, from 1866", "Bram Oosterling, until 1890"]
    assert {one.kind for one in entries} == {StatementKind.ENTRY}
    assert {one.before for one in entries} == {"The keepers were:"}


def test_a_row_that_ends_with_any_word_is_whole():
    row = "Reg: TV22; Serviced: May"
    [one] = candidates([hit(row, regions=(Region(RegionKind.TABLE, 0, len(row)),))])

    assert one.stands_alone


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who signs over 5000?", "For all over £5,000, the chair signs."),
        ("Which subprocessors are there?", "The sub-processors stand in the annex."),
    ],
)
def test_what_is_set_apart_is_found_by_those_who_write_it_in_one(question, said):
    found = row(question, hit(said), said=said)

    assert found["covers"] == 1.0


def test_the_heading_that_names_the_document_says_nothing_of_what_stands_right_below_it():
    [below] = candidates(
        [hit("It was reviewed by Ada Lind.", title="The fire", headings=("The fire",))]
    )
    [other] = candidates([hit("It was reviewed by Ada Lind.", title="Log", headings=("The fire",))])

    assert not features.indexed(below).heading
    assert features.indexed(other).heading == {"fire"}
