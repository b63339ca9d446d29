from __future__ import annotations

from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from retrieval.search.assemble import MentionOf, sentences
from retrieval.search.hits import Hit
from retrieval.search.sought import Kind


def hit(text, *, title="Keepers", start=0, heading_path=(), document=None):
    return Hit(
        chunk_id=uuid4(),
        document_id=document or uuid4(),
        title=title,
        heading_path=heading_path,
        page=None,
        start=start,
        end=start + len(text),
        score=1.0,
        text=text,
        why=(),
    )


def test_offsets_are_those_of_the_document():
    passage = hit("Ada Lind keeps the light. It burns oil by night.", start=100)

    first, second = sentences([passage], {})

    assert (first.quote, first.start) == ("Ada Lind keeps the light.", 100)
    assert (second.quote, second.start) == ("It burns oil by night.", 126)


def test_a_sentence_in_two_overlapping_passages_is_one():
    document = uuid4()
    text = "Ada Lind keeps the light. It burns oil by night."
    first = hit(text, document=document)
    second = hit(text[26:], start=26, document=document)

    found = sentences([first, second], {})

    assert [(one.quote, one.passage) for one in found] == [
        ("Ada Lind keeps the light.", 0),
        ("It burns oil by night.", 0),
    ]


def test_a_sentence_inherits_title_headings_and_the_sentence_before():
    text = "Ada Lind keeps the light.\n\nShe was born in Strand."
    passage = hit(text, title="Staff list", heading_path=("People",))

    last = sentences([passage], {})[-1]

    assert {"staff", "list", "peopl", "ada", "lind"} <= last.around
    assert last.title_terms == {"staff", "list"}


def test_a_heading_is_no_sentence_but_stands_around_those_below_it():
    found = sentences([hit("## Storm damage\n\nThe door of the lantern was lost.")], {})

    assert [one.quote for one in found] == ["The door of the lantern was lost."]
    assert {"storm", "damag"} <= found[0].around


def test_lines_of_a_record_are_told_apart_and_know_their_record():
    text = "code: BOB\nlead: Bram Oosterling\nbudget: 26000 pounds a year"

    found = sentences([hit(text)], {})

    assert [one.quote for one in found] == text.split("\n")
    assert {"bob", "26000"} <= found[1].around


def test_wrapped_prose_stays_in_one_piece():
    text = "Ada Lind keeps the light\nthat stands at Skarrow: she has\nkept it for years."

    assert [one.text for one in sentences([hit(text)], {})] == [" ".join(text.split())]


def test_names_say_which_kind_of_question_a_sentence_may_answer():
    text = "Ada Lind came to Strand on 11 May 1987 with three men."
    passage = hit(text, start=50)
    mentions = [
        MentionOf(50, 58, "person", uuid4()),
        MentionOf(67, 73, "place", uuid4()),
        MentionOf(500, 510, "person", uuid4()),
    ]

    (found,) = sentences([passage], {passage.chunk_id: mentions})

    assert found.kinds[Kind.PERSON] == {"ada", "lind"}
    assert found.kinds[Kind.PLACE] == {"strand"}
    assert "1987" in found.kinds[Kind.DATE]
    assert {"three", "1987"} <= found.kinds[Kind.NUMBER]
    assert len(found.entities) == 2


@given(st.text(max_size=400), st.integers(0, 1000))
def test_every_quote_is_cut_out_of_its_passage(text, start):
    passage = hit(text, start=start)

    for one in sentences([passage], {}):
        assert text[one.start - start : one.end - start] == one.quote
        assert one.quote == one.quote.strip()


def test_a_line_of_many_fields_is_a_record_by_itself():
    text = "Line: Grants; Amount: 640000 pounds\nLine: Visitors; Amount: 268000 pounds"

    _, visitors = sentences([hit(text)], {})

    assert "grant" not in visitors.around
    assert {"visitor", "268000"} <= visitors.terms


def test_a_caption_stands_around_what_follows_and_is_not_said():
    found = sentences([hit("Buoy record\n\nThe highest wave was 16.8 m.")], {})

    assert [one.quote for one in found] == ["The highest wave was 16.8 m."]
    assert {"buoy", "record"} <= found[0].around


def test_the_head_of_a_table_and_a_bare_time_are_no_sentences():
    table = hit("| Name | Role | Since 2014 |\n| --- | --- | --- |\n| Ada Lind | Keeper | 2022 |")
    times = hit("03:41 to 03:52\n\nThe door of the gallery fails.\n\n1883")

    assert [one.quote for one in sentences([table], {})] == ["| Ada Lind | Keeper | 2022 |"]
    assert [one.quote for one in sentences([times], {})] == ["The door of the gallery fails."]


def test_a_field_that_holds_a_number_is_a_sentence():
    assert [one.quote for one in sentences([hit("Nr: 47")], {})] == ["Nr: 47"]
