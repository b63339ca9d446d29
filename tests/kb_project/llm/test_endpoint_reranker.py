from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import EndpointError, RefusedError, ReplyError
from kb_project.llm import policy
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.ports import Role
from kb_project.llm.rerankers import SHORTEST, EndpointReranker, scores_in
from tests.kb_project.llm.asking import quick
from tests.patience import PATIENCE
from tests.provider import KEY, Provider

QUESTION = "Who lit the lamp?"
TEXTS = ["Rain fell on the quay.", "Ada lit the lamp.", "The lamp was old."]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.fixture
def server() -> Iterator[Provider]:
    policy.breaker_of.cache_clear()
    with Provider() as running:
        yield running


def reranker_on(server: Provider, store: MemoryCallStore | None = None) -> EndpointReranker:
    return EndpointReranker(
        endpoint=server.url,
        key=KEY,
        model="cross-1",
        store=store or MemoryCallStore(),
        timeout=PATIENCE,
        retry=quick(),
    )


def test_scores_come_in_the_order_of_the_texts(server):
    ranking = reranker_on(server).rank(QUESTION, TEXTS)

    assert ranking.order() == [1, 2, 0]
    assert ranking.scores == (0.25, 0.75, 0.5)


def test_the_request_has_the_shape_that_cohere_and_jina_share(server):
    reranker_on(server).rank(QUESTION, TEXTS)

    [seen] = server.requests
    assert seen.body == {"model": "cross-1", "query": QUESTION, "documents": TEXTS, "top_n": 3}
    assert seen.key == KEY


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/", "/v1/rerank"])
def test_the_address_may_end_in_several_ways(server, ending):
    reranker = EndpointReranker(
        endpoint=server.root + ending, key="", model="m", store=MemoryCallStore(), retry=quick()
    )

    assert reranker.rank(QUESTION, TEXTS).order()[0] == 1


def test_no_texts_are_no_call(server):
    assert reranker_on(server).rank(QUESTION, []).scores == ()
    assert server.requests == []


def test_texts_are_sent_bounded_and_never_empty(server):
    reranker_on(server).rank("lamp\0", ["", "x" * 100_000, "a\0b"])

    [seen] = server.requests
    assert [len(text) for text in seen.body["documents"]] == [1, 4_000, 2]
    assert seen.body["query"] == "lamp"


# --- the ledger -----------------------------------------------------------------------------------
def test_a_call_stands_in_the_ledger_with_its_question_and_tokens(server):
    store, question_id = MemoryCallStore(), uuid.uuid4()

    reranker_on(server, store).rank(QUESTION, TEXTS, question_id=question_id)

    [(call_id, record)] = store.opened.items()
    assert (record.stage, record.role, record.model) == ("rerank", Role.JUDGE, "cross-1")
    assert record.question_id == question_id
    assert record.prompt_tokens_estimate > 0
    assert store.settled[call_id].prompt_tokens == 21
    assert "lamp" not in str(store.settled[call_id].reply)


def test_a_ranking_that_is_known_is_not_asked_for_again(server):
    store = MemoryCallStore()
    reranker = reranker_on(server, store)

    first, again = reranker.rank(QUESTION, TEXTS), reranker.rank(QUESTION, TEXTS)
    other = reranker.rank(QUESTION, TEXTS[:2])

    assert again.scores == first.scores
    assert (first.is_cached, again.is_cached, other.is_cached) == (False, True, False)
    assert server.count("rerank") == 2
    assert len(store.cached) == 1


def test_a_failed_call_is_settled_too(server):
    store = MemoryCallStore()
    server.script.next("401", kind="rerank")

    with pytest.raises(RefusedError):
        reranker_on(server, store).rank(QUESTION, TEXTS)

    assert [outcome.code for outcome in store.settled.values()] == ["key_refused"]
    assert store.replies == {}


