"""Write an HTML tree as readable text: paragraphs, headings, lists, tables, preformatted text.

Used for web pages, Word documents (through mammoth) and e-book chapters. Every walk is a loop,
never a recursion: a hostile page nests ten thousand levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.html_tables import LONGEST_TERM, definitions, is_data_table, table_rows
from ingestion.parsers.list_numbers import list_number
from ingestion.parsers.tables import write_table
from kb_project.text.regions import RegionKind


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


SILENT: Final = _tags(
    "script style noscript template head svg iframe object embed canvas audio video map"
    " button select input textarea datalist rp del s strike"
)
BLOCKS: Final = _tags(
    "address article aside blockquote body caption center details dialog dd div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav"
    " ol option p pre section summary table tbody td tfoot th thead title tr ul"
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_FORMS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_LISTS: Final = ("ul", "ol", "menu")
_TEXT: Final = "-text"
_SPACES: Final = re.compile(r"[ \t\n\r\f\xa0]+")
# A line separator never survives cleaning, so it can represent <br> until spaces are collapsed.
_BREAK: Final = "\u2028"
_AROUND_BREAK: Final = re.compile(f" ?{_BREAK} ?")
_PERMALINKS: Final = frozenset("¶#§🔗↑↩⏎^")
"""Links to a heading itself, and from a note back to the text."""
LIST_NUMBER: Final = "list-number"
"""The class of a ``span`` with the number of its list entry or heading."""
_DEEPEST_INDENT: Final = 8
# Share of a line's letters: an arrow or a number may precede the link.
_LINK_SHARE: Final = 0.8
_LONGEST_LINK: Final = 120
_STEPS: Final = frozenset("next prev previous up first last start contents index".split())
_FEWEST_STEPS: Final = 2
"""Links to neighbours (``rel``) in one line that make it a menu …"""
_FEWEST_LINKS: Final = 3
"""… and links that are all of a heading."""
# But *Back pain* and *Up the Tower* name what is told there.
_STEP: Final = re.compile(
    r"\W*(?:next|prev(?:ious)?|back|continue|up|home)"
    r"(?:\W*|(?:\W*:|(?: to| page| chapter| section| part)\b).*)",
    re.IGNORECASE,
)
_MOST_NODES: Final = 60
"""Nodes of a term that are looked at: lists may be nested in it without end."""

_BOLD: Final = ("b", "strong", "dfn")
_FEWEST_RUN_IN: Final = 5
"""Paragraphs that begin with a term in bold, for it to be what the rest defines …"""
_RUN_IN_SHARE: Final = 1 / 3
"""… and their share of all: elsewhere, a bold beginning is a warning or a mere beginning."""
_NO_WORD: Final = re.compile(r"\W*")
_DEFINES: Final = re.compile(r"\s*(?:[A-Z0-9(=]|[:.–—-]\s)")
_BEFORE_DEFINITION: Final = re.compile(r"\A[:.–—-]\s+")

Skip = Callable[[LexborNode], bool]


def walk(root: LexborNode, *, skip: Skip) -> Iterator[tuple[LexborNode, bool]]:
    """(node, entering) in document order; text nodes come once, skipped subtrees not at all.

    ``skip`` may also be true for a subtree that the caller has just handled itself.
    """
    node = root.first_child
    while node is not None:
        child = None
        if not skip(node):
            yield node, True
            child = node.first_child
            if child is None and not node.is_text_node:
                yield node, False
        if child is not None:
            node = child
            continue
        while node.next is None:
            parent = node.parent
            if parent is None or parent.mem_id == root.mem_id:
                return
            yield parent, False
            node = parent
        node = node.next


def is_silent(node: LexborNode) -> bool:
    return node.tag in SILENT or node.is_comment_node


def inline_text(root: LexborNode) -> str:
    """All text below a node on one line; blocks and line breaks become spaces."""
    parts: list[str] = []
    for node, _ in walk(root, skip=_is_unread):
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag in BLOCKS or node.tag == "br":
            parts.append(" ")
    return _SPACES.sub(" ", "".join(parts)).strip()


def write_blocks(
    root: LexborNode, builder: TextBuilder, *, skip: Skip = is_silent, may_guess: bool = False
) -> None:
    """Append everything below ``root`` to the text, except what ``skip`` matches.

    ``may_guess``: the first row of a table may name its columns although nothing says so.
    """
    writer = _BlockWriter(builder, skip, _run_in_terms(root), may_guess=may_guess)
    for node, entering in walk(root, skip=writer.skips):
        writer.visit(node, entering=entering)
    writer.flush()


class _BlockWriter:
    def __init__(
        self, builder: TextBuilder, skip: Skip, run_in: Collection[int], *, may_guess: bool
    ) -> None:
        self._builder = builder
        self._skip = skip
        self._run_in = run_in
        self._may_guess = may_guess
        self._inline: list[str] = []
        self._lists: list[int | None] = []
        self._mark = ""
        self._is_row = False
        self._is_term = False
        self._terms = 0
        self._preformatted = 0
        self._captions = 0
        self._heading = ""
        self._in_link = 0
        self._links = 0
        self._steps = 0
        self._linked = 0

    def skips(self, node: LexborNode) -> bool:
        """Silent nodes, permalinks, and tables, which are written here as rows."""
        if _is_unread(node) or self._skip(node):
            return True
        if node.tag == "span" and node.attributes.get("class") == LIST_NUMBER:
            self._number(inline_text(node))
            return True
        if node.tag != "table" or self._heading:
            return False
        if is_data_table(node):
            self.flush()
            rows = table_rows(node, inline_text, may_guess=self._may_guess)
            write_table(self._builder, rows)
            return True
        defined = definitions(node, inline_text)
        if not defined:
            return False
        self.flush()
        for term, told in defined:
            self._builder.part()
            self._builder.label(term)
            for line in told:
                self._builder.line(line)
        self._builder.part()
        return True

    def visit(self, node: LexborNode, *, entering: bool) -> None:
        tag = node.tag or ""
        if tag == _TEXT:
            text = self._text(node)
            self._inline.append(text)
            self._linked += len("".join(text.split())) if self._in_link else 0
        elif tag == "a":
            self._visit_anchor(node, 1 if entering else -1)
        elif tag == "br":
            if entering:
                self._inline.append("\n" if self._preformatted else _BREAK)
        elif node.mem_id in self._run_in:
            self._end_term(entering=entering)
        elif self._heading:
            self._visit_in_heading(tag, entering=entering)
        elif tag in BLOCKS:
            self.flush()
            self._visit_block(node, tag, entering=entering)

    def flush(self) -> None:
        text, linked, steps = "".join(self._inline), self._linked, self._steps
        self._forget()
        if self._preformatted:
            if text.strip():
                start = self._builder.verbatim(text.strip("\n"))
                self._builder.note(RegionKind.CODE, start)
            return
        text = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text)).strip()
        if not text:
            return
        if self._is_term and len(text) <= LONGEST_TERM and "\n" not in text:
            self._builder.label(text)
            return
        start = self._builder.length
        if self._is_row and self._run_in:
            text = _BEFORE_DEFINITION.sub("", text)
        if self._mark or self._is_row:
            self._builder.line(self._indent() + self._mark + text)
            self._mark = ""
        else:
            self._builder.paragraph(text)
        self._note(start, text, linked, steps)

    def _end_term(self, *, entering: bool) -> None:
        """Write a term in bold; what follows it in its paragraph is its definition."""
        if entering:
            self._inline.clear()
        else:
            self._is_term = self._is_row = True
            self.flush()
            self._is_term = False

    def _forget(self) -> None:
        self._inline.clear()
        self._links = self._linked = self._steps = 0

    def _note(self, start: int, text: str, linked: int, steps: int) -> None:
        if self._captions:
            self._builder.note(RegionKind.CAPTION, start)
        if steps >= _FEWEST_STEPS:
            self._builder.note(RegionKind.NAVIGATION, start)
        elif _is_linked(text, linked) and len(text) <= _LONGEST_LINK:
            self._builder.note_link()

    def _number(self, number: str) -> None:
        if self._mark:
            self._mark = f"{number} "
        else:
            self._inline.append(f"{number} ")

    def _visit_anchor(self, node: LexborNode, step: int) -> None:
        # Without an address it only marks a place, and may never be closed.
        if node.attributes.get("href"):
            self._in_link = max(0, self._in_link + step)
            self._links += step > 0
            self._steps += step > 0 and (node.attributes.get("rel") or "").lower() in _STEPS

    def _text(self, node: LexborNode) -> str:
        text = node.text_content or ""
        return text if self._preformatted else _SPACES.sub(" ", text)

    def _indent(self) -> str:
        return "  " * min(max(0, len(self._lists) - 1), _DEEPEST_INDENT)

    def _visit_in_heading(self, tag: str, *, entering: bool) -> None:
        if tag == self._heading and not entering:
            title = _SPACES.sub(" ", "".join(self._inline).replace(_BREAK, " "))
            is_menu = self._links >= _FEWEST_LINKS or _STEP.fullmatch(title.strip())
            if is_menu and _is_linked(title, self._linked):
                start = self._builder.length
                self._builder.paragraph(title.strip())
                self._builder.note(RegionKind.NAVIGATION, start)
            else:
                self._builder.heading(_HEADINGS[self._heading], title)
            self._forget()
            self._heading = ""
        elif tag in BLOCKS:
            self._inline.append(" ")

    def _visit_block(self, node: LexborNode, tag: str, *, entering: bool) -> None:
        self._count(node, tag, 1 if entering else -1)
        if tag in _HEADINGS:
            self._heading = tag if entering else ""
            self._mark = ""
        elif tag == "pre":
            self._preformatted = max(0, self._preformatted + (1 if entering else -1))
        elif tag in _LISTS:
            self._visit_list(node, tag, entering=entering)
        elif tag == "li":
            self._mark = self._next_mark(node) if entering else ""
        elif tag == "p" and self._run_in and not self._terms:
            self._is_row = False
            self._builder.part()
        elif tag in ("dt", "dd"):
            self._is_row = entering
            self._is_term = entering and tag == "dt" and not _is_entry(node)

    def _count(self, node: LexborNode, tag: str, step: int) -> None:
        if _is_caption(node):
            self._captions = max(0, self._captions + step)
        if tag == "dl":
            self._terms = max(0, self._terms + step)
            if not self._terms:
                self._builder.part()

    def _visit_list(self, node: LexborNode, tag: str, *, entering: bool) -> None:
        if not entering:
            if self._lists:
                self._lists.pop()
        elif tag == "ol":
            self._lists.append(_number(node, "start", 1))
        else:
            self._lists.append(None)
        if not self._lists:
            self._builder.part()

    def _next_mark(self, node: LexborNode) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        number = _number(node, "value", number)
        self._lists[-1] = number + 1
        parent = node.parent
        form = (parent.attributes.get("type") or "") if parent is not None else ""
        return f"{list_number(number, _FORMS.get(form, ''))}. "


def _is_linked(text: str, linked: int) -> bool:
    return linked >= _LINK_SHARE * len("".join(text.split()))


def _number(node: LexborNode, name: str, otherwise: int) -> int:
    value = node.attributes.get(name) or ""
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) else otherwise


def _run_in_terms(root: LexborNode) -> frozenset[int]:
    """The elements in bold that begin paragraphs as the terms which these define, if it is the
    page's way: *<p><b>Garden of Eden</b> A pattern that …*."""
    paragraphs, found = 0, set()
    for node, entering in walk(root, skip=is_silent):
        if entering and node.tag == "p" and not _is_in_entry(node):
            paragraphs += 1
            if term := _run_in_term(node):
                found.add(term.mem_id)
    is_way = len(found) >= max(_FEWEST_RUN_IN, _RUN_IN_SHARE * paragraphs)
    return frozenset(found) if is_way else frozenset()


