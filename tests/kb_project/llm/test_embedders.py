"""Which embedder a name gives, what every embedder promises, and cutting by tokens."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_project.errors import EndpointError, InputError, RefusedError
from kb_project.llm import embedders, tokens
from kb_project.llm.embedders import (
    BATCH,
    LONGEST_FINGERPRINT,
    LONGEST_PASSAGE,
    EndpointEmbedder,
    LocalEmbedder,
)
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import embedder_named
from tests.kb_project.llm.asking import quick
from tests.provider import EMBEDDING_MODEL, KEY, Provider


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
    assert str(embedders.DIMENSION) in LocalEmbedder.fingerprint


@given(st.lists(st.text(max_size=40), max_size=5))
def test_every_vector_has_length_one_and_its_texts_place(texts: list[str]):
    embedder = FakeEmbedder(16)

    vectors = embedder.embed_passages(texts)

    assert vectors.shape == (len(texts), 16)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(vector, embedder.embed_question(text))


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
    code = "import kb_project.llm.embedders as m; m.LocalEmbedder(); print(m._e5.cache_info())"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "currsize=0" in done.stdout


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

    assert embedder_on(server, 32).embed_passages(["word " * 4_000]).shape == (1, 32)
    lengths = [len(seen.body["input"][0]) for seen in server.requests]
    assert lengths[0] > lengths[1] > lengths[2]


def test_a_model_that_reads_nothing_is_refused(server):
    server.script.next("context", times=50, kind="embeddings")

    with pytest.raises(RefusedError) as raised:
        embedder_on(server, 32).embed_question("word")

    assert raised.value.code == "context_too_long"


# --- texts that cost too much ---------------------------------------------------------------------
MARKS = ("a.", "1,", "[(", "xx", "a ", "灯塔", "éé")
HOSTILE = [marks * 2_000 for marks in MARKS]


@pytest.fixture
def read(embedder, monkeypatch):
    """How many tokens of each window were given to the model."""
    model = embedders.built_in(0)
    read: list[int] = []

    def noted(windows):
        read.extend(map(len, windows))
        return np.ones((len(windows), embedders.DIMENSION), np.float32)

    monkeypatch.setattr(model, "_means", noted)
    return read


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:2])
def test_a_question_is_embedded_as_far_as_the_model_reads(embedder, read, text):
    embedder.embed_question(text)

    assert read == [embedders.QUESTION_TOKENS - 2]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:2])
def test_a_passage_of_marks_costs_no_more_than_a_long_one(embedder, read, text):
    embedder.embed_passages([text * 5])

    assert sum(read) == embedders.PASSAGE_TOKENS - 2


def test_only_the_beginning_of_an_endless_line_is_divided(embedder, read, monkeypatch):
    tokenizer, given = embedders.built_in(0).tokenizer, []
    monkeypatch.setattr(tokenizer, "tokens", lambda text: given.append(text) or [])

    embedder.embed_passages(["x" * (LONGEST_PASSAGE + 1)])
    embedder.embed_question("x" * (LONGEST_PASSAGE + 1))

    assert [text.count("x") for text in given] == [LONGEST_PASSAGE, LONGEST_PASSAGE]


def test_a_chunk_of_ordinary_text_is_read_whole(embedder, read):
    embedder.embed_passages(["word " * 900])

    assert sorted(read) == [393, 510]


def test_an_endpoint_is_sent_no_more_of_a_question(server):
    embedder_on(server, 32).embed_question("a." * 2_000)

    [sent] = server.requests[-1].body["input"]
    assert tokens.count_tokens(sent) <= embedders.QUESTION_TOKENS
