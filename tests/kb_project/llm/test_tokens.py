from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.tokens import count_tokens, token_starts, truncate_tokens


def test_tokens_are_counted_as_chat_models_do():
    assert count_tokens("hello world") == 2
    assert count_tokens("") == 0


def test_what_looks_like_a_special_token_is_text():
    assert count_tokens("<|endoftext|>") > 1


def test_a_window_of_tokens_is_a_slice_of_the_text():
    text = "Marley was dead: to begin with."
    starts = token_starts(text)

    assert starts[0] == 0
    assert text[starts[2] : starts[4]] == text[len("Mar" + "ley") :][: starts[4] - starts[2]]
    assert len(starts) == count_tokens(text)


@given(st.text(max_size=300))
def test_starts_ascend_inside_the_text(text):
    starts = token_starts(text).tolist()

    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)
    assert len(starts) == count_tokens(text)


@pytest.mark.parametrize("text", ["word " * 500, "元璋" * 500, "😀" * 300])
def test_truncation_keeps_whole_characters_and_the_limit(text):
    short = truncate_tokens(text, 100)

    assert text.startswith(short)
    assert 0 < count_tokens(short) <= 100


def test_a_short_text_is_not_truncated():
    assert truncate_tokens("hello world", 2) == "hello world"


def test_a_huge_word_is_counted_piece_by_piece():
    assert count_tokens("a" * 1_000_000) >= 100_000
