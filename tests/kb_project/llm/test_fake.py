from __future__ import annotations

import numpy as np

from kb_project.llm.fake import FakeEmbedder


def test_texts_that_share_words_are_alike():
    embedder = FakeEmbedder()
    passages = embedder.embed_passages(["Marley was a partner", "eggs and flour"])

    scores = passages @ embedder.embed_question("whose partner was Marley")

    assert scores[0] > scores[1]


def test_the_same_text_gives_the_same_vector_of_length_one():
    first, second = FakeEmbedder(32), FakeEmbedder(32)

    assert np.array_equal(first.embed_question("a ghost"), second.embed_passages(["a ghost"])[0])
    assert np.isclose(np.linalg.norm(first.embed_question("a ghost")), 1)


def test_a_text_without_words_has_a_vector_too():
    assert np.isclose(np.linalg.norm(FakeEmbedder().embed_question("")), 1)


def test_no_passages_give_no_vectors():
    assert FakeEmbedder().embed_passages([]).shape == (0, 64)


def test_dimensions_are_told_apart_by_the_fingerprint():
    assert FakeEmbedder(32).fingerprint != FakeEmbedder(64).fingerprint
