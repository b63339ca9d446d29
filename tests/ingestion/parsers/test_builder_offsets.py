"""However a document is put together, its offsets hold: headings, pages, length and cleanliness."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import Limits, ParsedDocument, Source, clean, is_clean
from kb_project.errors import ParseError
from tests.ingestion.parsers.conftest import NO_FILE

ANY_TEXT = st.text(
    st.sampled_from("ab 灯\n\r\t\x00\x07\u00ad\u2028\ufeff\ud800é.") | st.characters(), max_size=30
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["paragraph", "line", "heading", "verbatim", "part", "open_page"]), ANY_TEXT
    ),
    max_size=20,
)


def builder_for(**limits: int) -> TextBuilder:
    return TextBuilder(Source(NO_FILE, "notes.txt", "text/plain", Limits(**limits)))


def take(builder: TextBuilder, step: str, text: str) -> None:
    if step == "heading":
        builder.heading(1, text)
    elif step in ("part", "open_page"):
        getattr(builder, step)()
    else:
        getattr(builder, step)(text)


def built(steps: list[tuple[str, str]]) -> ParsedDocument:
    """The steps and a last paragraph, so that there is text in any case."""
    builder = builder_for()
    for step, text in steps:
        take(builder, step, text)
    builder.paragraph("The end.")
    return builder.build(parser="test")


@given(STEPS)
def test_every_heading_starts_at_its_title_on_a_line_of_its_own(steps):
    document = built(steps)

    for heading in document.headings:
        line = document.text[heading.start :].split("\n", 1)[0]
        assert line == heading.title
        assert heading.start == 0 or document.text[heading.start - 1] == "\n"
    assert len(document.headings) == sum(
        1 for step, text in steps if step == "heading" and clean(text)[0].split()
    )


@given(STEPS)
def test_pages_follow_each_other_and_hold_all_text_from_the_first_on(steps):
    document = built(steps)
    opened = sum(1 for step, _ in steps if step == "open_page")

    assert [page.number for page in document.pages] == list(range(1, opened + 1))
    end = document.pages[0].start if document.pages else 0
    for page in document.pages:
        assert not document.text[end : page.start].strip()
        assert page.start <= page.end
        end = page.end
    assert not document.pages or end == len(document.text)


@given(STEPS)
def test_the_text_can_be_stored_and_its_length_is_known_all_the_while(steps):
    builder = builder_for()
    for step, text in steps:
        take(builder, step, text)
        assert builder.length == len(builder.text)

    assert is_clean(builder.text)
    builder.text.encode("utf-8")
    assert builder.text == builder.text.rstrip()


@given(st.lists(st.text("abc ", min_size=1), max_size=10))
def test_paragraphs_keep_their_words_and_their_order(texts):
    builder = builder_for()
    for text in texts:
        builder.paragraph(text)

    assert builder.text.split("\n\n") == [t.strip() for t in texts if t.strip()] or not builder.text


@given(STEPS, st.integers(1, 40))
def test_the_limit_is_never_passed(steps, limit):
    builder = builder_for(max_characters=limit)
    with suppress(ParseError):
        for step, text in steps:
            take(builder, step, text)

    assert len(builder.text) <= limit


def test_the_page_after_the_last_that_is_allowed_is_refused():
    builder = builder_for(max_pages=2)
    assert [builder.open_page(), builder.open_page()] == [1, 2]

    with pytest.raises(ParseError) as caught:
        builder.open_page()

    assert caught.value.code == "too_many_pages"


def test_verbatim_text_keeps_its_layout_and_says_where_it_starts():
    builder = builder_for()
    builder.paragraph("Before")
    start = builder.verbatim("  indented\n\n\n    more\n\n")

    assert builder.text[start:] == "  indented\n\n\n    more"


@pytest.mark.parametrize("text", ["", " \n\t", "\x00"])
def test_nothing_but_blanks_adds_nothing(text):
    builder = builder_for()
    builder.paragraph("One")
    for step in ("paragraph", "line", "heading", "verbatim"):
        take(builder, step, text)

    assert builder.text == "One"
    with pytest.raises(ParseError) as caught:
        builder_for().build(parser="test")
    assert caught.value.code == "no_text"


def test_a_part_asks_for_room_once():
    builder = builder_for()
    for text in ("a", "b", "c"):
        builder.line(text)
        if text == "b":
            builder.part()
            builder.part()

    assert builder.text == "a\nb\n\nc"


def test_a_long_heading_is_cut_in_the_outline_and_whole_in_the_text():
    builder = builder_for()
    builder.heading(2, "word " * 200)
    document = builder.build(parser="test")

    (heading,) = document.headings
    assert len(heading.title) <= 300
    assert document.text == ("word " * 200).strip()
    assert document.text.startswith(heading.title)


@pytest.mark.parametrize(
    ("levels", "title"),
    [((1, 2, 2), "H0"), ((1, 1), "notes"), ((2, 1), "notes"), ((2, 2), "notes"), ((), "notes")],
)
def test_only_a_heading_above_all_others_names_the_document(levels, title):
    builder = builder_for()
    for number, level in enumerate(levels):
        builder.heading(level, f"H{number}")
    builder.paragraph("Text.")

    assert builder.build(parser="test").title == title


def test_facts_that_say_nothing_are_not_kept():
    builder = builder_for()
    for key, value in (("a", None), ("b", " \n"), ("c", 7), ("d", " x\ny ")):
        builder.describe(key, value)

    assert builder.metadata == {"c": "7", "d": "x y"}


def test_removed_characters_are_counted_over_the_whole_document():
    builder = builder_for()
    builder.paragraph("a\x00b")
    builder.line("c\x01\x02d")
    builder.removed += 1000

    (warning,) = builder.build(parser="test").warnings
    assert warning.startswith("1,003 invalid control characters")
