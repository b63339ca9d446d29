from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from kb_project.text.sentences import LONGEST_SENTENCE, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Mr. Scrooge met Dr. Marley in St. Mary's Church.",
        "J. R. R. Tolkien wrote it.",
        "It rose by 3.5 percent to No. 5 on the list.",
        "She works for Acme Inc. in Boston.",
        "The U.S. Army left at 6 p.m. sharp.",
        "He asked “Why?” and left.",
        "See e.g. Smith et al. (2004) for details.",
        "Wait... what happened then?",
        "A line that is\nwrapped by hand.",
    ],
)
def test_one_sentence_stays_whole(sentence):
    assert sentences(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ended. Then it began.", ["It ended.", "Then it began."]),
        ("The answer is no. He left.", ["The answer is no.", "He left."]),
        ("He joined Acme Inc. The firm grew.", ["He joined Acme Inc.", "The firm grew."]),
        ("“Stop!” She ran.", ["“Stop!”", "She ran."]),
        ("他走了。为什么？“不知道。”", ["他走了。", "为什么？", "“不知道。”"]),
        ("# Heading\n\nText here", ["# Heading", "Text here"]),
        ("Things:\n- one\n- two", ["Things:", "- one", "- two"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("a = 1;\nb = 2;", ["a = 1;", "b = 2;"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, expected):
    assert sentences(text) == expected


def test_a_stretch_without_a_full_stop_is_cut_at_spaces():
    found = sentences("word " * 2_000)

    assert all(len(piece) <= LONGEST_SENTENCE for piece in found)
    assert all(piece.endswith("word") for piece in found)


@given(st.text(alphabet="aB. !?\n。“”1;", max_size=200))
def test_spans_are_ordered_trimmed_and_lose_nothing_but_white_space(text):
    spans = sentence_spans(text)

    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize("unit", ["a", " ", "\n ", ". ", "。", '."', "Mr. ", "; "])
def test_one_huge_line_takes_linear_time(unit):
    started = time.perf_counter()

    sentence_spans(unit * (1_000_000 // len(unit)))

    assert time.perf_counter() - started < 10
