from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import path, reverse

from ingestion.models import Document
from kb_project import urls
from tests import rows
from tests.workspaces.pages import signed_in
from workspaces.models import Capability, Role, Workspace
from workspaces.pages import UserRequest, workspace_page

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

NEEDED = {
    "read": Capability.READ,
    "edit": Capability.EDIT,
    "curate": Capability.CURATE,
    "administer": Capability.ADMINISTER,
}
seen: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    seen.clear()


def view_of(request: UserRequest, workspace: Workspace, /, **rest: Any) -> HttpResponse:
    """Note what a view gets, and what it sees of its workspace."""
    seen.update(user=request.user, workspace=workspace, rest=rest)
    seen["documents"] = Document.objects.in_workspace(workspace).count()
    seen["is_atomic"] = transaction.get_connection().in_atomic_block
    return HttpResponse("seen")


@workspace_page(Capability.READ)
def page_with_name(request: UserRequest, workspace: Workspace, number: int) -> HttpResponse:
    """Say what this page says."""
    return view_of(request, workspace, number=number)


W = "try/<workspace:workspace_id>/"
urlpatterns = [
    *urls.urlpatterns,
    path(f"{W}number/<int:number>/", page_with_name, name="number"),
    *(
        path(f"{W}{name}/", workspace_page(needed)(view_of), name=name)
        for name, needed in NEEDED.items()
    ),
    path(f"{W}send/", workspace_page(Capability.EDIT, "POST")(view_of), name="send"),
    path(f"{W}form/", workspace_page(Capability.EDIT, "GET", "POST")(view_of), name="form"),
    path(
        f"{W}alone/",
        transaction.non_atomic_requests(workspace_page(Capability.READ)(view_of)),
        name="alone",
    ),
]


def address(name: str, *rest: object, at: str = "harbour") -> str:
    return reverse(name, args=[at, *rest])


# --- signing in -----------------------------------------------------------------------------------
@pytest.mark.parametrize("at", ["harbour", "nowhere"])
@pytest.mark.parametrize("name", ["read", "administer"])
def test_nobody_sees_a_page_without_signing_in(name: str, at: str):
    rows.make_cast()

    response = Client().get(address(name, at=at))

    sign_in = f"{reverse(settings.LOGIN_URL)}?next={address(name, at=at)}"
    assert (response.status_code, response["Location"]) == (302, sign_in)
    assert seen == {}


def test_signing_in_comes_before_the_method():
    rows.make_cast()

    response = Client().get(address("send"))

    assert response.status_code == 302


# --- methods --------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "head", "options"])
def test_a_page_that_names_no_method_takes_get_alone(method: str):
    cast = rows.make_cast()

    response = getattr(signed_in(cast.alice), method)(address("read"))

    assert (response.status_code, response["Allow"]) == (405, "GET")
    assert seen == {}


@pytest.mark.parametrize(
    ("name", "method", "status"),
    [
        ("read", "get", 200),
        ("send", "post", 200),
        ("send", "get", 405),
        ("form", "get", 200),
        ("form", "post", 200),
        ("form", "put", 405),
    ],
)
def test_a_page_takes_the_methods_it_names(name: str, method: str, status: int):
    cast = rows.make_cast()

    response = getattr(signed_in(cast.alice), method)(address(name))

    assert response.status_code == status
    assert bool(seen) == (status == 200)


def test_who_gets_the_address_of_a_form_reads_an_explanation():
    cast = rows.make_cast()

    response = signed_in(cast.alice).get(address("send"))

    assert response.status_code == 405
    assert "<h1" in response.content.decode()


@pytest.mark.parametrize("name", ["bob", "charlie"])
def test_another_method_is_refused_before_the_gate_looks_at_the_person(name: str):
    cast = rows.make_cast()

    response = signed_in(getattr(cast, name)).get(address("send"))

    assert response.status_code == 405


# --- the gate -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NEEDED)
def test_a_stranger_finds_no_page(name: str):
    cast = rows.make_cast()
    stranger = signed_in(cast.charlie)

    responses = [stranger.get(address(name, at=at)) for at in ("harbour", "nowhere")]

    assert [response.status_code for response in responses] == [404, 404]
    assert seen == {}


def test_a_reader_may_not_what_editors_may_and_learns_whom_to_ask():
    cast = rows.make_cast()

    response = signed_in(cast.bob).post(address("send"))

    assert response.status_code == 403
    assert "Ask Alice." in response.content.decode()
    assert seen == {}


# --- the view -------------------------------------------------------------------------------------
@pytest.mark.parametrize("by_slug", [True, False])
def test_the_view_gets_the_workspace_by_slug_and_by_id(*, by_slug: bool):
    cast = rows.make_cast()
    at = cast.workspace.slug if by_slug else str(cast.workspace.pk)

    response = signed_in(cast.bob).get(address("read", at=at))

    assert response.content == b"seen"
    assert (seen["user"], seen["workspace"]) == (cast.bob, cast.workspace)
    assert seen["workspace"].membership.role == Role.VIEWER


def test_the_view_gets_the_rest_of_the_address():
    cast = rows.make_cast()

    signed_in(cast.bob).get(address("number", 7))

    assert seen["rest"] == {"number": 7}


def test_the_view_sees_the_workspaces_rows():
    cast, other = rows.make_cast(), rows.make_cast("Elsewhere")
    rows.make_document(cast.workspace, "Log", "Oil.")
    rows.make_document(other.workspace, "Chart", "Rocks.")

    signed_in(cast.bob).get(address("read"))

    assert seen["documents"] == 1


def test_a_page_has_the_name_and_the_words_of_its_view():
    assert (page_with_name.__name__, page_with_name.__doc__) == (
        "page_with_name",
        "Say what this page says.",
    )


# --- a page without a transaction of its request --------------------------------------------------
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("name", "is_atomic"), [("read", True), ("alone", False)])
def test_the_gate_opens_a_transaction_where_the_request_has_none(name: str, *, is_atomic: bool):
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Oil.")

    response = signed_in(cast.bob).get(address(name))

    assert response.status_code == 200
    assert (seen["workspace"], seen["is_atomic"]) == (cast.workspace, is_atomic)
    # The transaction that the gate had opened is over: so is what it let the view see.
    assert seen["documents"] == int(is_atomic)


@pytest.mark.django_db(transaction=True)
def test_a_stranger_finds_no_page_without_a_transaction_either():
    cast = rows.make_cast()

    response = signed_in(cast.charlie).get(address("alone"))

    assert response.status_code == 404
    assert seen == {}
