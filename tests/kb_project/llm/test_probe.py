from __future__ import annotations

import time

import pytest

from kb_project.llm.capabilities import Support
from kb_project.llm.config import ChatConfig
from kb_project.llm.probe import ProbeResult, probe
from tests.patience import NEVER, PATIENCE
from tests.provider import EMBEDDING_MODEL, KEY, MODEL, Provider


@pytest.fixture
def server():
    with Provider() as running:
        yield running


def probed(server: Provider, **options) -> ProbeResult:
    return probe(ChatConfig(server.url, MODEL, key=KEY), **options)


def good(result: ProbeResult) -> dict[str, bool]:
    return {check.name: check.ok for check in result.checks}


def test_an_endpoint_that_can_do_everything(server):
    result = probed(server, embedding_model=EMBEDDING_MODEL)

    assert result.ok
    assert all(good(result).values())
    assert list(good(result)) == ["models", "chat", "json", "schema", "stream", "embeddings"]
    assert result.models == (EMBEDDING_MODEL, MODEL)
    assert result.dimension == 32
    assert result.support == Support()
    assert server.counts() == {"models": 1, "chat": 4, "embeddings": 1}


def test_without_an_embedding_model_none_is_tried(server):
    assert "embeddings" not in good(probed(server))


def test_what_the_server_does_not_support_is_found_out(server):
    server.script.refused = {"json_schema"}

    result = probed(server)

    assert good(result) == {
        "models": True,
        "chat": True,
        "json": True,
        "schema": False,
        "stream": True,
    }
    assert result.support == Support(schema=False)


def test_a_server_that_ignores_the_form_does_not_support_it(server):
    server.script.on("colour", "Blue, of course.")

    result = probed(server)

    assert result.ok
    assert not result.support.json
    assert not result.support.schema


@pytest.mark.parametrize("tokens", [600, 1_500, 4_000])
def test_a_model_that_reasons_first_loses_no_feature(server, tokens):
    server.script.thinks = tokens

    result = probed(server)

    assert result.ok
    assert result.support == Support()


def test_a_cut_stream_is_no_stream(server):
    server.script.forget()
    for _ in range(3):
        server.script.next("fine")
    server.script.next("cut")

    result = probed(server)

    assert good(result)["chat"]
    assert not good(result)["stream"]


def test_a_refused_key_is_said_once_and_the_rest_not_tried(server):
    server.script.key = "another"

    result = probed(server, embedding_model=EMBEDDING_MODEL)

    assert not result.ok
    assert "key" in result.checks[1].sentence
    assert result.checks[2].sentence.startswith("Not tried")
    assert server.counts() == {"models": 1, "chat": 1, "embeddings": 1}
    assert result.support == Support()


def test_a_server_that_lists_no_models_may_still_answer(server):
    server.script.next("html", kind="models")

    result = probed(server)

    assert good(result)["chat"]
    assert not good(result)["models"]


@pytest.mark.parametrize("fault", ["html", "404", "500", "429", "no_choices", "empty", "context"])
def test_no_failure_raises(server, fault):
    server.script.next(fault, times=50)

    result = probed(server)

    assert not result.ok
    assert all(check.sentence for check in result.checks)
    assert not any(KEY in check.sentence for check in result.checks)


def test_a_hanging_server_takes_no_longer_than_the_deadline(server, monkeypatch):
    monkeypatch.setattr("kb_project.llm.probe.LONGEST_CALL", NEVER)
    for kind in ("models", "chat"):
        server.script.next("hang", times=20, kind=kind)
    started = time.monotonic()

    result = probed(server, deadline=1.0)

    assert not result.ok
    assert time.monotonic() - started < PATIENCE


@pytest.mark.parametrize("endpoint", ["", "nowhere", "http://127.0.0.1:1", "ftp://x", "http://"])
def test_any_address_has_its_sentence(endpoint):
    assert not probe(ChatConfig(endpoint, "m")).ok
