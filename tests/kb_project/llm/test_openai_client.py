"""The adapter against a real HTTP server."""

from __future__ import annotations

import time

import pytest
from pydantic import BaseModel

from kb_project.errors import EndpointError, KBError, RefusedError, ReplyError
from kb_project.llm.capabilities import Support
from kb_project.llm.chat import build_chat
from kb_project.llm.config import ChatConfig
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.http import bases_of
from kb_project.llm.ports import ChatReply, Role, Turn
from kb_project.llm.slots import LocalSlots
from tests.kb_project.llm.asking import Names, chat_on, request
from tests.patience import PATIENCE
from tests.provider import INJECTED, KEY, MODEL, REFUSALS, Provider


@pytest.fixture
def server():
    with Provider() as running:
        yield running


def test_a_question_gets_its_answer(server):
    server.script.on("Ada", {"names": ["Ada"]})

    reply = chat_on(server).ask(request())

    assert reply.value == Names(names=["Ada"])
    assert reply.prompt_tokens == server.requests[0].text.__len__() // 4
    [seen] = server.requests
    assert (seen.key, seen.body["model"], seen.body["temperature"]) == (KEY, MODEL, 0)
    assert seen.form == "json_schema"


def test_a_conversation_goes_over_the_line_in_order(server):
    turns = (Turn("assistant", "{}"), Turn("user", "And more?"))

    chat_on(server).ask(request(turns=turns))

    said = server.requests[0].body["messages"]
    assert [turn["role"] for turn in said] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("fault", ["429", "500", "503", "cut"])
def test_what_passes_is_tried_again(server, fault):
    server.script.next(fault, times=2)

    assert isinstance(chat_on(server).ask(request()), ChatReply)
    assert server.count() == 3


@pytest.mark.parametrize(
    ("fault", "code", "calls"),
    # The last one is of a few tokens: is it the endpoint, or this call alone?
    [("429", "endpoint_busy", 4), ("500", "endpoint_down", 5), ("cut", "endpoint_down", 5)],
)
def test_what_does_not_pass_pauses_the_work(server, fault, code, calls):
    server.script.next(fault, times=20)

    with pytest.raises(EndpointError) as raised:
        chat_on(server).ask(request())

    assert raised.value.code == code
    assert server.count() == calls


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("401", RefusedError, "key_refused"),
        ("403", RefusedError, "key_refused"),
        ("404", RefusedError, "model_unknown"),
        ("quota", RefusedError, "credit_spent"),
        ("html", RefusedError, "endpoint_not_a_model"),
        ("no_choices", RefusedError, "endpoint_not_a_model"),
        ("context", ReplyError, "context_too_long"),
        ("filtered", ReplyError, "reply_refused"),
        ("400", ReplyError, "request_refused"),
        ("truncated", ReplyError, "reply_truncated"),
        ("huge", ReplyError, "reply_invalid"),
        ("empty", ReplyError, "reply_empty"),
        ("thinking", ReplyError, "reply_empty"),
    ],
)
def test_each_failure_has_its_name_and_is_asked_about_once(server, fault, error, code):
    store = MemoryCallStore()
    server.script.next(fault, times=5)

    with pytest.raises(error) as raised:
        chat_on(server, store=store).ask(request("The secret of Marley."))

    assert raised.value.code == code
    assert server.count() == 1
    assert store.replies == {}
    assert "Marley" not in raised.value.sentence
    assert KEY not in raised.value.sentence


@pytest.mark.parametrize("fault", ["invalid", "schema", "nested", "injection"])
def test_nonsense_is_asked_about_twice_and_never_kept(server, fault):
    store = MemoryCallStore()
    server.script.next(fault, times=2)

    with pytest.raises(ReplyError) as raised:
        chat_on(server, store=store).ask(request())

    assert raised.value.code == "reply_invalid"
    assert INJECTED not in raised.value.sentence
    assert server.count() == 2
    assert store.replies == {}


def test_markdown_fences_do_not_matter(server):
    server.script.next("fenced")

    assert chat_on(server).ask(request()).value == Names(names=[])
    assert server.count() == 1


def test_a_server_that_hangs_is_not_waited_for_longer_than_the_timeout(server):
    server.script.next("hang", times=9)
    started = time.monotonic()

    with pytest.raises(EndpointError) as raised:
        chat_on(server, timeout=0.3).ask(request())

    assert raised.value.code == "endpoint_timeout"
    assert time.monotonic() - started < PATIENCE


