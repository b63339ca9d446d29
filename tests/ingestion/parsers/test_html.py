from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from ingestion.parsers.blocks import inline_text, is_silent, walk
from ingestion.parsers.html import main_content
from kb_project.text.regions import RegionKind, prose
from tests.ingestion.parsers.conftest import headed, of_kind

PAGE = """\
<!doctype html><html lang="en"><head><title>Tides | Harbour Office</title>
<meta name="author" content="Ada Flett"><meta property="og:site_name" content="Harbour Office">
<link rel="canonical" href="https://example.org/tides"><style>p { color: red }</style></head>
<body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<div class="cookie-banner">We use cookies.</div>
<h1>Tides <a class="headerlink" href="#tides">¶</a></h1>
<p>High water   comes
twice a <b>d</b>ay.<br>Low water too.</p>
<ul><li>Spring tides<ol start="3"><li>new moon</li><li>full moon</li></ol></li>
<li>Neap tides</li></ul>
<table><caption>Heights</caption><tr><th>Port</th><th>Height (m)</th></tr>
<tr><td>Voar</td><td>3.2</td></tr><tr><td>Hestay</td><td></td></tr></table>
<h2>Tables</h2>
<pre>
  kept
    as it is
</pre>
<blockquote><p>So they say.</p></blockquote>
<script>alert("never")</script>
<footer>All rights reserved.</footer>
</body></html>
"""


def test_a_page_reads_like_a_page(read):
    document = read(PAGE.encode(), "tides.html")

    assert document.text == "\n\n".join(
        [
            "Tides",
            "High water comes twice a day.\nLow water too.",
            "- Spring tides\n  3. new moon\n  4. full moon\n- Neap tides",
            "Heights\nPort: Voar; Height (m): 3.2\nPort: Hestay",
            "Tables",
            "  kept\n    as it is",
            "So they say.",
        ]
    )
    assert headed(document) == ["Tides", "Tables"]


def test_facts_come_from_the_head(read):
    document = read(PAGE.encode(), "tides.html")

    assert document.title == "Tides"
    assert document.metadata == {
        "language": "en",
        "author": "Ada Flett",
        "site": "Harbour Office",
        "url": "https://example.org/tides",
    }


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("WaitList &lt; Manual &lt; Wiki", "<h1>The waiting list</h1>", "The waiting list"),
        ("WaitList &lt; Manual &lt; Wiki", "", "WaitList"),
        ("Fees – Harbour Office", "<h1>Menu</h1><h1>Fees</h1>", "Fees"),
        ("FeesPage &lt; Manual &lt; Wiki", "<h1>The fees</h1>", "The fees"),
        ("FeesPage &lt; Manual &lt; Wiki", "", "FeesPage"),
        ("Fees, part two", "<h1>Fees</h1>", "Fees, part two"),
        ("", "<h1>Fees</h1>", "Fees"),
        ("Page", "<h1>Fees</h1>", "Fees"),
        ("Page", "<h2>Fees</h2>", "Page"),
        ("", "<p>Fees</p>", "page"),
    ],
)
def test_a_sites_name_is_not_part_of_the_title(read, title, body, expected):
    page = f"<html><head><title>{title}</title></head><body>{body}<p>Text.</p></body></html>"

    assert read(page.encode(), "page.html").title == expected


def test_marked_content_is_taken_at_its_word(read):
    body = "<p>" + "Real content. " * 20 + "</p>"
    page = f"<html><body><div>Login or register</div><main><h1>T</h1>{body}</main></body></html>"

    text = read(page.encode(), "p.html").text

    assert "Login" not in text
    assert "Real content." in text


def test_a_list_of_links_among_text_is_a_menu(read):
    links = "".join(f'<li><a href="/{n}">Section number {n}</a></li>' for n in range(8))
    body = "<p>" + "What the page is about. " * 30 + "</p>"

    text = read(f"<html><body><ul>{links}</ul>{body}</body></html>".encode(), "p.html").text

    assert "Section number" not in text


