"""What crosses the border: it comes back as it was, and nonsense does not come in."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers import refusals, wire
from ingestion.parsers.document import Heading, Limits, PageSpan, ParsedDocument, clean
from ingestion.parsers.wire import Request
from kb_project.text.regions import Region, RegionKind

CLEAN = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: clean(text)[0])
LINE = CLEAN.map(lambda text: " ".join(text.split())[:100])


@st.composite
def regions(draw, length):
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
    kinds = st.sampled_from(sorted(RegionKind))
    return [Region(draw(kinds), start, end) for start, end in pairwise(cuts)]


@st.composite
def documents(draw):
    text = draw(CLEAN)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pages = tuple(
        PageSpan(number, start, end)
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(text)], strict=True), 1)
    )
    headings = draw(
        st.lists(st.builds(Heading, st.integers(1, 6), LINE, st.integers(0, len(text))), max_size=4)
    )
    return ParsedDocument(
        text=text,
        title=draw(LINE),
        media_type="text/plain",
        pages=pages,
        headings=tuple(headings),
        regions=tuple(draw(regions(len(text)))),
        metadata=draw(st.dictionaries(LINE, LINE, max_size=3)),
        warnings=tuple(draw(st.lists(LINE, max_size=3))),
        parser="plain",
        encoding=draw(st.none() | st.just("utf-8")),
    )


@given(documents())
def test_a_document_comes_back_as_it_was(document):
    assert wire.document_from_bytes(wire.document_to_bytes(document)) == document


@given(st.text(), st.floats(0.001, 1000), st.lists(st.integers(), max_size=3))
def test_a_request_comes_back_as_it_was(name, seconds, arguments):
    request = Request("parse", name, Limits(seconds=seconds), tuple(arguments))

    assert Request.from_bytes(request.to_bytes()) == request


def test_a_refusal_comes_back_as_it_was():
    error = refusals.pdf_no_text("scan.pdf", pages=3)

    back = wire.refusal_from_bytes(wire.refusal_to_bytes(error))

    assert (back.code, back.sentence) == (error.code, error.sentence)


def test_a_refusal_cannot_carry_a_document():
    long = json.dumps(["word " * 1000, "code", "", ""]).encode()

    assert len(wire.refusal_from_bytes(long).happened) <= 500


@pytest.mark.parametrize("data", [b"", b"[]", b"[1, 2]", b"null", b"\xff", b'{"a": 1}', b'["a"'])
def test_nonsense_is_no_refusal(data):
    with pytest.raises((ValueError, TypeError)):
        wire.refusal_from_bytes(data)


@pytest.mark.parametrize(
    "data", [b"7", b"[1]", b'[["a", 0, 0, 0]]', b"[[0, 0, 0]]", b"[[0,0,0,null]]"]
)
def test_nonsense_is_no_box(data):
    with pytest.raises((ValueError, TypeError)):
        wire.boxes_from_bytes(data)


def test_boxes_come_back_as_they_were():
    assert wire.boxes_from_bytes(b"[[0, 0.25, 0.5, 1]]") == [(0.0, 0.25, 0.5, 1.0)]


@given(st.binary(max_size=200))
def test_no_bytes_are_taken_for_a_document(data):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        wire.document_from_bytes(data)