def test_a_stream_that_drips_is_not_waited_for_longer_than_the_timeout(server):
    server.script.next("drip", times=9)
    server.script.on("Ada", "word " * 10_000)

    with pytest.raises(ReplyError) as raised:
        list(chat_on(server, timeout=2.0).stream(request(schema=None)))

    assert raised.value.code == "reply_truncated"


def test_a_server_without_schemas_is_asked_in_json_and_this_is_remembered(server):
    server.script.refused = {"json_schema"}
    store = MemoryCallStore()
    chat = chat_on(server, store=store)

    chat.ask(request("One."))
    chat.ask(request("Two."))

    assert [seen.form for seen in server.requests] == ["json_schema", "json_object", "json_object"]
    assert "JSON schema" in server.requests[1].text
    assert store.support == Support(schema=False)


def test_a_server_without_any_form_is_asked_in_words(server):
    server.script.refused = {"json_schema", "json_object"}
    store = MemoryCallStore()

    assert chat_on(server, store=store).ask(request()).value == Names(names=[])
    assert server.requests[-1].form == ""
    assert store.support == Support(schema=False, json=False)


@pytest.mark.parametrize(
    ("said", "sent", "left_out"),
    [
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
            "max_tokens",
        ),
        ("Unsupported value: 'temperature' does not support 0.", "max_tokens", "temperature"),
        ("Unrecognized request argument supplied: seed", "temperature", "seed"),
    ],
)
def test_parameters_that_a_model_refuses_are_left_out(server, monkeypatch, said, sent, left_out):
    monkeypatch.setitem(REFUSALS, "400", (400, said))
    server.script.next("400")

    chat_on(server).ask(request())

    assert left_out in server.requests[0].body
    assert left_out not in server.requests[1].body
    assert sent in server.requests[1].body


def test_a_free_object_is_not_sent_as_strict(server):
    class Free(BaseModel):
        values: dict[str, int]

    chat_on(server).ask(request(schema=Free))

    assert server.requests[0].body["response_format"]["json_schema"]["strict"] is False


def test_tokens_are_counted_here_where_the_server_does_not_count(server):
    server.script.reports_usage = False

    reply = chat_on(server).ask(request("word " * 100))

    assert 100 < reply.prompt_tokens < 200
    assert reply.completion_tokens > 0


def test_the_address_may_lack_its_version(server):
    config = ChatConfig(server.root, MODEL, key=KEY)
    chat = build_chat(config, MemoryCallStore(), slots=LocalSlots(2))

    chat.ask(request("One."))
    chat.ask(request("Two."))

    assert server.count() == 2


@pytest.mark.parametrize(
    "endpoint", ["http://x:1/v1", "http://x:1/v1/", " http://x:1/v1/chat/completions"]
)
def test_an_address_is_taken_in_any_of_its_forms(endpoint):
    assert bases_of(endpoint) == ("http://x:1/v1",)


@pytest.mark.parametrize(
    ("endpoint", "key", "code"),
    [
        ("nowhere", "k", "endpoint_not_a_model"),
        ("ftp://example.org", "k", "endpoint_not_a_model"),
        ("http://127.0.0.1:9", "ключ", "key_refused"),
        ("http://127.0.0.1:9", "a\nb", "key_refused"),
    ],
)
def test_what_cannot_be_an_endpoint_is_said_so(endpoint, key, code):
    chat = build_chat(ChatConfig(endpoint, "m", key=key), MemoryCallStore(), slots=LocalSlots(1))

    with pytest.raises(KBError) as raised:
        chat.ask(request())

    assert raised.value.code == code
    assert key == "k" or key not in raised.value.sentence


def test_a_closed_port_pauses_the_work(server):
    chat = chat_on(server)
    server.close()

    with pytest.raises(EndpointError) as raised:
        chat.ask(request())

    assert raised.value.code == "endpoint_down"


