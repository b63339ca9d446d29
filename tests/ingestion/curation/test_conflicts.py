"""Conflicts on pages and by REST: listed, filtered, decided, undone; and what they cost."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import Conflict, ConflictSide, Document, Entity, HistoryEvent
from tests import rows
from tests.api import client
from tests.ingestion.disputed import KEYS, make_conflict
from tests.ingestion.pages import address, client_of
from workspaces import access

pytestmark = pytest.mark.django_db

QUOTES = ("Built in 1869.", "Built in 1871.")


@pytest.fixture
def cast(fake_embedder: None) -> rows.Cast:
    cast = rows.make_cast()
    for title, quote in zip(("Log", "News"), QUOTES, strict=True):
        rows.make_document(
            cast.workspace, title, f"Skarrow Light. {quote}", names={"Skarrow Light": "place"}
        )
    make(cast, "when it was built")
    return cast


def make(cast: rows.Cast, topic: str, kind: str = "values") -> Conflict:
    with access.in_workspace(cast.workspace.pk):
        subject = Entity.objects.in_workspace(cast.workspace).get(name="Skarrow Light")
        documents = Document.objects.in_workspace(cast.workspace).order_by("title")
        chunks = [chunk for one in documents for chunk in rows.chunks_of(one)]
        return make_conflict(subject, chunks, topic, kind)


def only(cast: rows.Cast) -> Conflict:
    with access.in_workspace(cast.workspace.pk):
        return Conflict.objects.in_workspace(cast.workspace).select_related("subject").get()


def page(cast: rows.Cast, name: str, *args: object, **query: str) -> str:
    response = client_of(cast.alice).get(address(name, cast, *args), query)
    assert response.status_code == 200
    return str(response.content.decode())


def decide(cast: rows.Cast, decision: str, **form: Any) -> Any:
    url = address("conflict_decide", cast, only(cast).pk)
    return client_of(cast.alice).post(url, {"decision": decision, **form})


def test_the_list_shows_both_sides_and_opens_their_passages(cast: rows.Cast):
    shown = page(cast, "conflict_list")

    assert all(quote in shown for quote in QUOTES)
    with access.in_workspace(cast.workspace.pk):
        side = ConflictSide.objects.in_workspace(cast.workspace).order_by("ordinal")[0]
    assert f"{side.document_id}/?start={side.start}&amp;end={side.end}" in shown


def test_the_list_is_filtered_by_state_kind_document_and_text(cast: rows.Cast):
    make(cast, "Office", "claim")
    with access.in_workspace(cast.workspace.pk):
        log = Document.objects.in_workspace(cast.workspace).get(title="Log")
        sides = ConflictSide.objects.in_workspace(cast.workspace)
        sides.filter(conflict__kind="claim", document=log).delete()

    def topics(**query: str) -> list[bool]:
        shown = page(cast, "conflict_list", **query)
        return [f"Skarrow Light: {topic}" in shown for topic in ("when it was built", "Office")]

    assert topics() == topics(state="all") == topics(q="skarrow") == [True, True]
    assert topics(kind="claim") == topics(q="office") == [False, True]
    assert topics(document=str(log.pk)) == [True, False]
    assert topics(state="decided") == [False, False]
    assert topics(state="no", kind="no", document="no", page="99") == [True, True]


def test_a_curator_decides_and_undoes_on_the_page(cast: rows.Cast):
    response = decide(cast, "holds:date:1869", reason="The log was kept there.", next="/")

    assert (response.status_code, response["Location"]) == (302, "/")
    assert (only(cast).state, only(cast).holds) == ("decided", "date:1869")
    shown = page(cast, "conflict_detail", only(cast).pk)
    assert "“1869” holds" in shown
    assert "The log was kept there." in shown
    entity = page(cast, "entity_detail", only(cast).subject_id)
    assert "Sources disagree" in entity
    assert "“1869” holds" in entity
    assert "decided a conflict about" in page(cast, "workspace_history")

    client_of(cast.alice).post(address("conflict_reopen", cast, only(cast).pk))
    assert only(cast).state == "open"


def test_a_decision_that_comes_too_late_is_refused_with_what_was_decided(cast: rows.Cast):
    seen = f"{only(cast).pk}:0"
    decide(cast, "both", seen=seen)

    late = decide(cast, "left", seen=seen)

    assert late.status_code == 412
    assert "decided a conflict about" in late.content.decode()
    assert only(cast).state == "decided"
    assert decide(cast, "holds:date:1900").status_code == 400


def test_home_and_navigation_count_open_conflicts(cast: rows.Cast):
    home = f"/w/{cast.workspace.slug}/"
    shown = client_of(cast.bob).get(home).content.decode()
    assert "Open conflict<strong>1</strong>" in shown
    assert 'id="curation-count"' in shown

    decide(cast, "left")
    assert "Open conflict" not in client_of(cast.bob).get(home).content.decode()


def test_neither_a_decision_nor_reopening_has_reports_rewritten(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        rows.make_report(cast.workspace, "Lights", [only(cast).subject], [])
    one = f"/api/v1/workspaces/{cast.workspace.slug}/conflicts/{only(cast).pk}/"
    alice = client(cast.alice)

    decided = alice.post(f"{one}decide/", {"verdict": "both"}, format="json").json()
    reopened = alice.post(f"{one}reopen/", {}, format="json").json()

    assert decided["effect"]["sentence"] == reopened["effect"]["sentence"] == ""
    assert (reopened["before"], reopened["after"]) == (
        {"decision": "All of them are right"},
        {"decision": "Open"},
    )


def test_conflicts_are_listed_viewed_decided_and_reopened_by_rest(cast: rows.Cast):
    base = f"/api/v1/workspaces/{cast.workspace.slug}/conflicts/"
    alice, bob = client(cast.alice), client(cast.bob)
    [listed] = bob.get(base, {"state": "open", "q": "built"}).json()["results"]
    one = f"{base}{listed['id']}/"
    viewed = bob.get(one)
    assert viewed.json() == listed
    assert [value["key"] for value in listed["values"]] == list(KEYS)
    assert [value["sources"][0]["text"] for value in listed["values"]] == list(QUOTES)

    body = {"verdict": "holds", "holds": KEYS[1], "reason": "The news was there."}
    asked = {"If-Match": viewed["ETag"], "Idempotency-Key": "once"}
    done = alice.post(f"{one}decide/", body, format="json", headers=asked)
    assert done.status_code == 200
    again = alice.post(f"{one}decide/", body, format="json", headers=asked)
    assert again.json() == done.json()
    late = alice.post(
        f"{one}decide/", {"verdict": "both"}, format="json", headers={"If-Match": '"0"'}
    )
    assert late.status_code == 412
    now = bob.get(one).json()
    assert (now["state"], now["verdict"], now["who"]) == ("decided", "holds", "Alice")
    assert [value["holds"] for value in now["values"]] == [False, True]
    assert bob.get(base, {"state": "open"}).json()["results"] == []

    assert alice.post(f"{one}reopen/", {}, format="json").status_code == 200
    assert bob.get(one).json()["state"] == "open"
    assert alice.post(f"{one}reopen/", {}, format="json").status_code == 409
    wrong = alice.post(f"{one}decide/", {"verdict": "holds", "holds": "x"}, format="json")
    assert wrong.status_code == 400


def test_ten_conflicts_cost_no_more_queries_than_one(cast: rows.Cast):
    def queries(name: str, *args: object) -> int:
        page(cast, name, *args)  # what is cached is cached
        with CaptureQueriesContext(connection) as captured:
            page(cast, name, *args)
        return len(captured)

    def counted() -> list[int]:
        return [queries("conflict_list"), queries("entity_detail", subject)]

    subject = only(cast).subject_id
    one = counted()
    for number in range(9):
        make(cast, f"height {number}")

    assert counted() == one
    with access.in_workspace(cast.workspace.pk):
        assert not HistoryEvent.objects.in_workspace(cast.workspace).exists()
