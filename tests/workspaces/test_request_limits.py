"""Limits on requests: per person, token and address, by kind."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLResolver, get_resolver, reverse

from tests import rows
from tests.api import address, assert_problem, client, client_with, sign_in
from workspaces import request_limits, sql
from workspaces.models import RateLimit, User
from workspaces.request_limits import KINDS, UNLIMITED, kind_of

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def rates(settings: Any) -> dict[str, int]:
    settings.RATES = dict.fromkeys(settings.RATES, 3)
    return settings.RATES


def browser(user: User) -> Client:
    made = Client()
    sign_in(made, user)
    return made


def statuses(program: Any, where: str, times: int, **sent: Any) -> list[int]:
    return [program.get(where, **sent).status_code for _ in range(times)]


# --- who ------------------------------------------------------------------------------------------
def test_each_person_has_their_own_limit(cast: rows.Cast, rates: dict[str, int]):
    assert statuses(client(cast.alice), LIST, 5) == [200] * 3 + [429] * 2
    assert statuses(client(cast.bob), LIST, 1) == [200]


def test_a_persons_pages_and_calls_count_together(cast: rows.Cast, rates: dict[str, int]):
    statuses(client(cast.alice), LIST, 3)

    assert statuses(browser(cast.alice), "/", 1) == [429]


def test_each_token_has_its_own_limit_beside_its_persons(cast: rows.Cast, rates: dict[str, int]):
    tokens = [client_with(rows.make_token(cast.workspace, cast.alice)[1]) for _ in range(2)]

    assert statuses(tokens[0], LIST, 4) == [200] * 3 + [429]
    assert statuses(tokens[1], LIST, 1) == [200]
    assert statuses(client(cast.alice), LIST, 1) == [200]


def test_more_tokens_do_not_allow_a_person_more_without_end(cast: rows.Cast, rates: dict[str, int]):
    texts = [rows.make_token(cast.workspace, cast.alice)[1] for _ in range(4)]

    allowed = sum(statuses(client_with(text), LIST, 3).count(200) for text in texts)

    assert allowed == 3 * request_limits.TOKENS_OF_PERSON


def test_strangers_count_by_address_whatever_header_they_send(rates: dict[str, int]):
    visitor = Client()

    answers = [
        visitor.get("/accounts/login/", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}").status_code
        for number in range(5)
    ]

    assert answers == [200] * 3 + [429] * 2
    assert statuses(visitor, "/accounts/login/", 1, REMOTE_ADDR="198.51.100.9") == [200]


def test_behind_a_proxy_of_ours_its_clients_count(rates: dict[str, int], settings: Any):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    visitor = Client()

    for number in range(5):
        sent = {"HTTP_X_FORWARDED_FOR": f"203.0.113.{number}"}
        assert statuses(visitor, "/accounts/login/", 1, **sent) == [200]


def test_wrong_tokens_count_for_their_address(rates: dict[str, int]):
    answers = [client_with(f"cck_{number}").get(LIST).status_code for number in range(5)]

    assert answers == [401] * 3 + [429] * 2


# --- what -----------------------------------------------------------------------------------------
def test_reading_writing_and_asking_count_apart(cast: rows.Cast, rates: dict[str, int]):
    program = client(cast.alice)
    statuses(program, LIST, 4)

    written = program.post(address(cast.workspace, "documents/retry/"))
    asked = [
        program.post(address(cast.workspace, "search/"), {"query": ""}).status_code
        for _ in range(4)
    ]

    assert written.status_code == 202
    assert asked == [400] * 3 + [429]


@pytest.mark.parametrize(
    ("view", "method", "kind"),
    [
        ("ingestion:document_list", "GET", "reading"),
        ("retrieval:answer_events", "GET", "reading"),
        ("ingestion:document_edit", "POST", "writing"),
        ("retrieval:ask", "GET", "reading"),
        ("retrieval:ask", "POST", "asking"),
        ("retrieval:search", "GET", "asking"),
        ("ingestion_api:document_list", "GET", "reading"),
        ("ingestion_api:document_list", "POST", "uploads"),
        ("workspaces_api:models_test", "POST", "model_tests"),
        ("", "PUT", "writing"),
    ],
)
def test_a_request_is_of_a_kind(view: str, method: str, kind: str):
    assert kind_of(view, method) == kind


def test_every_view_that_has_a_kind_exists():
    named = {name.rpartition(" ")[2] for views in KINDS.values() for name in views} | UNLIMITED

    assert named <= set(view_names("", get_resolver()))


def view_names(prefix: str, resolver: URLResolver) -> list[str]:
    found = []
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            space = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            found += view_names(space, entry)
        elif entry.name:
            found.append(f"{prefix}{entry.name}")
    return found


def test_whether_the_server_lives_is_asked_without_limit(rates: dict[str, int]):
    assert statuses(Client(), "/healthz", 9) == [200] * 9
    assert not RateLimit.objects.exists()


# --- how it is told -------------------------------------------------------------------------------
def test_a_program_is_told_what_is_left(cast: rows.Cast, rates: dict[str, int]):
    first = client(cast.alice).get(LIST)

    assert first.headers["RateLimit-Policy"] == '"reading";q=3;w=60'
    assert first.headers["RateLimit"] == '"reading";r=2;t=20'
    assert "Retry-After" not in first.headers


def test_a_program_is_told_when_to_come_back(cast: rows.Cast, rates: dict[str, int]):
    statuses(client(cast.alice), LIST, 3)

    refused = client(cast.alice).get(LIST)

    problem = assert_problem(refused, 429, "too_many_requests")
    assert 0 < int(refused.headers["Retry-After"]) <= 20
    assert problem["fields"] == {"retry_after": int(refused.headers["Retry-After"])}
    assert refused.headers["RateLimit"].startswith('"reading";r=0;')


def test_a_browser_gets_a_page_that_says_when(cast: rows.Cast, rates: dict[str, int]):
    alice = browser(cast.alice)
    statuses(alice, "/", 3)

    refused = alice.get("/")

    page = refused.content.decode()
    assert refused.status_code == 429
    assert "Too much at once" in page
    assert "Wait " in page
    assert "Retry-After" in refused.headers
    assert "RateLimit" not in alice.get("/healthz").headers


def test_a_part_of_a_page_gets_a_panel(cast: rows.Cast, rates: dict[str, int]):
    alice = browser(cast.alice)
    statuses(alice, "/", 3)

    refused = alice.get("/", headers={"hx-request": "true"})

    assert refused.status_code == 429
    assert "<html" not in refused.content.decode()
    assert "notice__body" in refused.content.decode()


# --- what it costs --------------------------------------------------------------------------------
def test_a_request_takes_one_statement_of_it(cast: rows.Cast):
    program = client_with(rows.make_token(cast.workspace, cast.alice)[1])

    with CaptureQueriesContext(connection) as asked:
        program.get(LIST)

    assert sum("workspaces_ratelimit" in one["sql"] for one in asked) == 1


def test_what_is_refused_reaches_no_view(cast: rows.Cast, rates: dict[str, int]):
    statuses(client(cast.alice), LIST, 3)
    program = client(cast.alice)

    with CaptureQueriesContext(connection) as asked:
        program.get(LIST)

    assert not [one for one in asked if "workspaces_membership" in one["sql"]]


@pytest.mark.django_db(transaction=True)
def test_a_request_goes_through_when_it_cannot_be_counted(
    cast: rows.Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(sql, "TAKE_EACH", "SELECT 1 / 0")

    assert client(cast.alice).get(LIST).status_code == 200
    assert "rate limit not counted" in caplog.text


def test_the_default_rates_do_not_meet_a_person_clicking_fast(cast: rows.Cast):
    alice = browser(cast.alice)
    where = reverse("ingestion:document_list", args=[cast.workspace.slug])

    assert set(statuses(alice, where, 60)) == {200}