def test_a_page_of_links_keeps_them(read):
    links = "".join(f'<li><a href="/{n}">Section number {n}</a></li>' for n in range(8))

    text = read(f"<html><body><p>Index</p><ul>{links}</ul></body></html>".encode(), "i.html").text

    assert "Section number 7" in text


def test_a_page_whose_content_says_it_is_navigation_is_kept_whole(read):
    page = "<html><body><nav>" + "<p>All of the text is here.</p>" * 9 + "</nav>ok</body></html>"

    assert "All of the text" in read(page.encode(), "p.html").text


def test_layout_tables_are_read_as_blocks(read):
    page = f"<html><body><table><tr><td><h2>Left</h2><p>{'word ' * 90}</p></td></tr></table>"

    document = read(page.encode(), "old.html")

    assert document.text.startswith("Left\n\nword word")
    assert headed(document) == ["Left"]


def test_a_note_beside_an_icon_is_prose(read):
    page = """<html><body><h1>Lamps</h1><p>Trim the wick at dusk.</p><table border="0"><tr>
      <td rowspan="2"><img src="tip.png"></td><th>Tip</th></tr>
      <tr><td colspan="2"><p>A dry wick lasts longer.</p></td></tr></table></body></html>"""

    document = read(page.encode(), "lamps.html")

    assert "A dry wick lasts longer." in prose(document.text, document.regions)


def test_what_a_picture_shows_is_a_caption(read):
    page = """<html><body><h1>Lamps</h1><p>Trim the wick at dusk.</p>
      <figure><img src="lamp.png"><figcaption>The lamp in 1902.</figcaption></figure>
      <div class="caption"><p>An image of the wick.</p></div><p>Then light it.</p></body></html>"""

    document = read(page.encode(), "lamps.html")

    captions = [one for one in document.regions if one.kind == RegionKind.CAPTION]
    assert [document.text[one.start : one.end] for one in captions] == [
        "The lamp in 1902.\n\nAn image of the wick."
    ]


@pytest.mark.parametrize(
    "head",
    ['<meta charset="gb2312">', '<meta http-equiv=Content-Type content="text/html; charset=gbk">'],
)
def test_the_declared_encoding_is_used(read, head):
    page = f"<html><head>{head}</head><body><p>港口的潮汐</p></body></html>".encode("gbk")

    document = read(page, "港.html")

    assert document.text == "港口的潮汐"
    assert document.encoding == "gb18030"


def test_depth_is_no_danger(read):
    depth = 20_000
    page = f"<html><body>{'<div>' * depth}deep{'</div>' * depth}</body></html>"

    assert read(page.encode(), "deep.html").text == "deep"


def test_an_unclosed_page_is_read(read):
    assert read(b"<html><body><p>One<p>Two <b>three", "open.html").text == "One\n\nTwo three"


def test_line_ends_from_windows_do_not_matter(read):
    page = "<html><body><pre>a\r\nb</pre></body></html>"

    assert read(page.encode(), "w.html").text == "a\nb"


PROSE = "<p>" + "What this page is really about. " * 20 + "</p>"
LINKS = "".join(f'<li><a href="/{n}">Section number {n}</a></li>' for n in range(9))


def kept(body: str) -> str:
    tree = LexborHTMLParser(f"<html><body>{body}</body></html>")
    root, left_out = main_content(tree)
    assert root is not None
    parts = [
        node.text_content or ""
        for node, _ in walk(root, skip=lambda node: is_silent(node) or node.mem_id in left_out)
        if node.is_text_node
    ]
    return " ".join(parts)


@pytest.mark.parametrize(
    "chrome",
    [
        "<nav>LEAVE</nav>",
        "<footer><p>LEAVE</p></footer>",
        "<aside><a href='/a'>LEAVE</a></aside>",
        '<div role="navigation">LEAVE</div>',
        '<div class="site-sidebar"><a href="/a">LEAVE</a> now</div>',
        '<div id="cookie-consent"><p>LEAVE</p></div>',
        '<ul class="breadcrumb"><li>LEAVE</li></ul>',
        f"<ul>{LINKS}<li><a href='/x'>LEAVE</a></li></ul>",
        "<header><a href='/'>LEAVE</a></header>",
        '<div class="navheader"><table><tr><td>LEAVE</td></tr></table></div>',
        '<div class="side-navbar"><p>LEAVE</p></div>',
        '<table summary="Navigation header"><tr><td>LEAVE</td></tr></table>',
    ],
)
def test_what_says_it_is_no_content_is_left_out(chrome):
    text = kept(chrome + PROSE)

    assert "LEAVE" not in text
    assert "really about" in text


