from __future__ import annotations

from ingestion.extractors.found import TOGETHER, Extraction, FoundMention, FoundRelation
from ingestion.extractors.windows import LONGEST_WINDOW, joined, windows


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
