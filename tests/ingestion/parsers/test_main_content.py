"""What of a page is content. Losing content is worse than keeping a menu."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from ingestion.parsers.blocks import inline_text, is_silent, walk
from ingestion.parsers.main_content import main_content

PROSE = "<p>" + "What this page is really about. " * 20 + "</p>"
LINKS = "".join(f'<li><a href="/{n}">Section number {n}</a></li>' for n in range(9))


def kept(body: str) -> str:
    tree = LexborHTMLParser(f"<html><body>{body}</body></html>")
    content = main_content(tree)
    assert content is not None
    root, left_out = content
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
