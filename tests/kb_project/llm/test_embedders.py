"""Which embedder a name gives, what every embedder promises, and cutting by tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.llm import local_embedder, tokens
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.local_embedder import LONGEST_PASSAGE, LocalEmbedder
from kb_project.ports import embedder_named


def test_a_setting_names_an_embedder():
    assert isinstance(embedder_named("fake"), FakeEmbedder)
    assert embedder_named("local", threads=1).fingerprint == LocalEmbedder.fingerprint


@pytest.mark.parametrize("name", ["", "Local", "openai", "fake "])
def test_any_other_name_says_what_to_write_instead(name: str):
    with pytest.raises(InputError) as caught:
        embedder_named(name)

    assert f"'{name}'" in str(caught.value)
    assert "'local' or 'fake'" in str(caught.value.next_step)


def test_vectors_of_two_embedders_are_never_taken_for_each_other():
    prints = {embedder_named("local").fingerprint, FakeEmbedder(384).fingerprint}

    assert len(prints) == 2
    assert str(local_embedder.DIMENSION) in LocalEmbedder.fingerprint


@given(st.lists(st.text(max_size=40), max_size=5))
def test_every_vector_has_length_one_and_its_texts_place(texts: list[str]):
    embedder = FakeEmbedder(16)

    vectors = embedder.embed_passages(texts)

    assert vectors.shape == (len(texts), 16)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(vector, embedder.embed_question(text))


@given(st.text())
def test_what_the_engine_reads_is_short_and_plain(text: str):
    readable = local_embedder._readable(text + "\0")

    assert "\0" not in readable
    assert len(readable) == min(len(text) + 1, LONGEST_PASSAGE)
    assert readable.encode()


def test_only_the_beginning_of_an_endless_line_is_read():
    assert len(local_embedder._readable("x" * (LONGEST_PASSAGE + 1))) == LONGEST_PASSAGE


# --- tokens ---------------------------------------------------------------------------------------
TEXTS = st.text(alphabet="ab 朱😀é\n", max_size=200)


@given(TEXTS, st.integers(0, 60))
def test_a_cut_text_is_a_beginning_within_the_limit(text: str, limit: int):
    short = tokens.truncate_tokens(text, limit)

    assert text.startswith(short)
    assert short == text or tokens.count_tokens(text) > limit
    assert (tokens.token_starts(text) < len(short)).sum() <= limit
    assert len(short) <= len(tokens.truncate_tokens(text, limit + 1))


@given(TEXTS, st.integers(1, 20))
def test_windows_of_tokens_put_together_are_the_text(text: str, size: int):
    starts = [*tokens.token_starts(text).tolist()[::size], len(text)]

    assert "".join(text[a:b] for a, b in pairwise(starts)) == text


@pytest.mark.parametrize("text", ["word " * 30_000, "x" * 120_000, "a" * 50_000 + " b"])
def test_a_huge_text_is_cut_into_pieces_that_lose_nothing(text: str):
    pieces = list(tokens._pieces(text))

    assert "".join(text[a:b] for a, b in pieces) == text
    assert all(0 < b - a <= tokens._PIECE for a, b in pieces)
    assert tokens.token_starts(text).tolist() == sorted(tokens.token_starts(text).tolist())


def test_a_limit_may_fall_into_a_later_piece():
    text = "word " * 12_000
    limit = tokens.count_tokens(text[:55_000])

    short = tokens.truncate_tokens(text, limit)

    assert tokens._PIECE < len(short) < len(text)
    assert abs(tokens.count_tokens(short) - limit) <= 1
