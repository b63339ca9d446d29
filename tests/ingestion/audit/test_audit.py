"""The audit: two tables as one list, for those who administer the workspace."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingestion.audit import queries, views
from ingestion.audit.queries import AuditFilter
from ingestion.models import EventKind, HistoryEvent, HistorySubject, SubjectKind
from tests import rows
from workspaces import access, audit
from workspaces.audit import Target
from workspaces.models import AuditAction, AuditEvent, Role
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

PAGE = reverse("ingestion:audit_list", args=["harbour"])
EXPORT = reverse("ingestion:audit_export", args=["harbour"])
API = reverse("ingestion_api:audit_list", args=["harbour"])


@pytest.fixture
def cast() -> rows.Cast:
    """A workspace where Alice created it, changed the budget, and edited an entity; by Bob's
    token a document was trashed.
    """
    cast = rows.make_cast()
    with access.in_workspace(cast.workspace.pk):
        audit.record(
            AuditAction.BUDGET_CHANGED,
            workspace=cast.workspace,
            user=cast.alice,
            target=Target("budget", "", "=1+1"),
            before={"cap": "10"},
            after={"cap": "none"},
        )
        edited(cast, EventKind.ENTITY_EDITED, SubjectKind.ENTITY, "Ada Lind", 1)
        edited(cast, EventKind.DOCUMENT_TRASHED, SubjectKind.DOCUMENT, "Log", 2, via="api")
    return cast


def edited(
    cast: rows.Cast, kind: EventKind, subject: SubjectKind, name: str, number: int, via: str = ""
) -> HistoryEvent:
    one = uuid4()
    event = HistoryEvent.objects.create(
        workspace=cast.workspace,
        sequence=number,
        kind=kind,
        user=cast.bob if via else cast.alice,
        via=via,
        details={"names": {str(one): name}, "before": {"name": name}, "after": {"name": "New"}},
    )
    HistorySubject.objects.create(
        workspace=cast.workspace, event=event, subject_id=one, kind=subject, sequence=number
    )
    return event


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def actions(cast: rows.Cast, **wanted: Any) -> list[str]:
    with access.in_workspace(cast.workspace.pk):
        at = list(queries.places(workspace=cast.workspace, wanted=AuditFilter(**wanted)))
        return [one.action for one in queries.entries(workspace=cast.workspace, at=at)]


# --- the list -------------------------------------------------------------------------------------
def test_both_tables_are_one_list_with_the_newest_first(cast: rows.Cast):
    assert actions(cast) == [
        "document_trashed",
        "entity_edited",
        "budget_changed",
        "workspace_created",
    ]


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({"action": "budget_changed"}, ["budget_changed"]),
        ({"action": "entity_edited"}, ["entity_edited"]),
        ({"kind": "document"}, ["document_trashed"]),
        ({"kind": "budget"}, ["budget_changed"]),
        ({"via": "api"}, ["document_trashed"]),
        ({"via": "page"}, ["entity_edited", "budget_changed", "workspace_created"]),
        ({"since": timezone.now() + timedelta(days=1)}, []),
        ({"until": timezone.now() - timedelta(days=1)}, []),
    ],
)
def test_every_filter_narrows_both_tables(cast: rows.Cast, wanted: dict[str, Any], left: list[str]):
    assert actions(cast, **wanted) == left


def test_a_persons_actions_are_found(cast: rows.Cast):
    assert actions(cast, person=cast.bob.pk) == ["document_trashed"]
    assert len(actions(cast, person=cast.alice.pk)) == 3


def test_everyone_who_did_something_can_be_chosen(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        assert queries.people(workspace=cast.workspace) == [cast.alice, cast.bob]


def test_an_action_of_a_later_version_has_a_sentence_too(cast: rows.Cast):
    event = AuditEvent(action="moon_painted", actor="Alice", object_name="Moon")

    assert queries.audit.sentence(event) == "Alice: Moon painted “Moon”."


# --- the page -------------------------------------------------------------------------------------
def test_an_owner_reads_who_did_what(cast: rows.Cast):
    page = signed_in(cast.alice).get(PAGE).content.decode()

    assert "Alice changed the budget." in page
    assert "Bob moved &#x27;Log&#x27; to the trash." in page
    assert "Alice created the workspace." in page


def test_the_menu_leads_to_the_audit_for_those_who_may_read_it(cast: rows.Cast):
    history = reverse("ingestion:workspace_history", args=["harbour"])

    assert f'href="{PAGE}"' in signed_in(cast.alice).get(history).content.decode()
    assert f'href="{PAGE}"' not in signed_in(cast.bob).get(history).content.decode()


def test_an_admin_may_and_the_others_may_not(cast: rows.Cast):
    carol, dora = rows.make_user("Carol"), rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=carol, role=Role.ADMIN)
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.CURATOR)

    for user, status in ((carol, 200), (dora, 403), (cast.bob, 403), (cast.charlie, 404)):
        for address in (PAGE, EXPORT, API):
            assert signed_in(user).get(address).status_code == status, (user, address)


@pytest.mark.parametrize(
    "query",
    [
        "person=x&action=y&kind=%00&via=z&since=32.13.&until=9999-12-31&page=0",
        "person=99999999999&page=zzz",
        "since=0001-01-01&until=0001-01-01",
    ],
)
def test_a_filter_that_makes_no_sense_is_ignored(cast: rows.Cast, query: str):
    assert signed_in(cast.alice).get(f"{PAGE}?{query}").status_code == 200


def test_a_filter_without_a_match_says_so(cast: rows.Cast):
    page = signed_in(cast.alice).get(f"{PAGE}?action=set_deleted").content.decode()

    assert "No matching entries" in page


def test_a_long_list_has_pages(cast: rows.Cast, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views, "ENTRIES_PER_PAGE", 3)
    client = signed_in(cast.alice)

    first, second = (client.get(f"{PAGE}?page={number}").content.decode() for number in (1, 2))

    assert "Page 1 of 2" in first
    assert "created the workspace" not in first
    assert "created the workspace" in second


# --- the export -----------------------------------------------------------------------------------
def exported(cast: rows.Cast, query: str = "") -> list[dict[str, str]]:
    response = signed_in(cast.alice).get(f"{EXPORT}?{query}")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_an_export_has_what_the_filter_shows(cast: rows.Cast):
    [row] = exported(cast, "action=budget_changed")

    assert (row["who"], row["before"], row["after"]) == (
        "Alice",
        '{"cap": "10"}',
        '{"cap": "none"}',
    )
    # A spreadsheet would run it.
    assert row["object_name"] == "'=1+1"


def test_an_export_is_recorded_with_its_filter(cast: rows.Cast):
    exported(cast, "via=page")

    [row] = exported(cast, "action=audit_exported")
    assert row["sentence"] == "Alice exported the audit log."
    assert row["after"] == '{"via": "page", "entries": 3}'


def test_an_export_of_too_much_is_refused(cast: rows.Cast, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views, "MOST_EXPORTED", 2)

    response = signed_in(cast.alice).get(EXPORT)

    assert response.status_code == 400
    assert "Choose a shorter time" in response.content.decode()


# --- the API --------------------------------------------------------------------------------------
def test_programs_read_the_same_list(cast: rows.Cast):
    answer = signed_in(cast.alice).get(API, {"page_size": 3}).json()

    assert (answer["total"], answer["pages"]) == (4, 2)
    assert [one["action"] for one in answer["results"]] == [
        "document_trashed",
        "entity_edited",
        "budget_changed",
    ]
    assert answer["results"][2]["after"] == {"cap": "none"}


@pytest.mark.parametrize(
    "query", [{"action": "nothing"}, {"via": "pigeon"}, {"since": "soon"}, {"kind": "x" * 41}]
)
def test_programs_are_told_of_a_filter_that_makes_no_sense(cast: rows.Cast, query: dict[str, str]):
    assert signed_in(cast.alice).get(API, query).status_code == 400


def test_programs_filter_by_time_and_person(cast: rows.Cast):
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    client = signed_in(cast.alice)

    assert client.get(API, {"since": tomorrow}).json()["total"] == 0
    of_bob = {"person": str(cast.bob.pk), "until": tomorrow}
    assert client.get(API, of_bob).json()["total"] == 1
