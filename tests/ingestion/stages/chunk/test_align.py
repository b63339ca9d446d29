from __future__ import annotations

from hypothesis import given, strategies as st

from ingestion.stages.chunk.cutting import spans_along, unchanged
from kb_project.llm.tokens import token_starts
from kb_project.text.sentences import Span, split_tokens

LINES = st.lists(
    st.sampled_from(["Ada rows.", "Bo sells oil.", "It blew.", "A calm."]), max_size=12
)


def cut_of(text: str, size: int = 12, overlap: int = 4):
    def cut(first: int, last: int) -> list[Span]:
        part = text[first:last]
        spans = split_tokens(
            part, starts=token_starts(part), size=size, overlap=overlap, headings=[]
        )
        return [(first + start, first + end) for start, end in spans]

    return cut


def along(old: str, new: str) -> tuple[set[str], set[str]]:
    """The passages of the old text and those of the new one."""
    spans = cut_of(old)(0, len(old))
    after = spans_along(old, spans, new, cut_of(new))
    return {old[a:b] for a, b in spans}, {new[a:b] for a, b in after}


STORY = " ".join(
    f"On day {number} somebody rowed to the light and back again." for number in range(60)
)


def test_a_sentence_more_changes_the_passages_it_stands_in():
    new = STORY.replace("On day 7 ", "It blew for hours, and nobody went out. On day 7 ")

    before, after = along(STORY, new)

    assert len(before - after) <= 3
    assert any("It blew for hours" in text for text in after)


def test_changes_in_several_places_each_change_their_own():
    lines = STORY.replace(". ", ".\n")
    new = lines.replace("On day 7 ", "On the day 7 ").replace("On day 50 ", "On the day 50 ")

    before, after = along(lines, new)

    assert 0 < len(before - after) <= 6


def test_what_was_taken_out_is_gone_and_the_rest_stays():
    lines = STORY.replace(". ", ".\n")
    start, end = lines.index("On day 20 "), lines.index("On day 30 ")

    before, after = along(lines, lines[:start] + lines[end:])

    assert not any("On day 25 " in text for text in after)
    assert len(after - before) <= 3


def test_a_text_that_is_another_one_is_cut_afresh():
    new = "Nothing of it is left here. " * 20

    assert spans_along(STORY, cut_of(STORY)(0, len(STORY)), new, cut_of(new)) == cut_of(new)(
        0, len(new)
    )


def test_the_same_text_is_cut_as_it_was():
    before, after = along(STORY, STORY)

    assert before == after


@given(LINES, LINES, st.booleans())
def test_every_word_of_the_text_is_in_a_passage(old: list[str], new: list[str], in_lines: bool):
    glue = "\n" if in_lines else " "
    before, after = glue.join([*old, *new]), glue.join([*old, "And more.", *new])

    spans = spans_along(before, cut_of(before)(0, len(before)), after, cut_of(after))

    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered or after[place].isspace() for place in range(len(after)))
    assert len(set(spans)) == len(spans)
    assert all(0 <= start < end <= len(after) for start, end in spans)


@given(LINES, LINES)
def test_blocks_are_equal_in_both_texts_and_in_order(old: list[str], new: list[str]):
    before, after = "\n".join(old), "\n".join(new)

    blocks = unchanged(before, after)

    for one in blocks:
        assert before[one.start : one.start + one.length] == after[one.to : one.to + one.length]
    ends = [(one.start + one.length, one.to + one.length) for one in blocks]
    starts = [(one.start, one.to) for one in blocks]
    assert all(
        end[0] <= start[0] and end[1] <= start[1]
        for end, start in zip(ends, starts[1:], strict=False)
    )
