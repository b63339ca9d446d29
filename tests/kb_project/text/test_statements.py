"""What a text states, and under which headings and in which list."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.text.regions import Region, RegionKind
from kb_project.text.statements import (
    Statement,
    StatementKind,
    quotable,
    says_something,
    statements,
)

LIST = """\
The keepers were:

- Ada Lind, from 1866
- Bram Holm, until 1890.
  He drowned in the sound.

The lamp stood empty for a year."""


def said(text: str, regions: tuple[Region, ...] = ()) -> list[str]:
    return [one.said for one in statements(text, regions) if one.states]


def region_of(text: str, part: str, kind: RegionKind, level: int = 0) -> Region:
    start = text.index(part)
    return Region(kind, start, start + len(part), level)


def by_kind(found: list[Statement], kind: StatementKind) -> list[str]:
    return [one.said for one in found if one.kind == kind]


def test_a_row_between_rules_is_told_with_the_names_of_its_columns():
    text = "| Keeper | From |\n| --- | ---: |\n| Ada | 1866 |\n| Bram | |\n"

    rows = statements(text, [Region(RegionKind.TABLE, 0, len(text))])

    assert [one.said for one in rows] == ["Keeper: Ada; From: 1866", "Keeper: Bram"]
    assert text[rows[0].start : rows[0].end] == "| Ada | 1866 |"


def test_a_row_whose_columns_stand_elsewhere_is_told_without_its_rules():
    text = "| Ada Lind | 1866 |\n"

    [row] = statements(text, [Region(RegionKind.TABLE, 0, len(text))])

    assert row.said == "Ada Lind; 1866"


def test_a_bar_within_a_cell_divides_nothing_and_the_last_bar_may_be_missing():
    text = "| Option | Means |\n| --- | --- |\n| a \\| b | either\n"

    [row] = statements(text, [Region(RegionKind.TABLE, 0, len(text))])

    assert row.said == "Option: a | b; Means: either"


def test_the_line_that_names_a_tables_columns_states_nothing():
    text = "Keeper; From\nKeeper: Ada; From: 1866\nKeeper: Bram; From: 1890"

    rows = statements(text, [Region(RegionKind.TABLE, 0, len(text))])

    assert [one.said for one in rows] == ["Keeper: Ada; From: 1866", "Keeper: Bram; From: 1890"]


def test_each_sentence_states_something_and_knows_where_it_stands():
    text = "The lamp was lit at six.\nIt burned until\nmorning. Nobody came to look at it."

    found = statements(text)

    assert [one.said for one in found] == [
        "The lamp was lit at six.",
        "It burned until morning.",
        "Nobody came to look at it.",
    ]
    assert [" ".join(text[one.start : one.end].split()) for one in found] == [
        one.said for one in found
    ]


def test_entries_of_a_list_are_one_group_and_know_the_line_that_leads_in():
    found = statements(LIST)

    assert by_kind(found, StatementKind.LEAD) == ["The keepers were:"]
    assert by_kind(found, StatementKind.ENTRY) == ["Ada Lind, from 1866", "Bram Holm, until 1890."]
    in_list = [one for one in found if one.group >= 0]
    assert [one.said for one in in_list][-1] == "He drowned in the sound."
    assert {(one.group, one.lead) for one in in_list} == {(0, "The keepers were:")}


def test_what_follows_a_list_is_no_part_of_it():
    last = statements(LIST)[-1]

    assert (last.said, last.group, last.lead) == ("The lamp stood empty for a year.", -1, "")


def test_a_paragraph_that_ends_with_a_comma_leads_to_the_quotation_below():
    text = "As Ada Lind wrote at the time,\n\nThe lamp has burned for a year without a keeper."

    found = statements(text)

    assert by_kind(found, StatementKind.LEAD) == ["As Ada Lind wrote at the time,"]
    assert [one.said for one in found if one.states] == [
        "The lamp has burned for a year without a keeper."
    ]


def test_a_sentence_that_the_entries_below_it_end_leads_to_them():
    text = "A keeper may\n\n1. light the lamp;\n2. row ashore.\n\nLamps of the north\n- Tern Rock"
    lead, one, other, *_ = statements(text)

    assert (lead.kind, lead.said) == (StatementKind.LEAD, "A keeper may")
    assert [entry.lead for entry in (one, other)] == ["A keeper may", "A keeper may"]


def test_a_line_without_a_full_stop_leads_to_the_list_below_it():
    text = "It burns nothing but oil. Besides, a keeper needs\n\n* wicks\n* a ladder"
    _, lead, one, other = statements(text)

    assert (lead.kind, lead.said) == (StatementKind.LEAD, "Besides, a keeper needs")
    assert [(entry.said, entry.lead) for entry in (one, other)] == [
        ("wicks", "Besides, a keeper needs"),
        ("a ladder", "Besides, a keeper needs"),
    ]


def test_a_paragraph_between_two_entries_does_not_end_their_list():
    text = (
        "1. Close the valve.\n\nThe handle is stiff in winter.\n\n2. Open the door slowly."
        "\n\n3. Wait for the air to clear."
    )

    found = statements(text)

    assert by_kind(found, StatementKind.ENTRY) == [
        "Close the valve.",
        "Open the door slowly.",
        "Wait for the air to clear.",
    ]
    assert {one.group for one in found if one.kind == StatementKind.ENTRY} == {0}


def test_a_list_with_a_lead_of_its_own_is_another_list():
    text = (
        "- oil for 2 lamps\n- wicks of 3 inches\n\nIn the shed there are:\n\n- ropes and 2 hooks\n"
    )

    entries = [one for one in statements(text) if one.kind == StatementKind.ENTRY]

    assert [(one.group, one.lead) for one in entries] == [
        (0, ""),
        (0, ""),
        (1, "In the shed there are:"),
    ]


def test_each_statement_knows_the_headings_above_it():
    text = "Manual\n\nOil\n\nIt is kept in the cellar.\n\nWicks\n\nThey are cut at noon."
    regions = (
        region_of(text, "Manual", RegionKind.HEADING, 1),
        region_of(text, "Oil", RegionKind.HEADING, 2),
        region_of(text, "Wicks", RegionKind.HEADING, 2),
    )

    paths = {one.said: one.path for one in statements(text, regions) if one.states}

    assert paths == {
        "It is kept in the cellar.": ((1, "Manual"), (2, "Oil")),
        "They are cut at noon.": ((1, "Manual"), (2, "Wicks")),
    }
    assert said(text, regions) == list(paths)


def test_rows_of_a_table_state_something_and_are_one_group():
    text = "Heights of the tide:\n\nPort: Voar; Height: 3 m\nPort: Wick; Height: 2 m\n\nIt is low."
    table = region_of(text, "Port: Voar; Height: 3 m\nPort: Wick; Height: 2 m", RegionKind.TABLE)

    rows = [one for one in statements(text, (table,)) if one.kind == StatementKind.ROW]

    assert [one.said for one in rows] == ["Port: Voar; Height: 3 m", "Port: Wick; Height: 2 m"]
    assert {(one.group, one.lead) for one in rows} == {(0, "Heights of the tide:")}


@pytest.mark.parametrize("kind", sorted(set(RegionKind) - {RegionKind.TABLE, RegionKind.HEADING}))
def test_furniture_and_code_state_nothing(kind):
    text = "The lamp was lit at six.\n\nNobody reads these words at all.\n\nIt burned all night."

    regions = (region_of(text, "Nobody reads these words at all.", kind),)

    assert said(text, regions) == ["The lamp was lit at six.", "It burned all night."]


def test_a_sentence_that_is_cut_by_a_page_is_one_statement():
    text = "The lamp was lit\n\nThe Keeper's Manual\n\nat six in the evening."

    regions = (region_of(text, "The Keeper's Manual", RegionKind.RUNNING),)

    assert said(text, regions) == ["The lamp was lit at six in the evening."]


def test_a_reference_after_a_sentence_states_nothing():
    text = "It was lit at six. [Lind, Op. Cit., p. 3] Ada left it dark. [Ibid.] Bram came in May."

    assert said(text) == ["It was lit at six.", "Ada left it dark.", "Bram came in May."]


@pytest.mark.parametrize("reference", ["Ibid.", "[Anarchy, p. 34]", "See Byock, op. cit., p. 4."])
def test_a_reference_alone_states_nothing(reference):
    assert said(f"{reference}\n\nIt was lit again.") == ["It was lit again."]


@pytest.mark.parametrize(
    "line",
    [
        "Equation 2.2. The (dynamic) accounting equation",
        "Figure 7.3: The lens of the northern light",
        "Table A. Keepers of the northern light",
        "图 3 北方灯塔的看守人",
        "13.3. Accounts Receivable",
        "2.1 Lamp Oil",
        "The oil of Skarrow in 1866",
    ],
)
def test_a_caption_or_a_title_alone_states_nothing(line):
    text = f"2 The oil of Skarrow in 1866\n\n{line}\n\nIt was lit again."
    heading = region_of(text, "2 The oil of Skarrow in 1866", RegionKind.HEADING, 1)

    assert said(text, (heading,)) == ["It was lit again."]


@pytest.mark.parametrize(
    "line",
    [
        "Figure 2 shows the lens of the northern light",
        "Figure 2. Ada Lind lit the lamp.",
        "Table of the tides in 1866",
        "2.1 litres of lamp oil",
        "2.1 Lamp Oil burns for 4 hours",
        "13.3. Accounts are kept by the keeper of the light",
    ],
)
def test_a_line_with_a_number_that_says_more_is_a_statement(line):
    assert said(f"{line}\n\nIt was lit again.") == [line, "It was lit again."]


def test_a_sentence_of_a_word_goes_with_the_next():
    assert said("No. It was never lit again.") == ["No. It was never lit again."]


@pytest.mark.parametrize(
    "label", ["Figure 4.", "— 4 —", "Lens repair", "THE KEEPER OF THE LIGHT", ""]
)
def test_a_label_says_nothing(label):
    assert not says_something(label)


@pytest.mark.parametrize(
    "sentence", ["It burned.", "Oil: 40 barrels", "The keeper of the northern light", "灯塔熄灭。"]
)
def test_a_sentence_or_a_figure_says_something(sentence):
    assert says_something(sentence)


LINES = ["- one thing", "2. two", "It was.", "Keepers:", "", "第一章。", "A\tB", "  x", "Then it"]
KINDS = [None, None, None, *sorted(RegionKind)]


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(KINDS)), max_size=12))
def test_statements_are_apart_and_in_order_whatever_the_regions(lines):
    text, regions = "", []
    for line, kind in lines:
        if kind and line:
            regions.append(Region(kind, len(text), len(text) + len(line), 1))
        text += f"{line}\n"

    done = 0
    for one in statements(text, regions):
        assert done <= one.start <= one.end <= len(text)
        assert one.said == " ".join(one.said.split())
        done = one.end


SENTENCE = "Ada Lind keeps the light of Skarrow."


@pytest.mark.parametrize("kind", list(RegionKind))
def test_what_is_no_prose_is_not_quoted(kind: RegionKind):
    other = "Olaf Brekke rows oil to Skarrow."
    regions = [Region(kind, 0, len(other))]

    assert [one.said for one in quotable(f"{other}\n\n{SENTENCE}", regions)] == [SENTENCE]


@pytest.mark.parametrize(
    "said", ["Chapter 8.", "THE DEBIAN ARCHIVES 6.5.", "6.1.1.", "The keepers:"]
)
def test_what_says_nothing_is_not_quoted(said: str):
    assert [one.said for one in quotable(f"{said}\n\n{SENTENCE}")] == [SENTENCE]


def test_a_sentence_that_a_page_number_interrupts_is_no_quote():
    text = "Ada Lind keeps the\n4\nlight of Skarrow. Olaf rows to her in May."

    found = quotable(text, [Region(RegionKind.RUNNING, 19, 20)])

    assert [one.said for one in found] == ["Olaf rows to her in May."]


def test_chinese_is_quoted():
    assert [one.said for one in quotable("他昨天走了。灯塔燃烧油。")] == [
        "他昨天走了。",
        "灯塔燃烧油。",
    ]


def test_an_entry_of_one_word_says_something_below_a_line_that_introduces_it():
    found = statements("Fill in these fields:\n\n- licence\n- homepage")

    assert by_kind(found, StatementKind.ENTRY) == ["licence", "homepage"]
    assert by_kind(statements("It burned.\n\n- Home\n- About"), StatementKind.ENTRY) == []


def test_entries_with_letters_and_roman_numbers_are_entries():
    text = (
        "Guests may if:\n\n(a) they pay in cash;\n(b) they have\n  (i) a boat; or\n  (ii) a tent."
    )
    found = [one for one in statements(text) if one.kind is StatementKind.ENTRY]

    assert [one.said for one in found] == [
        "they pay in cash;",
        "they have",
        "a boat; or",
        "a tent.",
    ]
