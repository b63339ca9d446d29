from __future__ import annotations

import numpy as np
import pytest

from kb_project.errors import EndpointError, RefusedError
from kb_project.llm.endpoint_embedder import BATCH, LONGEST_FINGERPRINT, EndpointEmbedder
from tests.kb_project.llm.asking import quick
from tests.provider import EMBEDDING_MODEL, KEY, Provider


@pytest.fixture
def server():
    with Provider() as running:
        yield running


def embedder_on(server: Provider, dimension: int = 0) -> EndpointEmbedder:
    return EndpointEmbedder(
        endpoint=server.url,
        key=KEY,
        model=EMBEDDING_MODEL,
        dimension=dimension,
        retry=quick(),
    )


def test_vectors_come_in_the_order_of_the_texts_and_of_length_one(server):
    embedder = embedder_on(server)

    vectors = embedder.embed_passages(["a ghost", "eggs and flour", "a ghost"])

    assert vectors.shape == (3, 32)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[0], vectors[2])
    assert np.allclose(vectors[1], embedder.embed_question("eggs and flour"))


def test_the_dimension_is_found_out_by_one_call(server):
    embedder = embedder_on(server)

    assert (embedder.dimension, embedder.dimension) == (32, 32)
    assert server.count("embeddings") == 1
    assert embedder.fingerprint.endswith(f"+{EMBEDDING_MODEL}/32")


def test_a_long_fingerprint_is_cut_to_its_column_and_stays_one_of_a_kind(server):
    names = ("x" * 200, "x" * 199 + "y")
    prints = {
        EndpointEmbedder(endpoint=server.url, key="", model=name, dimension=3).fingerprint
        for name in names
    }

    assert len(prints) == 2
    assert {len(found) for found in prints} == {LONGEST_FINGERPRINT}


def test_many_texts_go_in_batches(server):
    vectors = embedder_on(server, 32).embed_passages([f"text {i}" for i in range(BATCH + 1)])

    assert len(vectors) == BATCH + 1
    assert [len(seen.body["input"]) for seen in server.requests] == [BATCH, 1]


def test_no_texts_are_no_call(server):
    assert embedder_on(server, 32).embed_passages([]).shape == (0, 32)
    assert server.requests == []


def test_an_empty_text_has_a_vector_too(server):
    vectors = embedder_on(server, 32).embed_passages(["", " \n", "\0"])

    assert np.isfinite(vectors).all()
    assert all(server.requests[0].body["input"])


def test_a_changed_dimension_is_refused(server):
    embedder = embedder_on(server)
    embedder.embed_question("before")
    server.script.dimension = 48

    with pytest.raises(RefusedError) as raised:
        embedder.embed_question("after")

    assert raised.value.code == "dimension_changed"
    assert "48" in raised.value.sentence


def test_what_passes_is_tried_again(server):
    server.script.next("429", kind="embeddings")
    server.script.next("500", kind="embeddings")

    assert embedder_on(server, 32).embed_question("a ghost").shape == (32,)


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("401", RefusedError, "key_refused"),
        ("404", RefusedError, "model_unknown"),
        ("html", RefusedError, "endpoint_not_a_model"),
        ("no_choices", RefusedError, "endpoint_not_a_model"),
        ("400", RefusedError, "request_refused"),
        ("500", EndpointError, "endpoint_down"),
    ],
)
def test_what_does_not_pass_pauses_the_work(server, fault, error, code):
    server.script.next(fault, times=20, kind="embeddings")

    with pytest.raises(error) as raised:
        embedder_on(server, 32).embed_question("Marley was dead")

    assert raised.value.code == code
    assert "Marley" not in raised.value.sentence


def test_a_text_too_long_for_the_model_is_cut_until_it_fits(server):
    server.script.next("context", times=2, kind="embeddings")

    assert embedder_on(server, 32).embed_question("word " * 4_000).shape == (32,)
    lengths = [len(seen.body["input"][0]) for seen in server.requests]
    assert lengths[0] > lengths[1] > lengths[2]


def test_a_model_that_reads_nothing_is_refused(server):
    server.script.next("context", times=50, kind="embeddings")

    with pytest.raises(RefusedError) as raised:
        embedder_on(server, 32).embed_question("word")

    assert raised.value.code == "context_too_long"
