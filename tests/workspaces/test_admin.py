"""The admin: for staff with a second factor, for looking only, one workspace at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingestion.models import Document, Entity, IngestionJob, JobKind, RunState, StageRun
from tests.rows import as_owner, make_cast, make_document, make_user, make_workspace
from tests.workspaces.accounts.people import add_app, code_of
from workspaces import access
from workspaces.accounts import events
from workspaces.admin import site
from workspaces.models import AccountEventKind, AuditEvent, Membership, User, Workspace

pytestmark = pytest.mark.django_db

LISTS = [
    "workspaces_user",
    "workspaces_workspace",
    "workspaces_membership",
    "workspaces_auditevent",
    "workspaces_accountevent",
    "ingestion_document",
    "ingestion_ingestionjob",
    "ingestion_entity",
]
OF_TENANTS = [*LISTS[2:4], *LISTS[5:]]


def make_operator(name: str = "Olga") -> User:
    with transaction.atomic(), as_owner():
        olga = make_user(name)
        olga.is_staff = True
        olga.save()
    return olga


def operator() -> Client:
    """Staff who gave the code of their app."""
    olga = make_operator()
    client = Client()
    client.force_login(olga)
    client.post(reverse("mfa_reauthenticate"), {"code": code_of(add_app(olga))})
    return client


def listed(client: Client, name: str, **query: str) -> str:
    return client.get(reverse(f"admin:{name}_changelist"), query, follow=True).content.decode()


def open_workspace(client: Client, workspace: Workspace) -> None:
    client.post(reverse("admin:workspaces_workspace_open", args=[workspace.pk]))


def test_a_visitor_is_sent_to_the_products_own_sign_in():
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("account_login"))


def test_people_who_are_not_staff_are_refused():
    client = Client()
    client.force_login(make_user("Alice"))

    assert client.get("/admin/", follow=True).status_code == 403


def test_staff_without_a_second_factor_are_sent_to_set_one_up():
    client = Client()
    client.force_login(make_operator())

    response = client.get("/admin/", follow=True)

    assert response.redirect_chain[-1][0] == reverse("mfa_index")
    assert "needs a second factor" in response.content.decode()


def test_staff_who_did_not_give_their_factor_are_asked_for_it():
    olga = make_operator()
    secret = add_app(olga)
    client = Client()
    client.force_login(olga)

    asked = client.get(reverse("admin:workspaces_user_changelist"), follow=True)
    assert asked.redirect_chain[-1][0].startswith(reverse("mfa_reauthenticate"))

    client.post(asked.redirect_chain[-1][0], {"code": code_of(secret)})
    assert client.get("/admin/").status_code == 200


def test_what_packages_register_is_not_there():
    assert {model._meta.label_lower.replace(".", "_") for model in site._registry} == set(LISTS)


def test_staff_find_people_with_their_workspaces():
    cast = make_cast("Harbour")
    client = operator()

    assert "alice@example.com" in listed(client, "workspaces_user", q="alice")
    address = reverse("admin:workspaces_user_change", args=[cast.alice.pk])
    assert "Harbour" in client.get(address).content.decode()


@pytest.mark.parametrize("name", OF_TENANTS)
def test_rows_of_tenants_are_closed_until_a_workspace_is_opened(name):
    cast = make_cast("Harbour")
    make_document(cast.workspace, "Log", "Ada kept the light.")
    client = operator()

    response = client.get(reverse(f"admin:{name}_changelist"), follow=True)

    assert response.redirect_chain[-1][0] == reverse("admin:workspaces_workspace_changelist")
    assert "Open a workspace first" in response.content.decode()


def test_opening_a_workspace_is_recorded_in_it():
    cast = make_cast("Harbour")

    open_workspace(operator(), cast.workspace)

    with access.in_workspace(cast.workspace.pk):
        latest = AuditEvent.objects.in_workspace(cast.workspace).first()
    assert latest is not None
    assert (latest.action, latest.actor) == ("opened_by_operator", "Olga")


@pytest.mark.parametrize("name", LISTS)
def test_an_open_workspace_shows_its_rows_and_no_others(name):
    cast, other = make_cast("Harbour"), make_workspace("Elsewhere", owner=make_user("Zoe"))
    for workspace, word in ((cast.workspace, "Lighthouse"), (other, "Zebracorn")):
        _fill(workspace, word)
    client = operator()
    open_workspace(client, cast.workspace)

    page = listed(client, name)

    assert "Zebracorn" not in page
    if name in OF_TENANTS:
        assert "of Harbour" in page
        assert "zoe@example.com" not in page


def test_a_row_of_another_workspace_is_not_found():
    cast, other = make_cast("Harbour"), make_workspace("Elsewhere")
    _fill(other, "Zebracorn")
    with access.in_workspace(other.pk):
        document = Document.objects.in_workspace(other).get()
    client = operator()
    open_workspace(client, cast.workspace)

    address = reverse("admin:ingestion_document_change", args=[document.pk])
    assert "Zebracorn" not in client.get(address, follow=True).content.decode()


def test_a_stuck_job_is_found():
    cast = make_cast("Harbour")
    _fill(cast.workspace, "Lighthouse")
    client = operator()

    assert "1 running, 1 stuck" in listed(client, "workspaces_workspace")

    open_workspace(client, cast.workspace)
    assert "Lighthouse" in listed(client, "ingestion_ingestionjob", stuck="yes")
    with access.in_workspace(cast.workspace.pk):
        job = IngestionJob.objects.in_workspace(cast.workspace).get()
    shown = client.get(reverse("admin:ingestion_ingestionjob_change", args=[job.pk]))
    assert "STUCK" in shown.content.decode()


def test_entities_link_to_their_own_pages():
    cast = make_cast("Harbour")
    _fill(cast.workspace, "Lighthouse")
    with access.in_workspace(cast.workspace.pk):
        entity = Entity.objects.in_workspace(cast.workspace).get()
    client = operator()
    open_workspace(client, cast.workspace)

    shown = client.get(reverse("admin:ingestion_entity_change", args=[entity.pk]))

    links = [
        reverse(f"ingestion:{name}", args=[cast.workspace.pk, entity.pk])
        for name in ("entity_detail", "entities_merge", "entity_history")
    ]
    assert all(link in shown.content.decode() for link in links)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("deed", ["add", "delete", "change"])
def test_nothing_can_be_changed(name, deed):
    cast = make_cast("Harbour")
    _fill(cast.workspace, "Lighthouse")
    client = operator()
    events.record(AccountEventKind.SIGNED_IN, user=cast.alice, request=None)
    open_workspace(client, cast.workspace)
    model = next(
        model for model in site._registry if model._meta.label_lower == name.replace("_", ".", 1)
    )
    with access.in_workspace(cast.workspace.pk):
        rows = model.objects.all()  # type: ignore[attr-defined]  # every model here has it
        before, first = rows.count(), rows.order_by("pk").first()

    args = [] if deed == "add" else [first.pk]
    response = client.post(reverse(f"admin:{name}_{deed}", args=args), {"post": "yes"})

    assert response.status_code == 403
    with access.in_workspace(cast.workspace.pk):
        assert model.objects.all().count() == before  # type: ignore[attr-defined]  # the same


def test_an_hour_later_the_workspace_is_closed_again():
    cast = make_cast("Harbour")
    client = operator()
    open_workspace(client, cast.workspace)
    session = client.session
    workspace_id, until = session["admin_workspace"]
    session["admin_workspace"] = [workspace_id, until - 3601]
    session.save()

    assert "Open a workspace first" in listed(client, "ingestion_document")


def _fill(workspace: Workspace, word: str) -> None:
    """A document, its stuck job and an entity, all with a word that only they have."""
    document = make_document(workspace, word, f"{word} stands on the rock.")
    with access.in_workspace(workspace.pk):
        Membership.objects.in_workspace(workspace).count()
        Entity.objects.create(workspace=workspace, key=word.lower(), name=word, type="place")
        IngestionJob.objects.in_workspace(workspace).delete()
        job = IngestionJob.objects.create(
            workspace=workspace, kind=JobKind.DOCUMENT, document=document, state=RunState.RUNNING
        )
        StageRun.objects.create(
            workspace=workspace,
            job=job,
            stage="parse",
            ordinal=0,
            state=RunState.RUNNING,
            leased_by="host:1",
            leased_until=timezone.now() - timedelta(hours=1),
        )


def test_dates_are_written_as_on_all_other_pages():
    client = operator()
    User.objects.update(date_joined=datetime(2026, 3, 9, 14, 5, tzinfo=UTC))

    assert "9 Mar 2026, 14:05" in listed(client, "workspaces_user")
