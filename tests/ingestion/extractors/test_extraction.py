from __future__ import annotations

import json

from ingestion.extractors.extraction import (
    LONGEST_WINDOW,
    STATED,
    TOGETHER,
    Extraction,
    FoundMention,
    FoundRelation,
    joined,
    windows,
)

EXTRACTION = Extraction(
    (
        FoundMention(0, 6, "Marley", "person", "ner"),
        FoundMention(11, 18, "Scrooge", "person", "ner"),
    ),
    (FoundRelation(0, 1, "was partner of", 0, 29, STATED, 1.0),),
)


def test_an_extraction_survives_json():
    assert Extraction.from_json(json.loads(json.dumps(EXTRACTION.as_json()))) == EXTRACTION


def test_shifting_moves_every_offset_and_no_index():
    moved = EXTRACTION.shifted(100)

    assert [(m.start, m.end) for m in moved.mentions] == [(100, 106), (111, 118)]
    assert (moved.relations[0].start, moved.relations[0].end) == (100, 129)
    assert (moved.relations[0].source, moved.relations[0].target) == (0, 1)


def test_an_empty_extraction_is_empty_json():
    assert Extraction().as_json() == {"mentions": [], "relations": []}


def test_a_chunk_is_one_window():
    assert list(windows("A chunk. Of text.")) == [(0, "A chunk. Of text.")]


def test_windows_end_with_sentences_and_cover_the_text():
    text = "This is a sentence of some length. " * 1_000

    pieces = list(windows(text))

    assert len(pieces) > 1
    assert all(len(piece) <= LONGEST_WINDOW for _, piece in pieces)
    assert all(text[offset : offset + len(piece)] == piece for offset, piece in pieces)
    assert all(piece.endswith(".") for _, piece in pieces)
    assert "".join("".join(piece.split()) for _, piece in pieces) == "".join(text.split())


def test_a_line_without_end_is_cut():
    pieces = list(windows("x" * 100_000))

    assert sum(len(piece) for _, piece in pieces) == 100_000
    assert all(len(piece) <= LONGEST_WINDOW for _, piece in pieces)


def test_blank_text_has_no_window_but_itself():
    assert list(windows("")) == [(0, "")]
    assert list(windows(" " * 20_000)) == []


def test_windows_are_joined_with_their_offsets_and_indices():
    part = Extraction(
        (FoundMention(0, 1, "A", "name", "x"), FoundMention(2, 3, "B", "name", "x")),
        (FoundRelation(0, 1, "", 0, 3, TOGETHER, 1.0),),
    )

    whole = joined([(0, part), (10, part)])

    assert [m.start for m in whole.mentions] == [0, 2, 10, 12]
    assert [(r.source, r.target, r.start) for r in whole.relations] == [(0, 1, 0), (2, 3, 10)]
