"""An HTML tree as text: what stands apart, what stays on one line, and what is never shown."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingestion.parsers.blocks import BLOCKS, SILENT, inline_text, is_silent, walk, write_blocks
from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import Limits, Source
from kb_project.text.statements import statements
from tests.ingestion.parsers.conftest import NO_FILE

WORDS = st.lists(st.sampled_from(["Merrow", "Sound", "lens", "Ada", "7.5", "灯塔"]), min_size=1)
TABLE_TAGS = frozenset("table caption thead tbody tfoot tr td th".split())
SHOWN_TAGS = sorted(BLOCKS - SILENT - TABLE_TAGS - {"html", "body", "hr"})


def body_of(markup: str) -> LexborNode:
    body = LexborHTMLParser(f"<html><body>{markup}</body></html>").body
    assert body is not None
    return body


def built(markup: str) -> TextBuilder:
    builder = TextBuilder(Source(NO_FILE, "page.html", "text/html", Limits()))
    write_blocks(body_of(markup), builder)
    return builder


def text_of(markup: str) -> str:
    return built(markup).text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<p>One\n  two\t three&nbsp;four</p>", "One two three four"),
        ("<p>a<b>b</b>c <i>d</i></p>", "abc d"),
        ("loose<div>boxed</div>loose again", "loose\n\nboxed\n\nloose again"),
        ("<p>first line <br> second line</p>", "first line\nsecond line"),
        ("<p></p><p> </p><p>only</p>", "only"),
        ("<dl><dt>Lens</dt><dd>Glass</dd><dd>Large</dd></dl>", "Lens\nGlass\nLarge"),
        ("<p>漢<ruby>字<rp>(</rp><rt>ji</rt></ruby></p>", "漢字ji"),
    ],
)
def test_blocks_stand_apart_and_inline_elements_do_not(markup, text):
    assert text_of(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<ul><li>oil</li><li>wick</li></ul>", "- oil\n- wick"),
        ("<ol><li>trim</li><li>light</li></ol>", "1. trim\n2. light"),
        ('<ol start="9"><li>nine</li><li>ten</li></ol>', "9. nine\n10. ten"),
        ('<ol start="-3"><li>one</li></ol>', "1. one"),
        ('<ol type="a" start="3"><li>c</li><li>d</li></ol>', "c. c\nd. d"),
        (
            '<ol type="I"><li>one</li><li value="4">four</li><li>five</li></ol>',
            "I. one\nIV. four\nV. five",
        ),
        ("<p>Ten <del>or <s>nine</s></del> days</p>", "Ten days"),
        ("<dl><dt>Lens</dt><dd>Glass</dd></dl><ol><li>trim</li></ol>", "Lens\nGlass\n\n1. trim"),
        ('<ol start="99999999999"><li>one</li></ol>', "1. one"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>", "1. a\n  - b\n2. c"),
        ("<p>Take:</p><ul><li>oil</li></ul><p>Go.</p>", "Take:\n\n- oil\n\nGo."),
        ("<li>stray</li>", "- stray"),
    ],
)
def test_lists_keep_their_marks_numbers_and_depth(markup, text):
    assert text_of(markup) == text


def test_a_list_of_any_depth_is_indented_only_so_far():
    depth = 60
    text = text_of("<ul><li>in" * depth + "</li></ul>" * depth)

    lines = text.split("\n")
    assert len(lines) == depth
    assert max(len(line) - len(line.lstrip()) for line in lines) == 16


def test_preformatted_text_keeps_its_layout():
    text = text_of("<p>Run</p><pre>\n  if lit:\n      <b>turn</b>()\n</pre><p>Done</p>")

    assert text == "Run\n\n  if lit:\n      turn()\n\nDone"


def test_a_line_break_in_preformatted_text_is_one_line_break():
    assert text_of("<pre>a<br>b</pre>") == "a\nb"


@pytest.mark.parametrize("tag", sorted(SILENT - {"head", "frame", "select", "input", "embed"}))
def test_what_is_not_for_reading_is_never_written(tag):
    text = text_of(f"<p>before</p><{tag}>hidden</{tag}><p>after</p>")

    assert text == "before\n\nafter"


def test_comments_are_not_text():
    assert text_of("<p>a<!-- b -->c</p>") == "ac"


@pytest.mark.parametrize("mark", ["¶", "#", "§", "🔗"])
def test_a_permalink_beside_a_heading_is_not_part_of_its_title(mark):
    builder = built(f'<h2>Oil <a href="#oil">{mark}</a></h2><p>Text.</p>')
    document = builder.build(parser="test")

    assert [heading.title for heading in document.headings] == ["Oil"]
    assert document.text == "Oil\n\nText."


def test_a_link_that_says_something_stays():
    assert text_of('<p>See <a href="x">item #</a></p>') == "See item #"


def test_a_heading_is_one_line_whatever_it_holds():
    builder = built("<h3>The <em>Great</em><br>Lens<p>of Skarrow</p></h3><p>Text.</p>")
    (heading,) = builder.build(parser="test").headings

    assert (heading.level, heading.title, heading.start) == (3, "The Great Lens of Skarrow", 0)


@pytest.mark.parametrize(
    "inside",
    [
        '<a href="i">Contents</a> | <a href="p">Previous</a> | <a href="n">Next</a>',
        '<a href="2">Continue to Chapter 2...</a>',
    ],
)
def test_links_to_other_pages_in_a_heading_are_navigation(inside):
    document = built(f"<h1>Stars</h1><h2>{inside}</h2><p>They burn.</p>").build(parser="test")

    assert [heading.title for heading in document.headings] == ["Stars"]
    assert [one.kind for one in document.regions] == ["heading", "navigation"]


@pytest.mark.parametrize("title", ["The Great Lens", "Up the Tower"])
def test_a_heading_may_be_a_link(title):
    document = built(f'<h2><a href="x">{title}</a></h2><p>Text.</p>').build(parser="test")

    assert [heading.title for heading in document.headings] == [title]


def test_an_empty_heading_is_none():
    assert built("<h1> </h1><p>Text.</p>").build(parser="test").headings == ()


@pytest.mark.parametrize("level", range(1, 7))
def test_every_level_of_heading_is_known(level):
    builder = built(f"<p>Before</p><h{level}>Title</h{level}><p>After</p>")
    document = builder.build(parser="test")

    (heading,) = document.headings
    assert heading.level == level
    assert document.text[heading.start :].startswith("Title\n\nAfter")


def test_a_table_of_data_becomes_rows_that_name_their_columns():
    markup = (
        "<table><caption>Keepers</caption><tr><th>Name</th><th>Post</th></tr>"
        "<tr><td>Ada<br>Byrne</td><td>Head</td></tr></table>"
    )

    assert text_of(markup) == "Keepers\nName: Ada Byrne; Post: Head"


@pytest.mark.parametrize(
    "inside",
    [
        "<td><table><tr><td>deep down</td></tr></table></td><td>side</td>",
        "<td><h2>deep</h2>down</td><td>side</td>",
        f"<td>deep {'word ' * 100}</td><td>down side</td>",
        "<td>deep down side</td>",
    ],
)
def test_a_table_that_only_lays_out_the_page_is_read_as_blocks(inside):
    text = text_of(f"<table><tr>{inside}</tr></table>")

    assert "; " not in text
    assert text.startswith("deep")


def test_the_caller_may_leave_out_whatever_it_likes():
    builder = TextBuilder(Source(NO_FILE, "page.html", "text/html", Limits()))
    body = body_of("<p>kept</p><footer><p>left out</p></footer>")

    write_blocks(body, builder, skip=lambda node: node.tag == "footer")

    assert builder.text == "kept"


def test_inline_text_puts_a_space_where_a_block_or_a_break_ends_a_word():
    assert inline_text(body_of("a<br>b<div>c</div><span>d</span>e<script>f</script>")) == "a b c de"


def test_a_walk_enters_and_leaves_every_element_once_in_order():
    steps = [
        (node.text_content if node.is_text_node else node.tag, entering)
        for node, entering in walk(body_of("<p>a<b></b></p><hr>"), skip=is_silent)
    ]

    assert steps == [
        ("p", True),
        ("a", True),
        ("b", True),
        ("b", False),
        ("p", False),
        ("hr", True),
        ("hr", False),
    ]


def test_a_skipped_subtree_is_passed_over_and_what_follows_is_not():
    body = body_of("<div><i>in</i></div><p>out</p>")
    found = [node.tag for node, _ in walk(body, skip=lambda node: node.tag == "div")]

    assert found == ["p", "-text", "p"]


@given(st.lists(st.tuples(st.sampled_from(SHOWN_TAGS), WORDS), max_size=12))
def test_no_word_of_a_page_is_lost_and_none_is_added(parts):
    markup = "".join(f"<{tag}>{' '.join(words)}</{tag}>" for tag, words in parts)
    marks = {"-"} | {f"{number}." for number in range(20)}

    found = [word for word in text_of(markup).split() if word not in marks]

    assert found == [word for tag, words in parts for word in words]


@given(st.text(alphabet="<>/ahpbrultdoi123 \n&;=\"'!-", max_size=200))
def test_no_markup_is_too_broken_to_be_read(markup):
    builder = built(markup)

    assert "\x00" not in builder.text
    assert builder.length == len(builder.text)


def test_the_term_of_a_definition_is_a_heading_of_it_alone():
    document = built(
        "<p>Words.</p><dl><dt>Lens</dt><dd>It bends all the light.</dd>"
        "<dt>Lamp</dt><dd>It burns nothing but oil.</dd></dl><p>That is all there is.</p>"
    ).build(parser="html")

    paths = {
        one.said: [title for _, title in one.path]
        for one in statements(document.text, document.regions)
        if one.states
    }

    assert "Words.\n\nLens\nIt bends all the light.\n\nLamp\n" in document.text
    assert document.headings == ()
    assert paths["It bends all the light."] == ["Lens"]
    assert paths["It burns nothing but oil."] == ["Lamp"]
    assert paths["That is all there is."] == []


def test_terms_in_bold_that_begin_most_paragraphs_are_headings_of_these_alone():
    terms = ["Lens", "Lamp", "Horn", "Oil", "Wick"]
    told = "".join(f"<p><a name='x'>:</a><b>{one}</b> A thing of the light.</p>" for one in terms)

    document = built(f"{told}<p>That is all there is.</p>").build(parser="html")

    paths = [
        (one.said, [title for _, title in one.path])
        for one in statements(document.text, document.regions)
        if one.states
    ]
    assert paths == [
        *(("A thing of the light.", [one]) for one in terms),
        ("That is all there is.", []),
    ]


def test_some_paragraphs_that_begin_in_bold_define_nothing():
    told = "<p><b>Warning</b> Oil is slippery.</p>" * 4 + "<p><b>Ada Lind</b> lit it.</p>" * 4
    told += "<p><i>Tern Rock</i> <b>Light</b> It is old.</p>" * 8

    assert "Ada Lind lit it." in text_of(told)
    assert "Warning Oil is slippery." in text_of(told)


def test_a_table_of_long_cells_below_names_is_read_as_definitions():
    long = "The lamp is lit when it is given, and whoever gives it has to be a keeper. " * 7
    rows = f"<tr><td>light</td><td>word</td><td>{long}</td></tr>"
    rows += "<tr><td>oil (m)</td><td>barrels</td><td>The oil of a year.</td></tr>"
    rows += "<tr><td colspan=3>m stands for mandatory, as in all of our tables.</td></tr>"
    table = f"<table><tr><th>Name</th><th>Value</th><th>Meaning</th></tr>{rows}</table>"

    document = built(f"{table}<p>That is all there is.</p>").build(parser="html")

    paths = {
        one.said: [title for _, title in one.path]
        for one in statements(document.text, document.regions)
        if one.states
    }
    assert "oil (m)\nThe oil of a year.\nValue: barrels\n" in document.text
    assert paths["The oil of a year."] == ["oil (m)"]
    assert paths["m stands for mandatory, as in all of our tables."] == []
    assert paths["That is all there is."] == []


def test_a_table_that_only_lays_out_an_entry_does_not_divide_its_list():
    oil = "<table><tr><td>Oil</td></tr></table>"

    assert text_of(f"<ul><li>Lamp</li><li>{oil}</li></ul>") == "- Lamp\n- Oil"
