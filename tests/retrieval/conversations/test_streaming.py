"""Events as a stream: all of them from the first on, then as they happen, to whoever may see."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

from retrieval.answering import events
from retrieval.conversations import streaming
from retrieval.conversations.streaming import Hub, hub
from retrieval.models import Answer, AnswerEvent
from retrieval.search.reporting import EventKind
from tests.api import assert_problem
from tests.kb_project.http.served import connected, head, served
from tests.patience import NEVER, PATIENCE, wait_until
from tests.retrieval.answering.asked import events_of, make_asked_cast, queue, run
from tests.rows import make_token
from workspaces import access
from workspaces.models import ApiToken, Membership, User

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def own_hub():
    """A process listens for as long as it lives; a test only for its own time."""
    hub.cache_clear()
    yield
    if hub()._listener is not None:
        hub()._listener.stop()
    hub.cache_clear()
    # The thread that asynchronous tests talk to the database in.
    asyncio.run(sync_to_async(connections.close_all)())


def page(answer, query=""):
    path = reverse("retrieval:answer_events", args=[answer.workspace_id, answer.pk])
    return path + query


def api(answer):
    return reverse("retrieval_api:answer_events", args=[answer.workspace_id, answer.pk])


async def signed_in(user):
    client = AsyncClient()
    await sync_to_async(client.force_login)(user)
    return client


async def lines_of(response):
    """Each event as ``(id, kind, payload)``; comments as strings."""
    async for part in response.streaming_content:
        for block in part.decode().split("\n\n")[:-1]:
            if block.startswith(":"):
                yield block
                continue
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])


async def all_of(response):
    async with asyncio.timeout(PATIENCE):
        return [line async for line in lines_of(response) if not isinstance(line, str)]


def stored(answer):
    return [(one.sequence, one.kind, one.payload) for one in events_of(answer)]


async def test_an_answer_given_before_is_told_from_the_first_event_to_the_last(cast):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    client = await signed_in(cast.bob)

    response = await client.get(page(answer))

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Accel-Buffering"] == "no"
    told = await all_of(response)
    assert told == await sync_to_async(stored)(answer)
    assert told[-1][1] == "done"


@pytest.mark.parametrize(
    ("query", "headers"),
    [("?after=2", {}), ("", {"Last-Event-ID": "2"}), ("?after=1", {"Last-Event-ID": "2"})],
)
async def test_who_comes_back_gets_what_is_new(cast, query, headers):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    client = await signed_in(cast.bob)

    told = await all_of(await client.get(page(answer, query), headers=headers))

    assert told[0][0] == 3
    assert told == (await sync_to_async(stored)(answer))[3:]


async def test_who_comes_back_after_the_end_is_told_to_stay_away(cast):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    client = await signed_in(cast.bob)
    last = (await sync_to_async(stored)(answer))[-1][0]

    response = await client.get(page(answer, f"?after={last}"))

    assert response.status_code == 204


@pytest.mark.parametrize("after", ["-1", "x", "²", "9" * 30, ""])
async def test_a_number_that_is_none_counts_as_none(cast, after):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    client = await signed_in(cast.bob)

    told = await all_of(await client.get(page(answer, f"?after={after}")))

    assert told[0][0] == 0


async def test_events_are_told_as_they_happen_to_all_who_watch(cast, monkeypatch):
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", NEVER)
    answer = await sync_to_async(queue)(cast)
    clients = [await signed_in(cast.bob), await signed_in(cast.alice)]
    watching = [asyncio.create_task(all_of(await client.get(page(answer)))) for client in clients]
    await asyncio.sleep(0.3)
    assert not any(task.done() for task in watching)

    await sync_to_async(run)(answer)
    told = await asyncio.gather(*watching)

    assert told[0] == told[1] == await sync_to_async(stored)(answer)


async def test_an_event_wakes_a_stream_that_would_not_look_itself(cast, monkeypatch):
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", NEVER)
    monkeypatch.setattr(streaming, "SECONDS_WITHOUT_LISTENER", NEVER)
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    seen = lines_of(await client.get(page(answer)))
    assert isinstance(await anext(seen), str)
    await anext(seen)
    next_one = asyncio.create_task(anext(seen))
    while not hub().is_listening:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)

    await sync_to_async(add_event)(answer, EventKind.STEP, {"name": "read"})
    async with asyncio.timeout(PATIENCE):
        await next_one

    assert next_one.result()[1] == "step"
    await seen.aclose()


def add_event(answer, kind, payload):
    with access.in_workspace(answer.workspace_id):
        events.add_last(answer.workspace_id, answer.pk, kind, payload)


async def test_where_nobody_listens_it_looks_by_itself(cast, monkeypatch):
    monkeypatch.setattr(Hub, "_listen", lambda _self: None)
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    watching = asyncio.create_task(all_of(await client.get(page(answer))))
    await asyncio.sleep(0.1)

    await sync_to_async(run)(answer)

    assert (await watching)[-1][1] == "done"


async def test_a_quiet_stream_says_that_it_is_there(cast, monkeypatch):
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.3)
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    seen = lines_of(await client.get(page(answer)))

    async with asyncio.timeout(PATIENCE):
        told = [await anext(seen) for _ in range(4)]

    assert told[0] == told[2] == told[3] == ": still here"
    await seen.aclose()


async def test_who_goes_away_is_forgotten(cast):
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    watching = asyncio.create_task(all_of(await client.get(page(answer))))
    while not hub()._watchers:
        await asyncio.sleep(0.02)

    # What the server does with a stream whose reader has hung up.
    watching.cancel()
    async with asyncio.timeout(PATIENCE):
        while hub()._watchers:
            await asyncio.sleep(0.02)


async def test_the_api_streams_to_a_program_with_a_token(cast):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    _, text = await sync_to_async(make_token)(cast.workspace, cast.bob)
    headers = {"Authorization": f"Bearer {text}", "Accept": "text/event-stream"}

    told = await all_of(await AsyncClient().get(api(answer), headers=headers))

    assert told == await sync_to_async(stored)(answer)


async def test_a_stranger_finds_no_stream_and_nobody_has_to_sign_in(cast):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    stranger = await signed_in(cast.charlie)
    nobody = AsyncClient()
    accept = {"Accept": "text/event-stream"}

    assert (await stranger.get(page(answer))).status_code == 404
    assert (await stranger.get(api(answer), headers=accept)).status_code == 404
    assert (await nobody.get(page(answer))).status_code == 302
    refused = await nobody.get(api(answer), headers=accept)
    assert refused.status_code == 401
    assert refused.json()["code"] == "not_authenticated"


def leave(cast):
    with access.in_workspace(cast.workspace.pk):
        Membership.objects.in_workspace(cast.workspace).filter(user=cast.bob).delete()


def lose_account(cast):
    User.objects.filter(pk=cast.bob.pk).update(is_active=False)


def lose_answer(cast):
    with access.in_workspace(cast.workspace.pk):
        AnswerEvent.objects.in_workspace(cast.workspace).delete()
        Answer.objects.in_workspace(cast.workspace).delete()


@pytest.mark.parametrize("lose", [leave, lose_account, lose_answer])
async def test_a_stream_ends_with_what_it_rests_on(cast, monkeypatch, lose):
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.3)
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    seen = lines_of(await client.get(page(answer)))
    assert [await anext(seen), (await anext(seen))[1]] == [": still here", "state"]

    await sync_to_async(lose)(cast)

    async with asyncio.timeout(PATIENCE):
        rest = [line async for line in seen]
    assert set(rest) <= {": still here"}
    assert (await client.get(page(answer, "?after=0"))).status_code in {302, 404}


def revoke(cast, token):
    with access.in_workspace(cast.workspace.pk):
        ApiToken.objects.in_workspace(cast.workspace).update(revoked_at=timezone.now())


def expire(cast, token):
    with access.in_workspace(cast.workspace.pk):
        past = timezone.now() - timedelta(seconds=1)
        ApiToken.objects.in_workspace(cast.workspace).update(expires_at=past)


def delete_token(cast, token):
    with access.in_workspace(cast.workspace.pk):
        ApiToken.objects.in_workspace(cast.workspace).filter(pk=token.pk).delete()


@pytest.mark.parametrize("end", [revoke, expire, delete_token])
async def test_a_stream_ends_with_the_token_it_was_opened_with(cast, monkeypatch, end):
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.3)
    answer = await sync_to_async(queue)(cast)
    token, text = await sync_to_async(make_token)(cast.workspace, cast.bob)
    headers = {"Authorization": f"Bearer {text}", "Accept": "text/event-stream"}
    by_token = lines_of(await AsyncClient().get(api(answer), headers=headers))
    by_session = lines_of(await (await signed_in(cast.bob)).get(page(answer)))
    for seen in (by_token, by_session):
        assert [await anext(seen), (await anext(seen))[1]] == [": still here", "state"]

    await sync_to_async(end)(cast, token)
    await sync_to_async(add_event)(answer, EventKind.STEP, {"name": "read"})

    async with asyncio.timeout(PATIENCE):
        rest = [line async for line in by_token]
        while isinstance(line := await anext(by_session), str):
            pass
    assert set(rest) <= {": still here"}
    assert line[1] == "step"
    await by_session.aclose()


async def test_an_answer_that_is_not_there_has_no_stream(cast):
    answer = await sync_to_async(queue)(cast)
    client = await signed_in(cast.bob)
    answer.pk = cast.workspace.pk

    assert (await client.get(page(answer))).status_code == 404
    assert (await client.get(api(answer))).status_code == 404


async def test_a_folded_answer_still_shows_the_same_in_the_end(cast):
    answer = await sync_to_async(lambda: run(queue(cast)))()
    client = await signed_in(cast.bob)

    told = await all_of(await client.get(page(answer)))

    last = [payload for _, kind, payload in told if kind == "answer"][-1]
    assert last["sentences"] == answer.sentences
    assert EventKind.TEXT not in {kind for _, kind, _ in told}
    assert AnswerEvent._meta.ordering == ["sequence"]


async def test_a_person_follows_so_many_answers_at_a_time(cast, settings):
    settings.STREAMS_A_PERSON = 2
    answer = await sync_to_async(queue)(cast)
    bob, alice = await signed_in(cast.bob), await signed_in(cast.alice)
    first, second = [lines_of(await bob.get(page(answer))) for _ in range(2)]
    assert [await anext(one) for one in (first, second)] == [": still here"] * 2

    refused = await bob.get(page(answer))
    of_another = lines_of(await alice.get(page(answer)))

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3")
    body = assert_problem(refused, 429, "too_many_streams")
    assert body["kept"] == "The answer is still being written."
    assert await anext(of_another) == ": still here"


async def test_one_opened_at_the_same_moment_as_others_ends_at_once(cast, settings):
    settings.STREAMS_A_PERSON = 1
    answer = await sync_to_async(queue)(cast)
    bob = await signed_in(cast.bob)
    first, second = [lines_of(await bob.get(page(answer))) for _ in range(2)]

    assert await anext(first) == ": still here"
    assert [line async for line in second] == []


def test_who_hangs_up_may_follow_another(cast, settings):
    settings.STREAMS_A_PERSON, settings.ALLOWED_HOSTS = 2, ["localhost"]
    answer = queue(cast)
    browser = Client()
    browser.force_login(cast.bob)
    cookie = f"Cookie: sessionid={browser.cookies['sessionid'].value}"

    def status(client):
        client.sendall(head(page(answer), cookie, method="GET"))
        return int(client.recv(65_536).split()[1])

    with served() as port, connected(port) as first:
        with connected(port) as second, connected(port) as third:
            assert [status(one) for one in (first, second, third)] == [200, 200, 429]
        wait_until(lambda: hub().streams_of(cast.bob.pk) <= 1)
        with connected(port) as again:
            assert status(again) == 200
