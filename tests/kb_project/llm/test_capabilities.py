from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.capabilities import Capabilities, Feature, Support
from kb_project.llm.chat import Chat, build_chat, capabilities_for
from kb_project.llm.config import DEFAULT_LIMITS, PRIORITIES, ChatConfig, RoleLimits
from kb_project.llm.fake import MemoryCallStore
from kb_project.llm.ports import ChatReply, Role
from kb_project.llm.slots import LocalSlots
from tests.kb_project.llm.asking import request
from tests.patience import NEVER, PATIENCE
from tests.provider import Provider

LOWER = Support().without(Feature.SCHEMA)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A server whose first call goes alone for as long as it takes."""
    alone = partial(Capabilities, head_start=NEVER)
    monkeypatch.setattr("kb_project.llm.chat.Capabilities", alone)
    with Provider() as provider:
        yield provider


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def config_of(server: Provider, **chosen: Any) -> ChatConfig:
    return ChatConfig(server.url, server.model, key=server.key, **chosen)


def chat_to(config: ChatConfig, store: MemoryCallStore | None = None) -> Chat:
    return build_chat(config, store or MemoryCallStore(), slots=LocalSlots(8))


def ask_eight(chat: Chat, name: str = "one") -> None:
    replies = dict(chat.ask_many([request(f"Passage {n} of {name}.") for n in range(8)]))
    assert all(isinstance(reply, ChatReply) for reply in replies.values())


def forms(server: Provider) -> list[str]:
    return [seen.form for seen in server.requests if seen.form]


def call(found: Capabilities, body: Callable[[], object], *, has_form: bool = True) -> None:
    with found.turn("m", has_form=has_form):
        body()


class Lead:
    """A first call that is under way until it is let go of."""

    def __init__(
        self, found: Capabilities, threads: ThreadPoolExecutor, *, fails: bool = False
    ) -> None:
        self._go, self._fails = threading.Event(), fails
        started = threading.Event()
        self._made = threads.submit(call, found, lambda: self._wait(started))
        assert started.wait(PATIENCE)

    def end(self) -> None:
        self._go.set()
        with suppress(OSError):
            self._made.result(PATIENCE)

    def _wait(self, started: threading.Event) -> None:
        started.set()
        self._go.wait(NEVER)
        if self._fails:
            raise OSError


def followers(
    found: Capabilities, threads: ThreadPoolExecutor, seen: list[Support]
) -> list[Future[None]]:
    def look() -> None:
        seen.append(found.support)

    return [threads.submit(call, found, look) for _ in range(6)]


def test_calls_wait_for_the_first_one_and_know_what_it_learned(threads):
    found, seen = Capabilities(head_start=NEVER), list[Support]()
    lead = Lead(found, threads)
    others = followers(found, threads, seen)
    time.sleep(0.05)
    assert seen == []

    found.step_down(Feature.SCHEMA)
    lead.end()

    for other in others:
        other.result(PATIENCE)
    assert seen == [LOWER] * 6


def test_a_first_call_that_takes_long_holds_up_nobody_for_long(threads):
    found, seen = Capabilities(head_start=0.05), list[Support]()
    lead = Lead(found, threads)

    for other in followers(found, threads, seen):
        other.result(PATIENCE)

    assert len(seen) == 6
    lead.end()


def test_after_a_first_call_that_fails_the_next_one_leads(threads):
    found, seen = Capabilities(head_start=NEVER), list[Support]()
    lead = Lead(found, threads, fails=True)
    others = followers(found, threads, seen)

    lead.end()

    for other in others:
        other.result(PATIENCE)
    assert len(seen) == 6


@pytest.mark.parametrize("known", [Support(), LOWER])
def test_nobody_waits_where_the_settings_say_what_is_understood(threads, known):
    found, seen = Capabilities(head_start=NEVER), list[Support]()
    found.configure(known)
    lead = Lead(found, threads)

    for other in followers(found, threads, seen):
        other.result(PATIENCE)

    assert seen == [known] * 6
    lead.end()


def test_calls_without_a_form_wait_for_none_with_one(threads):
    found, seen = Capabilities(head_start=NEVER), list[Support]()
    lead = Lead(found, threads)

    call(found, lambda: seen.append(found.support), has_form=False)

    assert len(seen) == 1
    lead.end()


def test_what_the_settings_said_before_does_not_take_back_what_was_found_out():
    found = Capabilities(Support())
    found.step_down(Feature.SCHEMA)

    found.configure(Support())
    found.configure(None)

    assert found.support == LOWER


def test_a_test_of_the_endpoint_counts_more_than_what_was_found_out_before_it():
    found = Capabilities()
    found.step_down(Feature.SCHEMA)
    found.stored(LOWER)

    found.configure(Support())

    assert found.support == Support()


def test_only_the_first_of_many_calls_is_refused(server):
    server.script.refused = {"json_schema", "json_object"}

    ask_eight(chat_to(config_of(server)))

    assert forms(server) == ["json_schema", "json_object"]


def test_chats_of_one_endpoint_find_out_together(server, threads):
    server.script.refused = {"json_schema", "json_object"}
    stores = [MemoryCallStore() for _ in range(4)]
    chats = [chat_to(config_of(server), store) for store in stores]

    asked = [threads.submit(ask_eight, chat, str(n)) for n, chat in enumerate(chats)]

    for one in asked:
        one.result(PATIENCE)
    assert forms(server) == ["json_schema", "json_object"]
    # Each workspace's settings get to know it.
    assert {store.support for store in stores} == {LOWER.without(Feature.JSON)}


def test_another_key_or_model_is_another_matter(server):
    shared = capabilities_for(config_of(server))

    assert capabilities_for(config_of(server)) is shared
    assert capabilities_for(config_of(server, models={Role.JUDGE: "other"})) is not shared
    assert capabilities_for(ChatConfig(server.url, server.model, key="other")) is not shared


def test_threads_that_come_at_once_get_the_same(server, threads):
    config = config_of(server)

    found = list(threads.map(lambda _: capabilities_for(config), range(16)))

    assert len({id(one) for one in found}) == 1


@given(st.dictionaries(st.sampled_from([*Feature, "more"]), st.booleans() | st.text()))
def test_what_was_remembered_is_read_whatever_it_is(found):
    support = Support.from_dict(found)

    assert all(isinstance(value, bool) for value in support.as_dict().values())
    assert Support.from_dict(support.as_dict()) == support


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_can_be_left_out(feature):
    assert Support().has(feature)
    assert not Support().without(feature).has(feature)


@pytest.mark.parametrize("role", Role)
def test_every_role_has_limits_and_a_priority(role):
    assert DEFAULT_LIMITS[role].max_output > 0
    assert PRIORITIES[role] in {0, 1, 2}


def test_a_question_goes_before_a_summary_before_an_extraction():
    assert PRIORITIES[Role.ANSWER] < PRIORITIES[Role.SUMMARISE] < PRIORITIES[Role.EXTRACT]


def test_a_small_window_is_shared_between_question_and_answer():
    config = ChatConfig("http://x", "m", context_window=1_000)

    assert config.max_output(Role.EXTRACT) == 500
    assert config.input_limit(Role.EXTRACT) + 500 < 1_000


def test_limits_of_a_role_can_be_set():
    config = ChatConfig("http://x", "m", limits={Role.JUDGE: RoleLimits(9, 1.5)})

    assert config.max_output(Role.JUDGE) == 9
    assert config.max_output(Role.JUDGE, 4) == 4
    assert config.limits_of(Role.JUDGE).timeout == 1.5


def test_who_shares_an_endpoint_and_a_key_shares_a_line():
    line = ChatConfig("http://x", "a", key="k").line

    assert line == ChatConfig("http://x", "b", key="k").line
    assert line != ChatConfig("http://x", "a", key="l").line
    assert 0 <= line < 2**31


def test_an_address_is_shown_without_the_password_in_it():
    assert ChatConfig("https://me:secret@models.example/v1", "m").host == "models.example"