def test_many_calls_with_faults_among_them_all_end(server):
    for fault in ("429", "500", "invalid", "truncated", "cut", "schema", "fenced", "context"):
        server.script.next(fault, times=2)
    store = MemoryCallStore()
    chat = chat_on(server, store=store)

    results = dict(chat.ask_many([request(f"Passage {i}.") for i in range(60)]))

    assert len(results) == 60
    lost = {result.code for result in results.values() if isinstance(result, ReplyError)}
    assert {"reply_truncated", "context_too_long"} <= lost
    whole = sum(isinstance(result, ChatReply) for result in results.values())
    assert whole == len(store.replies)
    before = server.count()
    again = dict(chat.ask_many([request(f"Passage {i}.") for i in range(60)]))
    assert all(isinstance(result, ChatReply) for result in again.values())
    assert server.count() - before == 60 - whole


def test_the_key_is_not_shown_with_the_configuration():
    assert KEY not in repr(ChatConfig("http://x", "m", key=KEY))


def test_a_role_has_its_own_model(server):
    config = ChatConfig(server.url, MODEL, models={Role.JUDGE: "judge-model"})
    chat = build_chat(config, MemoryCallStore(), slots=LocalSlots(1))

    chat.ask(request(role=Role.JUDGE))

    assert server.requests[0].body["model"] == "judge-model"


def test_a_roles_parameters_are_sent_and_part_of_what_is_remembered(server):
    parameters = {Role.EXTRACT: {"reasoning_effort": "low", "kept": {"thinking": False}}}
    chat = build_chat(
        ChatConfig(server.url, MODEL, key=KEY, parameters=parameters),
        MemoryCallStore(),
        slots=LocalSlots(2),
    )

    chat.ask(request())
    chat.ask(request("What?", schema=None, role=Role.ANSWER))

    first, second = (seen.body for seen in server.requests)
    assert (first["reasoning_effort"], first["kept"]) == ("low", {"thinking": False})
    assert "reasoning_effort" not in second
    assert chat.key_of(request()) != chat_on(server).key_of(request())


def test_azures_classic_addresses_get_their_version_and_the_key_in_its_own_header(server):
    server.script.key = KEY
    root = server.url.removesuffix("/v1")
    endpoint = f"{root}/openai/deployments/small?api-version=2024-10-21"
    config = ChatConfig(endpoint, MODEL, key=KEY)
    chat = build_chat(config, MemoryCallStore(), slots=LocalSlots(2))

    assert isinstance(chat.ask(request()), ChatReply)
    assert [seen.key for seen in server.requests] == [KEY]


# --- models that reason ---------------------------------------------------------------------------
@pytest.mark.parametrize("tokens", [600, 1_500, 4_000])
def test_a_model_that_reasons_gets_the_room_it_needs_once_and_for_all(server, tokens):
    server.script.thinks = tokens
    chat = chat_on(server)

    assert isinstance(chat.ask(request(role=Role.SITUATE)), ChatReply)
    asked = server.count()
    assert isinstance(chat.ask(request("Another one.", role=Role.SITUATE)), ChatReply)

    assert server.count() == asked + 1
    assert server.requests[-1].limit >= tokens


def test_an_answer_that_is_streamed_waits_for_the_reasoning_too(server):
    server.script.thinks = 1_500

    assert "".join(chat_on(server).stream(request(schema=None, role=Role.ANSWER)))
    assert server.count() == 2


def test_reasoning_beyond_the_models_window_says_what_to_raise(server):
    server.script.thinks = 100_000

    with pytest.raises(ReplyError) as raised:
        chat_on(server).ask(request())

    assert raised.value.code == "reply_truncated"
    assert "context window" in raised.value.next_step
    assert server.count() < 6


def test_a_refusal_in_a_stream_is_a_refusal(server):
    server.script.next("refusal")

    with pytest.raises(ReplyError) as raised:
        list(chat_on(server).stream(request(schema=None, role=Role.ANSWER)))

    assert raised.value.code == "reply_refused"


# --- servers that cut the prompt ------------------------------------------------------------------
@pytest.mark.parametrize("window", [2_048, 3_072, 8_192])
def test_a_prompt_that_the_server_cut_without_a_word_is_noticed(server, window):
    server.script.window = window
    store = MemoryCallStore()

    with pytest.raises(ReplyError) as raised:
        chat_on(server, store=store).ask(request("word " * 10_000))

    assert raised.value.code == "prompt_cut"
    assert f"{window:,} tokens" in raised.value.happened
    assert not store.replies


def test_a_low_count_alone_is_no_cut_prompt(server):
    server.script.window = 2_000  # a server that does not count what it had cached

    assert isinstance(chat_on(server).ask(request("word " * 10_000)), ChatReply)
