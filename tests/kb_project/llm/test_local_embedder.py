from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kb_project.llm.local_embedder import LocalEmbedder


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def test_vectors_have_the_promised_shape_and_length_one(embedder):
    vectors = embedder.embed_passages(["Marley was dead.", "朱元璋是皇帝。"])

    assert vectors.shape == (2, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_a_question_is_nearest_to_the_passage_that_answers_it(embedder):
    passages = embedder.embed_passages(
        ["Marley was Scrooge's business partner.", "The recipe needs two eggs and flour."]
    )
    question = embedder.embed_question("Who worked together with Scrooge?")

    assert question.shape == (embedder.dimension,)
    assert np.argmax(passages @ question) == 0


def test_one_passage_is_embedded_as_in_a_batch(embedder):
    together = embedder.embed_passages(["one", "two two two"])

    assert np.allclose(embedder.embed_passages(["one"])[0], together[0], atol=1e-3)


def test_no_passages_give_no_vectors(embedder):
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "x" * 30_000])
def test_strange_text_still_gives_a_vector(embedder, text):
    assert np.isfinite(embedder.embed_passages([text])).all()


def test_text_after_a_nul_byte_is_read(embedder):
    assert not np.allclose(
        embedder.embed_question("cat\0dog"), embedder.embed_question("cat"), atol=1e-3
    )


def test_importing_the_module_loads_no_model():
    code = "import kb_project.llm.local_embedder as m; print(m.LocalEmbedder()._loaded)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "None"
