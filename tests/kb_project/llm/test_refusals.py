"""Refusals as real servers word them; ``refusals.json`` has whole replies of providers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import EndpointError, ModelError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.provider import UnsupportedError
from kb_project.llm.refusals import from_status, read

NOTHING = Support.from_dict(dict.fromkeys(Support().as_dict(), False))


def code(status: int, said: str, used: Support = NOTHING) -> str:
    found = from_status(status, said, host="models.example", used=used)
    return found.feature if isinstance(found, UnsupportedError) else found.code


REPLIES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "refusals.json").read_text("utf-8")
)


@pytest.mark.parametrize("reply", REPLIES, ids=[reply["of"] for reply in REPLIES])
def test_a_reply_of_a_provider_has_its_meaning(reply):
    names = reply.get("used", Support().as_dict())
    used = Support.from_dict(NOTHING.as_dict() | dict.fromkeys(names, True))

    assert code(reply["status"], json.dumps(reply["body"]), used) == reply["means"]


@pytest.mark.parametrize(
    "reply", [reply for reply in REPLIES if "wait" in reply], ids=lambda reply: reply["of"]
)
def test_a_wait_is_read_from_the_body_where_no_header_has_it(reply):
    assert read(reply["status"], json.dumps(reply["body"])).wait == pytest.approx(reply["wait"])
    assert read(reply["status"], json.dumps(reply["body"]), 7.0).wait == 7.0


def test_a_page_of_a_firewall_is_no_refused_key():
    assert code(403, "<!doctype html><title>Attention Required!</title>") == "endpoint_not_a_model"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000"),
        (400, '{"code": "context_length_exceeded"}'),
        (400, "the request exceeds the available context size, try increasing it"),
        (500, "input length exceeds the context length"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (
            400,
            "The input token count exceeds the maximum number of tokens allowed, prompt too large",
        ),
        (422, "Input validation error: inputs must have less than 4096; reduce the length"),
        (413, ""),
        (400, "Too many tokens: total tokens exceed the limit"),
    ],
)
def test_a_text_too_long_is_known_in_many_wordings(status, said):
    assert code(status, said, Support()) == "context_too_long"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "The model `gpt-9` does not exist or you do not have access to it."),
        (404, 'model "llama9" not found, try pulling it first'),
        (400, "gpt-9 is not a valid model ID"),
        (400, "Invalid model name passed in model=gpt-9"),
        (404, '{"code":"model_not_found"}'),
    ],
)
def test_an_unknown_model_is_known_in_many_wordings(status, said):
    assert code(status, said) == "model_unknown"


@pytest.mark.parametrize(
    ("said", "feature"),
    [
        ("'response_format' of type 'json_schema' is not supported with this model", "schema"),
        ("failed to parse grammar", "schema"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead", "old_limit"),
        ("'temperature' does not support 0 with this model", "temperature"),
        ("property 'seed' is unsupported", "seed"),
        ("Unrecognized request argument: stream_options", "usage"),
        ("streaming is not available for this model", "stream"),
    ],
)
def test_a_refused_feature_is_named(said, feature):
    assert code(400, said, Support()) == feature


def test_a_feature_that_was_not_used_is_not_to_blame():
    without = Support().without(Feature.SCHEMA)

    assert code(400, "response_format is not supported", without) == "json"
    assert code(400, "response_format is not supported", NOTHING) == "request_refused"


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (401, "", "key_refused"),
        (403, "", "key_refused"),
        (402, "", "credit_spent"),
        (429, "insufficient_quota", "credit_spent"),
        (429, "", "endpoint_busy"),
        (408, "", "endpoint_timeout"),
        (502, "", "endpoint_down"),
        (301, "", "endpoint_not_a_model"),
        (404, "<html>", "endpoint_not_a_model"),
        (405, "", "endpoint_not_a_model"),
        (501, "", "endpoint_not_a_model"),
        (400, "content_filter", "reply_refused"),
    ],
)
def test_each_status_has_its_meaning(status, said, expected):
    assert code(status, said) == expected


def test_the_servers_wish_to_wait_is_kept():
    error = from_status(429, "", host="x", used=NOTHING, retry_after=7)

    assert isinstance(error, EndpointError)
    assert error.retry_after == 7


@given(st.integers(300, 599), st.text(min_size=12, max_size=60))
def test_what_the_server_wrote_is_never_passed_on(status, said):
    error = from_status(status, said, host="models.example", used=NOTHING)

    assert isinstance(error, ModelError)
    assert said not in error.sentence