@pytest.mark.parametrize(
    "content",
    [
        "<header><h1>KEEP</h1></header>",
        '<div class="navigation-of-ships"><h2>KEEP</h2></div>',
        '<table summary="Navigation lights"><tr><td>KEEP</td></tr></table>',
        '<div class="navy">KEEP</div>',
        '<div class="thumbnails">KEEP</div>',
        "<ul><li>KEEP <a href='/a'>one</a></li><li>and a longer line about it</li></ul>",
        "<form><p>KEEP</p></form>",
        "<aside><p>KEEP</p></aside>",
        '<div class="sidebar">KEEP what explains <a href="/a">this</a></div>',
        "<main><nav>KEEP</nav>" + PROSE + "</main>",
    ],
)
def test_what_may_be_content_is_kept(content):
    assert "KEEP" in kept(content + PROSE)


def test_marked_content_wins_over_the_rest():
    assert "LEAVE" not in kept(f"<div>LEAVE</div><article>{PROSE}</article><div>LEAVE</div>")


def test_a_mark_on_a_fraction_of_the_page_is_not_believed():
    assert "really about" in kept(f"<main>Small.</main><div>{PROSE * 3}</div>")


def test_several_articles_are_a_list_not_the_content():
    assert (
        kept(f"<article>First {PROSE}</article><article>Second {PROSE}</article>").count(
            "really about"
        )
        == 40
    )


def test_when_nearly_all_would_go_all_stays():
    assert "Section number 3" in kept(f"<p>Index</p><ul>{LINKS}</ul>")


def test_inline_text_is_one_line():
    tree = LexborHTMLParser("<div><p>a<b>b</b></p><p>c<br>d</p><script>no</script>\n e</div>")

    assert tree.body is not None
    assert inline_text(tree.body) == "ab c d e"


def test_an_anchor_that_is_never_closed_makes_no_link_of_what_follows(read):
    page = (
        '<a id="ch3"/><h1>Oil</h1><p>It burns all night.</p>'
        "<div><h3>Wicks</h3><ul><li>Trim one.</li><li>Trim two.</li></ul></div><p>Ring in fog.</p>"
    )

    document = read(page.encode(), "oil.html")

    assert document.text == (
        "Oil\n\nIt burns all night.\n\nWicks\n\n- Trim one.\n- Trim two.\n\nRing in fog."
    )
    assert of_kind(document, RegionKind.NAVIGATION) == []


def test_a_line_that_leads_to_the_neighbours_of_a_page_is_navigation(read):
    page = (
        "<p>It begins.</p><p>Next: <a href=n rel=next>Fog</a>, Previous: <a href=p rel=prev>Oil</a>"
        ", which you have read</p><p>It ends.</p>"
    )

    assert of_kind(read(page.encode(), "p.html"), RegionKind.NAVIGATION) == [
        "Next: Fog, Previous: Oil, which you have read"
    ]


def test_entries_of_a_table_of_contents_define_nothing(read):
    page = (
        "<p>It begins.</p><dl><dt>1. <a href=a>Oil</a></dt>"
        "<dd><dl><dt>1.1. <a href=b>Wicks</a></dt>"
        "</dl></dd><dt><a href=c>Lens</a></dt><dd>Made of glass.</dd></dl><p>It ends.</p>"
    )

    document = read(page.encode(), "p.html")

    assert document.text == ("It begins.\n\n1. Oil\n1.1. Wicks\n\nLens\nMade of glass.\n\nIt ends.")
    assert of_kind(document, RegionKind.HEADING) == ["Lens"]
