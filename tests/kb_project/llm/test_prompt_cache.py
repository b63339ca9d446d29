"""What is sent to providers that cache prompts, and what their answers say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kb_project.llm import openai_client
from kb_project.llm.capabilities import Support
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.openai_client import takes_marks
from kb_project.llm.ports import ChatRequest
from tests.kb_project.llm.asking import chat_on, request
from tests.provider import MODEL, REFUSALS, Provider


@pytest.fixture
def server():
    with Provider() as running:
        yield running


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2_000, "prompt_tokens_details": {"cached_tokens": 1_920}},
        {"prompt_tokens": 2_000, "prompt_cache_hit_tokens": 1_920, "prompt_cache_miss_tokens": 80},
        {"prompt_tokens": 80, "cache_read_input_tokens": 1_920, "cache_creation_input_tokens": 0},
        {"prompt_tokens": 2_000, "cache_read_input_tokens": 1_920},
        {"prompt_tokens": 2_000, "cached_content_token_count": 1_920},
        {"prompt_tokens": 2_000, "prompt_tokens_details": None, "cached_tokens": 1_920},
    ],
    ids=["OpenAI", "DeepSeek", "Anthropic", "a proxy to Anthropic", "Gemini", "Moonshot"],
)
def test_tokens_from_the_providers_cache_are_counted_in_every_form(server, usage):
    server.script.usage = usage
    store = MemoryCallStore()

    chat_on(server, store=store).ask(request())

    [outcome] = store.settled.values()
    assert (outcome.prompt_tokens, outcome.cached_tokens) == (2_000, 1_920)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 80, "cache_creation_input_tokens": 1_920},
        {"prompt_tokens": 2_000, "prompt_tokens_details": {"cache_write_tokens": 1_920}},
    ],
    ids=["Anthropic", "OpenRouter"],
)
def test_what_a_providers_cache_takes_up_is_part_of_the_prompt(server, usage):
    server.script.usage = usage
    store = MemoryCallStore()

    chat_on(server, store=store).ask(request())

    [outcome] = store.settled.values()
    assert (outcome.prompt_tokens, outcome.cached_tokens) == (2_000, 0)
    assert outcome.written_tokens == 1_920


@pytest.mark.parametrize("nonsense", [{"cached_tokens": -5}, {"cached_tokens": "many"}, [], "7"])
def test_nonsense_about_a_cache_counts_as_none(server, nonsense):
    server.script.usage = {"prompt_tokens": 100, "prompt_tokens_details": nonsense}
    store = MemoryCallStore()

    chat_on(server, store=store).ask(request())

    [outcome] = store.settled.values()
    assert (outcome.prompt_tokens, outcome.cached_tokens) == (100, 0)


def shared() -> ChatRequest[Any]:
    return replace(request("<document>A story.</document>One passage."), shared=(13, 29))


def test_where_the_provider_has_marks_shared_beginnings_are_marked(server, monkeypatch):
    monkeypatch.setattr(openai_client, "takes_marks", lambda endpoint, model: model == MODEL)

    chat_on(server).ask(shared())

    [seen] = server.requests
    mark = {"cache_control": {"type": "ephemeral"}}
    assert seen.body["messages"][1]["content"] == [
        {"type": "text", "text": "<document>A s"} | mark,
        {"type": "text", "text": "tory.</document>"} | mark,
        {"type": "text", "text": "One passage."},
    ]
    assert seen.text.endswith("<document>A story.</document>One passage.")


def test_elsewhere_nothing_is_marked(server):
    chat_on(server).ask(shared())

    assert server.requests[0].body["messages"][1]["content"].startswith("<document>")


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0.cache_control: Extra inputs are not permitted",
        "messages[1].content must be a string",
    ],
)
def test_marks_that_are_refused_are_left_out_from_then_on(server, monkeypatch, said):
    monkeypatch.setattr(openai_client, "takes_marks", lambda endpoint, model: True)
    monkeypatch.setitem(REFUSALS, "400", (400, said))
    server.script.next("400")
    store = MemoryCallStore()
    chat = chat_on(server, store=store)

    chat.ask(shared())
    chat.ask(replace(shared(), prompt=request("<document>A story.</document>Another.").prompt))

    contents = [type(seen.body["messages"][1]["content"]) for seen in server.requests]
    assert contents == [list, str, str]
    assert store.support == Support(cache_control=False)


@pytest.mark.parametrize(
    ("endpoint", "model", "has_marks"),
    [
        ("https://api.anthropic.com/v1", "claude-sonnet-4-5", True),
        ("https://openrouter.ai/api/v1", "anthropic/claude-haiku-4.5", True),
        ("https://openrouter.ai/api/v1", "openai/gpt-4o-mini", False),
        ("https://api.openai.com/v1", "gpt-4o-mini", False),
        ("https://anthropic.com.example.org/v1", "claude-sonnet-4-5", False),
        ("not an address", "anthropic/claude", False),
    ],
)
def test_marks_are_sent_only_to_providers_that_have_them(endpoint, model, has_marks):
    assert takes_marks(endpoint, model) is has_marks