# --- what servers do ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("401", RefusedError, "key_refused"),
        ("403", RefusedError, "key_refused"),
        ("404", RefusedError, "model_unknown"),
        ("quota", RefusedError, "no_credit"),
        ("429", EndpointError, "endpoint_busy"),
        ("500", EndpointError, "endpoint_down"),
        ("503", EndpointError, "endpoint_busy"),
        ("html", RefusedError, "endpoint_not_a_model"),
        ("not_json", EndpointError, "endpoint_down"),
        ("no_choices", ReplyError, "reply_invalid"),
        ("400", ReplyError, "request_refused"),
    ],
)
def test_every_refusal_has_its_error(server, fault, error, code):
    server.script.next(fault, times=20, kind="rerank")

    with pytest.raises(error) as caught:
        reranker_on(server).rank(QUESTION, TEXTS)

    if fault != "quota":
        assert caught.value.code == code
    assert KEY not in caught.value.sentence


@pytest.mark.parametrize("fault", ["429", "500", "503", "not_json"])
def test_a_moments_trouble_is_waited_out(server, fault):
    server.script.next(fault, kind="rerank")

    assert reranker_on(server).rank(QUESTION, TEXTS).order()[0] == 1
    assert server.count("rerank") == 2


def test_a_server_that_hangs_is_left_after_the_timeout(server):
    server.script.next("hang", times=9, kind="rerank")
    reranker = EndpointReranker(
        endpoint=server.url, key="", model="m", store=MemoryCallStore(), timeout=0.3, retry=quick()
    )
    started = time.monotonic()

    with pytest.raises(EndpointError) as caught:
        reranker.rank(QUESTION, TEXTS)

    assert caught.value.code == "endpoint_timeout"
    assert time.monotonic() - started < PATIENCE


def test_texts_too_long_for_the_model_are_halved(server):
    server.script.next("context", times=2, kind="rerank")

    reranker_on(server).rank(QUESTION, ["x" * 4_000, "lamp"])

    assert [len(seen.body["documents"][0]) for seen in server.requests] == [4_000, 2_000, 1_000]


def test_a_server_of_text_embeddings_inference_is_understood_in_groups(server):
    server.script.is_tei = True
    texts = [f"Nothing of it, number {number}." for number in range(70)]
    texts[50] = QUESTION
    reranker = reranker_on(server)

    assert reranker.rank(QUESTION, texts).order()[0] == 50
    assert [len(seen.body.get("texts", [])) for seen in server.requests] == [0, 32, 32, 6]
    reranker.rank(QUESTION, texts[:3])
    assert "texts" in server.requests[-1].body


def test_halving_ends(server):
    server.script.next("context", times=50, kind="rerank")

    with pytest.raises(ReplyError):
        reranker_on(server).rank(QUESTION, ["x" * 4_000])

    assert len(server.requests[-1].body["documents"][0]) <= SHORTEST


def test_after_several_failures_the_endpoint_is_left_alone(server):
    server.script.next("500", times=50, kind="rerank")
    reranker = reranker_on(server)
    for _ in range(4):
        with pytest.raises(EndpointError):
            reranker.rank(QUESTION, TEXTS)
    asked = server.count("rerank")

    with pytest.raises(EndpointError):
        reranker_on(server).rank(QUESTION, TEXTS)

    assert server.count("rerank") == asked


# --- scores ---------------------------------------------------------------------------------------
def rows_of(*pairs: tuple[object, object]) -> dict[str, object]:
    return {"results": [{"index": place, "relevance_score": score} for place, score in pairs]}


def test_other_servers_names_are_understood():
    said = {"data": [{"index": 0, "score": 0.1}, {"index": 1, "score": -3}]}

    assert scores_in(said, 2) == (0.1, -3.0)


def test_unknown_and_repeated_places_are_dropped():
    said = rows_of((0, 0.5), (0, 0.9), (9, 1.0), (-1, 1.0), ("1", 1.0), (True, 1.0), (None, 1.0))

    assert scores_in(said, 2) == (0.5, None)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None, "high", True, 10**400])
def test_what_is_no_number_is_no_score(bad):
    assert scores_in(rows_of((0, 1.0), (1, bad)), 2) == (1.0, None)


def test_too_few_scores_are_no_ranking():
    with pytest.raises(ReplyError):
        scores_in(rows_of((0, 1.0)), 3)


@given(JSON)
def test_whatever_a_server_says_there_are_scores_or_a_reply_error(said):
    with suppress(ReplyError):
        assert len(scores_in({"results": said}, 2)) == 2