def _is_in_entry(node: LexborNode) -> bool:
    return node.parent is not None and node.parent.tag == "li"


def _run_in_term(paragraph: LexborNode) -> LexborNode | None:
    node = paragraph.first_child
    while node is not None and node.tag not in _BOLD and _NO_WORD.fullmatch(_first_text(node)):
        node = node.next
    if node is None or node.tag not in _BOLD or node.next is None:
        return None
    term, after = _first_text(node).strip(), node.next
    is_term = len(term) <= LONGEST_TERM and not _NO_WORD.fullmatch(term)
    is_defined = after.is_text_node and _DEFINES.match(after.text_content or "")
    return node if is_term and is_defined else None


def _first_text(node: LexborNode) -> str:
    """The text of a node and of the first that are nested in it."""
    if node.is_text_node:
        return node.text_content or ""
    inner = (one for one, _ in islice(walk(node, skip=is_silent), _MOST_NODES))
    return "".join(one.text_content or "" for one in inner if one.is_text_node)


def _is_entry(term: LexborNode) -> bool:
    """Whether a term is the entry of a table of contents: a link without an explanation."""
    shown = linked = in_link = 0
    for node, entering in islice(walk(term, skip=is_silent), _MOST_NODES):
        if node.is_text_node:
            length = len((node.text_content or "").strip())
            shown, linked = shown + length, linked + length * bool(in_link)
        elif node.tag == "a" and node.attributes.get("href"):
            in_link += 1 if entering else -1
    if not linked or 2 * linked < shown:
        return False
    below = term.next
    while below is not None and below.is_text_node:
        below = below.next
    first = below.first_child if below is not None and below.tag == "dd" else None
    while first is not None and first.is_text_node and not (first.text_content or "").strip():
        first = first.next
    return first is None or first.tag == "dl"


def _is_unread(node: LexborNode) -> bool:
    return is_silent(node) or (node.tag == "a" and inline_text(node) in _PERMALINKS)


def _is_caption(node: LexborNode) -> bool:
    classes = (node.attributes.get("class") or "").split() if node.tag in ("div", "p") else ()
    return node.tag == "figcaption" or any(one.endswith("caption") for one in classes)
